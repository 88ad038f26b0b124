// The options of `netio build readout` and `netio build builder`.
#pragma once

#include <CLI/CLI.hpp>

#include "arguments.hpp"

namespace netio::cli {

void add_build_readout(CLI::App& app, ReadoutArguments& readout);
void add_build_builder(CLI::App& app, BuilderArguments& builder);
// Throw CLI::ValidationError.
void settle_build_readout(ReadoutArguments& readout);
void settle_build_builder(BuilderArguments& builder);

}  // namespace netio::cli
