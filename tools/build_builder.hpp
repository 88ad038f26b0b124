// `netio build builder`: a builder unit that counts, checks or writes the events that it builds.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until the units have ended, or it fails. Throws Failure or netio::Error.
[[nodiscard]] ExitCode run_build_builder(const BuilderArguments& arguments);

}  // namespace netio::cli
