// `netio pub`: a file, a pipe or generated load to whoever subscribes to its tags.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until all was published and acknowledged, or it fails. Throws Failure or netio::Error.
[[nodiscard]] ExitCode run_pub(const PubArguments& arguments);

}  // namespace netio::cli
