// `netio bench idle`: what a connected, sleeping pair of processes uses.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_idle(const BenchArguments& arguments);

}  // namespace netio::cli
