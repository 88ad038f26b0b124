// `netio recv`: from any number of senders into a file or pipe, or into a count.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until the senders have ended, or it fails. Throws Failure or netio::Error.
[[nodiscard]] ExitCode run_recv(const RecvArguments& arguments);

}  // namespace netio::cli
