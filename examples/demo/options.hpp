// What the demo was asked for on its command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "subscriber.hpp"

namespace demo {

struct Options {
  double seconds = 15;
  double fragments_per_second = 1e6;
  // One of the demo's other processes; empty for the demo itself.
  std::string child;
  ChildOptions child_options;
};

// Nothing if there is nothing to run: `exit_code` then says how to end.
std::optional<Options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace demo
