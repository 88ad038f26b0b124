// `netio info ADDRESS`: who is there, and which wire would be taken from here.
#pragma once

#include "arguments.hpp"
#include "exit_code.hpp"

namespace netio::cli {

ExitCode run_probe(const InfoArguments& arguments);

}  // namespace netio::cli
