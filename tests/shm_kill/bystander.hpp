// A peer of the survivor's that nobody harms: its messages go there and back as if nothing were.
#pragma once

#include "shm_kill/scoreboard.hpp"

namespace netio::test {

// Until it is told to end, and then in order.
[[noreturn]] void run_bystander(const Places& places, Scoreboard& board);

}  // namespace netio::test
