// `netio build manager`: an event manager, which gives ranges of events to builders.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Blocks until the run was stopped, the units have ended, or it fails. Throws Failure or
// netio::Error.
[[nodiscard]] ExitCode run_build_manager(const ManagerArguments& arguments);

}  // namespace netio::cli
