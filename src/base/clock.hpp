// The clock of the library: monotonic, in nanoseconds. Any thread. Below the loop nobody else reads
// it: protocols get the time as an argument. And the time that this thread has been running.
#pragma once

#include <cstdint>
#include <limits>
#include <time.h>

namespace netio::detail {

// A time that never comes, for "no deadline".
inline constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

inline std::int64_t monotonic_ns() noexcept {
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
