// `netio bench connections`: many sending connections, of a few processes, into one receiver.
#pragma once

#include "bench/arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_connections(const BenchArguments& arguments);

}  // namespace netio::cli
