// The options of `netio build readout`, `netio build builder` and `netio build manager`.
#pragma once

#include <CLI/CLI.hpp>

#include "arguments.hpp"

namespace netio::cli {

void add_build_readout(CLI::App& app, ReadoutArguments& readout);
void add_build_builder(CLI::App& app, BuilderArguments& builder);
void add_build_manager(CLI::App& app, ManagerArguments& manager);
// Throw CLI::ValidationError.
void settle_build_readout(ReadoutArguments& readout);
void settle_build_builder(BuilderArguments& builder);
void settle_build_manager(ManagerArguments& manager);

}  // namespace netio::cli
