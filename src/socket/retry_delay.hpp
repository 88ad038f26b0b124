// How long to wait before the next attempt to connect: numbers only, on any thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace netio::detail {

// From 1 ns to the longest delay there is.
inline constexpr int retry_doublings_max = 62;

// Doubles with each attempt that failed, from the first delay (not above the last) to the last one.
constexpr std::int64_t retry_delay_ns(std::int64_t first_ns, std::int64_t last_ns,
                                      int failed) noexcept {
  const int doublings = std::min(failed, retry_doublings_max);
  return first_ns > last_ns >> doublings ? last_ns : first_ns << doublings;
}

}  // namespace netio::detail
