// `netio bench`: measures, and reports.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_bench(const BenchArguments& arguments);

}  // namespace netio::cli
