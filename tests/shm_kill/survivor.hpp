// The process that talks with every victim and outlives them all. It judges what it was told and
// given by each, and counts what it still holds of them.
#pragma once

#include "shm_kill/scoreboard.hpp"

namespace netio::test {

// Does what the board commands; `wake` is an eventfd, written to after each command.
[[noreturn]] void run_survivor(const Places& places, Scoreboard& board, int wake,
                               std::uint64_t seed);

}  // namespace netio::test
