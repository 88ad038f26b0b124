// Pictures of results, drawn by gnuplot: throughput against size with CPU beside it, round-trip
// percentiles, or a scan, one line a system; or parts of a whole as bars.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/results.hpp"

namespace netio::cli {

// Throws Failure.
void plot(const std::string& file, const std::vector<Results>& all);

// What a scan draws: a point for each value of its parameter.
struct Curve {
  std::string title;
  std::string axis;
  bool bytes = false;  // what the axis counts
  std::vector<std::pair<double, const Results*>> points;
};
// The median of the rounds with its spread, and the cores in use. Throws Failure.
void plot(const std::string& file, const Curve& curve);

// Each column is a stack of all parts; a part has a value for each column.
struct BarPlot {
  std::string title;
  std::string y_label;
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::vector<double>>> parts;
};
// Throws Failure. Parts that are nothing in all columns are left out.
void plot_bars(const std::string& file, const BarPlot& bars);

}  // namespace netio::cli
