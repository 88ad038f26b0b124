// `netio bench scan`: a curve, with a point for each value of a parameter.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_scan(const BenchArguments& arguments);

}  // namespace netio::cli
