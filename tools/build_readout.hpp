// `netio build readout`: a read-out unit of generated fragments, or of a file.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until the builders are done with all that was sent, or it fails. Throws Failure or
// netio::Error.
[[nodiscard]] ExitCode run_build_readout(const ReadoutArguments& arguments);

}  // namespace netio::cli
