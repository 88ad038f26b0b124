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

inline std::int64_t system_clock_ns(clockid_t clock) noexcept {
  timespec now;
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::int64_t monotonic_ns() noexcept {
  if (simulated_clock_ns != nullptr) [[unlikely]]
    return *simulated_clock_ns;
  return system_clock_ns(CLOCK_MONOTONIC);
}

// The same, but of a clock that also runs while the machine sleeps: what a lease is measured by.
inline std::int64_t boottime_ns() noexcept {
  if (simulated_clock_ns != nullptr) [[unlikely]]
    return *simulated_clock_ns;
  return system_clock_ns(CLOCK_BOOTTIME);
}

inline std::int64_t thread_cpu_ns() noexcept { return system_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace netio::detail
