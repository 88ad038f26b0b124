// `netio echo`: sends each message back to where it came from, for `netio ping`.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until its count or time is over, or Ctrl-C. Throws Failure or netio::Error.
[[nodiscard]] ExitCode run_echo(const PairArguments& arguments);

}  // namespace netio::cli
