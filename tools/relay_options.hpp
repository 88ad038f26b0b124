// The options of `netio relay`.
#pragma once

#include <CLI/CLI.hpp>

#include "arguments.hpp"

namespace netio::cli {

void add_relay(CLI::App& app, RelayArguments& relay);
// Throws CLI::ValidationError.
void settle_relay(RelayArguments& relay);

}  // namespace netio::cli
