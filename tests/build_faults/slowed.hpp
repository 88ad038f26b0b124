// One of three builders becomes half as fast while the others stay as they are. It has to be given
// half of their share soon, and nobody may wait for it.
#pragma once

#include <cstdint>

#include "build_faults/members.hpp"

namespace netio::test {

struct Slowed {
  std::uint64_t rounds = 5;
  std::uint64_t work_us = 1'000;  // of an event, in the call-back of a builder
  std::uint64_t range_events = 16;
  std::uint64_t load_percent = 120;  // events that are produced, of what all builders can do
};

// `system` has a board, the address of the manager, and the lease. Gives up if the medians of the
// rounds are not as they should be.
void measure_slowed(System system, const Slowed& slowed);

}  // namespace netio::test
