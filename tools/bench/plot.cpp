#include "bench/plot.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/system.hpp"
#include "descriptor.hpp"
#include "exit_code.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

bool draws_png(const std::string& file) { return file.ends_with(".png"); }

// In single quotes, gnuplot takes everything as it is but the quote itself.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string head(const std::string& file) {
  return fmt::format(
      "set terminal {}\nset output {}\n"
      "set grid\nset key outside below horizontal\nset style data linespoints\n",
      draws_png(file) ? "pngcairo size 1100,900 font 'sans,11'"
                      : "svg size 1100,900 font 'sans,14' background '#ffffff'",
      quoted(file));
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
  void end() { data_ += "EOD\n"; }

  [[nodiscard]] const std::string& data() const noexcept { return data_; }
  [[nodiscard]] std::string plot(std::size_t from, std::size_t to, const char* style) const {
    std::vector<std::string> parts;
    for (std::size_t i = from; i < to; ++i) {
      parts.push_back(fmt::format("$line{} using 1:2 title {} {} lc {}", i, quoted(titles_[i]),
                                  style, i - from + 1));
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

}  // namespace

void check_plot(const std::string& file) {
  if (!draws_png(file) && !file.ends_with(".svg")) {
    throw Failure(fmt::format("cannot draw into {}", file), "Its name must end in .svg or .png.",
                  ExitCode::usage);
  }
  if (std::system("gnuplot --version >/dev/null 2>&1") != 0) {
    throw Failure("--plot needs gnuplot, which is not there", "Install gnuplot-nox.");
  }
  if (Descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)).get() < 0) {
    throw Failure(fmt::format("cannot open {} for writing: {}", file, std::strerror(errno)));
  }
}

void plot(const std::string& file, const std::vector<Results>& all) {
  const bool latency = all.front().what().what == What::latency;
  const std::string script =
      latency ? latency_script(file, all.back()) : throughput_script(file, all);
  std::FILE* const gnuplot = ::popen("gnuplot", "w");
  if (gnuplot == nullptr) {
    throw Failure(fmt::format("cannot start gnuplot: {}", std::strerror(errno)));
  }
  const bool written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  if (::pclose(gnuplot) != 0 || !written) {
    throw Failure(fmt::format("gnuplot could not draw {}", file));
  }
}

}  // namespace netio::cli
