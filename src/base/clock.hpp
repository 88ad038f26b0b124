// The clock of the library: monotonic, in nanoseconds. Any thread. Below the loop nobody else reads
// it: protocols get the time as an argument. And the time that this thread has been running.
#pragma once

#include <cstdint>
#include <limits>
#include <time.h>

namespace netio::detail {

// A time that never comes, for "no deadline".
inline constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

inline constexpr std::int64_t ns_per_ms = 1'000'000;

// For simulations: where the time is read instead of the system's clock. A program sets it once,
// before it makes a context. Null in all other programs.
inline const std::int64_t* simulated_clock_ns = nullptr;

inline std::int64_t monotonic_ns() noexcept {
  if (simulated_clock_ns != nullptr) [[unlikely]]
    return *simulated_clock_ns;
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::int64_t thread_cpu_ns() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace netio::detail
