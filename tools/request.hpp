// `netio request`: asks what netio reply, or any reply socket, answers.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until every request has ended, the time is over, or Ctrl-C. Throws Failure, netio::Error.
[[nodiscard]] ExitCode run_request(const RequestArguments& arguments);

}  // namespace netio::cli
