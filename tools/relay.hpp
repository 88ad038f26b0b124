// `netio relay`: passes on what comes at one address to another.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

[[nodiscard]] ExitCode run_relay(const RelayArguments& arguments);

}  // namespace netio::cli
