// What each process tells the demo ten times a second, and once more at its end. Both ends are the
// same program, so a plain struct will do. A process fills in what belongs to its role.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <netio/books.hpp>
#include <netio/readout_unit.hpp>

#include "roles.hpp"

namespace demo {

// Event building as a card sees it.
struct CardReport {
  netio::ReadoutBooks books;
  std::uint64_t next = 0;        // the number of the next event
  std::uint64_t end = 0;         // the event in front of which the manager has stopped
  std::uint64_t times_busy = 0;  // how often the store was full
  double busy_seconds = 0;       // for how long
  std::uint32_t busy = 0;        // now
};

// Event building as a builder sees it, and its two subscriptions.
struct BuilderReport {
  std::uint64_t incomplete = 0;   // events
  std::uint64_t damaged = 0;      // fragments that are not what the card has written
  std::uint32_t subscribers = 0;  // that are there
  netio::Books recorder;
  netio::Books monitor;
};

// The recorder, or the monitor.
struct SubscriberReport {
  std::array<std::uint64_t, builder_processes> events_of{};  // by the builder's process
  std::uint64_t damaged = 0;  // events that are not as they were sent
  // Of these, by the builder's process, as gaps told of them.
  std::array<std::uint64_t, builder_processes> missed_of{};
  std::uint64_t missed = 0;     // by its socket's books
  std::int64_t age_p50_ns = 0;  // of events, from when they were due to when they came
  std::int64_t age_p99_ns = 0;
  std::int64_t age_max_ns = 0;
};

struct Report {
  std::uint32_t child = 0;  // the index of its role
  std::uint32_t final = 0;  // the last one
  std::int64_t at_ns = 0;   // when it was made, by steady_ns()
  double cpu_seconds = 0;   // used so far
  CardReport card;
  BuilderReport builder;
  SubscriberReport subscriber;
};
static_assert(std::is_trivially_copyable_v<Report>);

// False if it is not one.
inline bool report_in(std::span<const std::byte> bytes, Report& report) noexcept {
  if (bytes.size() != sizeof report) return false;
  std::memcpy(&report, bytes.data(), sizeof report);
  return report.child < child_count;
}

}  // namespace demo
