// `netio ping`: one message after the other to an echo and back, timed.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until its count or time is over, or Ctrl-C. Throws Failure or netio::Error.
[[nodiscard]] ExitCode run_ping(const PingArguments& arguments);

}  // namespace netio::cli
