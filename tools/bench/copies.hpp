// `netio bench copies`: how often a stage between two wires copies what it passes on.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_copies(const BenchArguments& arguments);

}  // namespace netio::cli
