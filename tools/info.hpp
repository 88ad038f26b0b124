// `netio info`: the version, the transports, the addresses and the limits of this machine.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

// Throws Failure.
[[nodiscard]] ExitCode run_info(const InfoArguments& arguments);

}  // namespace netio::cli
