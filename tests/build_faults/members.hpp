// The processes of a system of event building: each function is the life of one, and returns its
// exit status.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "build_faults/scoreboard.hpp"

namespace netio::test {

struct System {
  Scoreboard* board = nullptr;
  bool managed = true;
  std::string manager;           // its address
  std::uint16_t first_port = 0;  // without a manager: of builder 0; the next ones have those behind
  // By builder: where it listens; empty: at the loopback.
  std::vector<std::string> builder_hosts;
  std::uint64_t rate = 0;  // events a second
  std::uint32_t builders = builders_count;
  std::uint64_t range_events = 64;
  std::chrono::milliseconds lease{0};  // and how long a unit is waited for
};

[[nodiscard]] std::int64_t monotonic_ns() noexcept;
// The first event that does not exist yet.
[[nodiscard]] std::uint64_t produced(const System& system, std::int64_t now_ns) noexcept;

int manager_process(const System& system);
int builder_process(const System& system, std::uint32_t number);
// `late`: the others are at work already, so it begins with what comes then.
int unit_process(const System& system, std::uint32_t source, bool late);

}  // namespace netio::test
