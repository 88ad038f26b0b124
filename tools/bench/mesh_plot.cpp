#include "bench/mesh_plot.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bench/gnuplot.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

// Boxes: the middle across and down, and the value that colours it. What has none is left white.
class Boxes {
 public:
  explicit Boxes(const std::string& name) : text_(fmt::format("${} << EOD\n", name)) {}
  void add(double across, double down, double value) {
    text_ += fmt::format("{:.6g} {:.6g} {:.6g}\n", across, down, value);
  }
  // A block without a line is none for gnuplot.
  [[nodiscard]] std::string text() const { return text_ + "NaN NaN NaN\nEOD\n"; }

 private:
  std::string text_;
};

std::string rate_boxes(const std::string& name, const std::vector<std::optional<double>>& matrix,
                       std::size_t nodes) {
  Boxes boxes(name);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::size_t row = i / nodes;
    const auto from = static_cast<double>(row);
    const auto to = static_cast<double>(i % nodes);
    if (matrix[i]) boxes.add(to, from, *matrix[i] / 1e6);
  }
  return boxes.text();
}

// A row for each pair, of its rate in each interval over the mean of that pair.
std::string time_boxes(const std::string& name, const MeshSample& sample, double interval_s) {
  Boxes boxes(name);
  for (std::size_t row = 0; row < sample.pairs.size(); ++row) {
    const std::vector<double>& rates = sample.pairs[row].by_interval;
    double mean = 0;
    for (const double rate : rates) mean += rate / static_cast<double>(rates.size());
    for (std::size_t i = 0; i < rates.size() && mean > 0; ++i) {
      boxes.add((static_cast<double>(i) + 0.5) * interval_s, static_cast<double>(row),
                rates[i] / mean);
    }
  }
  return boxes.text();
}

std::string plot_boxes(const std::string& title, const std::string& name, double half_width) {
  return fmt::format(
      "set title {}\nplot ${} using 1:2:({:.6g}):(0.5):3 with boxxyerror fill solid noborder lc "
      "palette notitle\n",
      quoted(title), name, half_width);
}

}  // namespace

void plot_mesh(const std::string& file, const MeshResults& results) {
  const std::vector<std::string> systems = results.systems();
  const std::size_t nodes = results.mesh().nodes;
  const double seconds = results.what().seconds;
  const double interval_s = seconds / static_cast<double>(results.mesh().intervals);
  std::string data;
  std::string rates;
  std::string times;
  double most = 0;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < systems.size(); ++i) {
    const auto matrix = results.matrix(systems[i], &PairSample::bytes_per_s);
    const MeshSample& last = results.sample(results.rounds().back(), systems[i]);
    for (const std::optional<double>& rate : matrix) most = std::max(most, rate.value_or(0) / 1e6);
    pairs = last.pairs.size();
    const std::string rate = fmt::format("rate{}", i);
    const std::string time = fmt::format("time{}", i);
    data += rate_boxes(rate, matrix, nodes) + time_boxes(time, last, interval_s);
    rates += plot_boxes(systems[i] + ": rate of each pair", rate, 0.5);
    times += plot_boxes(systems[i] + ": each pair over time", time, interval_s / 2);
  }
  const double end = static_cast<double>(nodes) - 0.5;
  draw(file,
       data + gnuplot_output(file, systems.size() > 1 ? 1100 : 650, 1000) +
           fmt::format("set multiplot layout 2,{}\nset datafile missing 'NaN'\nset size ratio -1\n"
                       "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 "
                       "'#fde725')\nset tics out nomirror\n"
                       "set xlabel 'to node'\nset ylabel 'from node'\nset xrange [-0.5:{}]\n"
                       "set yrange [{}:-0.5]\nset cbrange [0:{:.6g}]\nset cblabel 'MB/s'\n",
                       systems.size(), end, end, most > 0 ? most : 1) +
           rates +
           fmt::format("set size noratio\nset xlabel 'time, s'\nset ylabel 'pair, by sender'\n"
                       "set cbrange [0:2]\nset cblabel 'of the mean of the pair'\n"
                       "set xrange [0:{:.6g}]\nset yrange [{}:-0.5]\n",
                       seconds, static_cast<double>(pairs) - 0.5) +
           times + "unset multiplot\n");
}

}  // namespace netio::cli
