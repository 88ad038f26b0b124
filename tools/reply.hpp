// `netio reply`: answers requests, with what they hold or with a text.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until Ctrl-C, or until as much was answered as was asked for. Throws Failure,
// netio::Error.
[[nodiscard]] ExitCode run_reply(const ReplyArguments& arguments);

}  // namespace netio::cli
