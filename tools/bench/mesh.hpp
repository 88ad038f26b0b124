// `netio bench mesh`: every node sends to every other one.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

ExitCode run_mesh(const BenchArguments& arguments);

}  // namespace netio::cli
