#include "bench/plot.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/gnuplot.hpp"
#include "exit_code.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

std::string head(const std::string& file) {
  return fmt::format("{}set grid\nset key outside below horizontal\nset style data linespoints\n",
                     gnuplot_output(file, 1100, 900));
}

// `$name << EOD` blocks and the plot command over them.
class Lines {
 public:
  void begin(const std::string& title) {
    block_ = fmt::format("$line{}", titles_.size());
    titles_.push_back(title);
    data_ += block_ + " << EOD\n";
  }
  void point(double x, double y) { data_ += fmt::format("{} {}\n", x, y); }
  void point(double x, const Spread& y) {
    data_ += fmt::format("{} {} {} {}\n", x, y.median, y.min, y.max);
  }
  void end() { data_ += "EOD\n"; }

  [[nodiscard]] const std::string& data() const noexcept { return data_; }
  [[nodiscard]] std::string plot(std::size_t from, std::size_t to, const char* style,
                                 const char* columns = "1:2") const {
    std::vector<std::string> parts;
    for (std::size_t i = from; i < to; ++i) {
      parts.push_back(fmt::format("$line{} using {} title {} {} lc {}", i, columns,
                                  quoted(titles_[i]), style, i - from + 1));
    }
    return fmt::format("plot {}\n", fmt::join(parts, ", "));
  }
  [[nodiscard]] std::size_t count() const noexcept { return titles_.size(); }

 private:
  std::string block_;
  std::string data_;
  std::vector<std::string> titles_;
};

template <typename Value>
void add_by_size(Lines& lines, const std::vector<Results>& all, Value&& value) {
  for (const std::string& name : all.back().systems()) {
    lines.begin(name);
    for (const Results& results : all) {
      const std::vector<std::string> here = results.systems();
      if (std::find(here.begin(), here.end(), name) == here.end()) continue;
      lines.point(static_cast<double>(results.what().message_bytes),
                  results.spread(name, value).median);
    }
    lines.end();
  }
}

std::string throughput_script(const std::string& file, const std::vector<Results>& all) {
  Lines lines;
  add_by_size(lines, all, [](const Sample& s) { return s.bytes_per_s / 1e9; });
  const std::size_t rates = lines.count();
  add_by_size(lines, all, [](const Sample& s) {
    return (s.sender.cpu_ns_per_message + s.receiver.cpu_ns_per_message) * s.messages_per_s / 1e9;
  });
  const std::string title =
      all.back().what().requests ? "Answers: throughput" : "One way: throughput";
  return lines.data() + head(file) +
         "set multiplot layout 2,1\nset logscale x 2\nset format x '%.0b%BB'\n"
         "set logscale y\nset ylabel 'GB/s'\nset title '" +
         title + "'\n" + lines.plot(0, rates, "") +
         "unset logscale y\nset yrange [0:*]\nset ylabel 'cores in use'\n"
         "set xlabel 'message'\nset title 'CPU, both ends together'\n" +
         lines.plot(rates, lines.count(), "") + "unset multiplot\n";
}

// By the value of the parameter.
template <typename Value>
void add_curve(Lines& lines, const Curve& curve, const std::string& what, Value&& value) {
  // A system that failed at one value has its points at the others.
  std::vector<std::string> names;
  for (const auto& [x, results] : curve.points) {
    for (const std::string& name : results->systems()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    lines.begin(name + what);
    for (const auto& [x, results] : curve.points) {
      if (results->has(name)) lines.point(x, results->spread(name, value));
    }
    lines.end();
  }
}

std::string curve_script(const std::string& file, const Curve& curve) {
  const bool round_trips = curve.points.front().second->what().round_trips();
  const bool both_ways = curve.points.front().second->what().both_ways;
  Lines lines;
  add_curve(lines, curve, "", [round_trips](const Sample& s) {
    return round_trips ? static_cast<double>(s.round_trips.at(0.5)) / 1000 : s.bytes_per_s / 1e9;
  });
  const std::size_t measured = lines.count();
  add_curve(lines, curve,
            round_trips ? ", asking"
            : both_ways ? ", dialing"
                        : ", sending",
            [](const Sample& s) { return s.cores(s.sender); });
  add_curve(lines, curve,
            round_trips ? ", replying"
            : both_ways ? ", binding"
                        : ", receiving",
            [](const Sample& s) { return s.cores(s.receiver); });
  if (lines.count() == 0) throw Failure("there is nothing to draw: every value has failed");
  return lines.data() + head(file) +
         fmt::format(
             "set multiplot layout 2,1\nset logscale x 2\nset format x '{}'\n"
             "set yrange [0:*]\nset ylabel '{}'\nset title {} noenhanced\n",
             curve.bytes ? "%.0b%BB" : "%g", round_trips ? "round trip, p50, us" : "GB/s",
             quoted(curve.title)) +
         lines.plot(0, measured, "with yerrorlines", "1:2:3:4") +
         fmt::format("set ylabel 'cores in use'\nset xlabel {} noenhanced\nset title 'CPU'\n",
                     quoted(curve.axis)) +
         lines.plot(measured, lines.count(), "with yerrorlines", "1:2:3:4") + "unset multiplot\n";
}

std::string latency_script(const std::string& file, const Results& results) {
  Lines lines;
  for (const std::string& name : results.systems()) {
    const bench::Histogram all = results.round_trips(name);
    lines.begin(name);
    // Steps of a fifth of a decade in 1/(1-p), up to what the count supports.
    for (double inverse = 1; inverse <= static_cast<double>(all.total()); inverse *= 1.5849) {
      lines.point(inverse, static_cast<double>(all.at(1 - 1 / inverse)) / 1000);
    }
    lines.end();
  }
  return lines.data() + head(file) +
         fmt::format(
             "set logscale xy\nset xlabel 'percentile'\nset ylabel 'round trip, us'\n"
             "set xtics ('0' 1, '50' 2, '90' 10, '99' 100, '99.9' 1000, '99.99' 10000, "
             "'99.999' 100000)\nset title 'Round trips of {}'\n",
             binary_bytes(results.what().message_bytes)) +
         lines.plot(0, lines.count(), "with lines lw 2");
}

// From the bottom up, and listed from the top down. The first five are a sender's, in blue; then
// those of a receiver, from red to yellow; the last is the rest.
constexpr std::array<const char*, 13> bar_colours = {
    "#08306b", "#2171b5", "#6baed6", "#9ecae1", "#deebf7", "#67000d", "#cb181d",
    "#ef6548", "#fc9272", "#fdae61", "#fee08b", "#ffffbf", "#bdbdbd"};

std::string bars_script(const std::string& file, const BarPlot& bars) {
  std::string data = "$bars << EOD\n";
  for (std::size_t column = 0; column < bars.columns.size(); ++column) {
    data += fmt::format("\"{}\"", bars.columns[column]);
    for (const auto& [name, values] : bars.parts) data += fmt::format(" {:.4f}", values[column]);
    data += "\n";
  }
  std::vector<std::string> stacks;
  for (std::size_t i = 0; i < bars.parts.size(); ++i) {
    const auto& [name, values] = bars.parts[i];
    if (std::all_of(values.begin(), values.end(), [](double value) { return value <= 0; }))
      continue;
    stacks.push_back(fmt::format("$bars using {}:xtic(1) title {} lc rgb '{}'", i + 2, quoted(name),
                                 bar_colours[i % bar_colours.size()]));
  }
  return data + "EOD\n" + head(file) +
         fmt::format(
             "set style data histograms\nset style histogram rowstacked\n"
             "set style fill solid 0.9 border lc rgb '#606060'\nset boxwidth 0.7\n"
             "set key outside right vertical invert\nset grid noxtics ytics\n"
             "set yrange [0:100]\nset ylabel {}\nset title {}\nplot {}\n",
             quoted(bars.y_label), quoted(bars.title), fmt::join(stacks, ", "));
}

}  // namespace

void plot(const std::string& file, const std::vector<Results>& all) {
  const bool latency = all.front().what().what == What::latency;
  draw(file, latency ? latency_script(file, all.back()) : throughput_script(file, all));
}

void plot_bars(const std::string& file, const BarPlot& bars) {
  draw(file, bars_script(file, bars));
}

void plot(const std::string& file, const Curve& curve) { draw(file, curve_script(file, curve)); }

}  // namespace netio::cli
