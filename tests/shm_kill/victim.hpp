// A process that talks with the survivor until it is killed. It ends itself only to say that
// something is wrong.
#pragma once

#include <cstddef>
#include <cstdint>

#include <netio/options.hpp>

#include "shm_kill/scoreboard.hpp"

namespace netio::test {

struct VictimPlan {
  std::size_t slot = 0;
  std::uint64_t id = 0;
  std::uint64_t seed = 0;
  Mode mode = Mode::buffered;
  bool sends = true;
  bool receives = true;
  bool hoards = false;  // keeps what it gets until its quota is spent
};

[[noreturn]] void run_victim(const VictimPlan& plan, const Places& places, Slot& slot);

// Binds where the victims of this slot did and ends in order: nothing is left there.
[[noreturn]] void run_sweeper(std::size_t slot, const Places& places);

}  // namespace netio::test
