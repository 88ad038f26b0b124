// What the demo was asked for on its command line.
#pragma once

#include <optional>

#include "child_options.hpp"

namespace demo {

struct Options {
  double seconds = 20;
  double events_per_second = 20'000;
  // Of one of the demo's other processes; none for the demo itself.
  std::optional<ChildOptions> child;
};

// Nothing if there is nothing to run: `exit_code` then says how to end.
std::optional<Options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace demo
