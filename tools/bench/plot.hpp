// Pictures of results, drawn by gnuplot: throughput against size with CPU beside it, or round-trip
// percentiles; one line a system.
#pragma once

#include <string>
#include <vector>

#include "bench/results.hpp"

namespace netio::cli {

// Before hours are spent measuring. Throws Failure: no gnuplot, or a kind of file it cannot draw.
void check_plot(const std::string& file);
// Throws Failure.
void plot(const std::string& file, const std::vector<Results>& all);

}  // namespace netio::cli
