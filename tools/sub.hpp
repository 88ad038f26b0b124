// `netio sub`: what publishers send with the tags asked for, into a file or pipe, or into a count.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until the publishers have ended, or it fails. Throws Failure or netio::Error.
[[nodiscard]] ExitCode run_sub(const SubArguments& arguments);

}  // namespace netio::cli
