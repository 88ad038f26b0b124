// What became of each event, in memory that all processes share: who is killed has written down
// what it did. Times are those of the monotonic clock, in nanoseconds.
#pragma once

#include <atomic>
#include <cstdint>

namespace netio::test {

// An event as builders have handed it over.
struct EventRecord {
  std::atomic<std::uint32_t> times{0};
  std::atomic<std::uint32_t> unmarked{0};    // of them, not marked `again`
  std::atomic<std::uint32_t> incomplete{0};  // of them
  std::atomic<std::int64_t> first_ns{0};     // when it was handed over first
  // The source that it lacked last, and the Missing.
  std::atomic<std::uint16_t> lacks_source{0};
  std::atomic<std::uint16_t> lacks_why{0};
};

constexpr std::uint64_t events_max = std::uint64_t{4} << 20U;
constexpr std::uint32_t units_count = 2;
constexpr std::uint32_t builders_count = 2;
constexpr std::uint32_t builders_max = 3;

struct Scoreboard {
  std::atomic<std::int64_t> start_ns{0};               // of event 0
  std::atomic<std::uint64_t> stop_at{UINT64_MAX};      // no event of this number is produced
  std::atomic<bool> over{false};                       // builders end
  std::atomic<std::uint32_t> ready{0};                 // members that know all they have to
  std::atomic<std::uint64_t> begun_at[units_count]{};  // with which event the unit began last
  std::atomic<std::uint32_t> met{0};    // units, by builders that know where they begin
  std::atomic<std::uint64_t> again{0};  // events that were handed over again
  std::atomic<std::uint64_t> wrong{0};  // fragments that are not what was sent
  // By builder: how long an event takes in its call-back, and how many it has handed over.
  std::atomic<std::int64_t> work_ns[builders_max]{};
  std::atomic<std::uint64_t> built[builders_max]{};
  EventRecord events[events_max];
};

}  // namespace netio::test
