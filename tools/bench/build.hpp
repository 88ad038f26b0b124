// `netio bench build`: event building, held against plain streams between as many processes.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_build(const BenchArguments& arguments);

}  // namespace netio::cli
