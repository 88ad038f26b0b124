// `netio send`: from a file, standard input or generated load to whoever receives.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until all is sent and acknowledged, or it fails. Throws Failure or netio::Error.
[[nodiscard]] ExitCode run_send(const SendArguments& arguments);

}  // namespace netio::cli
