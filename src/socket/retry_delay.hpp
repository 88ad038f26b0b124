// How long to wait before the next attempt to connect. On any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/random.hpp"

namespace netio::detail {

// From 1 ns to the longest delay there is.
inline constexpr int retry_delays_max = 110;

// Grows by a half with each attempt that failed, from the first delay (not above the last) to the
// last one. So who is back after some time is met after a fifth of that time, in the middle.
constexpr std::int64_t retry_delay_ns(std::int64_t first_ns, std::int64_t last_ns,
                                      int failed) noexcept {
  std::int64_t delay_ns = std::min(first_ns, last_ns);
  for (int left = std::min(failed, retry_delays_max); left > 0 && delay_ns < last_ns; --left) {
    const std::int64_t more_ns = std::max<std::int64_t>(delay_ns / 2, 1);
    delay_ns = more_ns < last_ns - delay_ns ? delay_ns + more_ns : last_ns;
  }
  return delay_ns;
}

// The delay less a random half, so that many peers of one that restarts do not come back in step.
inline std::int64_t less_random_half(std::int64_t delay_ns) noexcept {
  const std::int64_t half_ns = std::max<std::int64_t>(delay_ns / 2, 1);
  return half_ns + static_cast<std::int64_t>(random_below(static_cast<std::uint64_t>(half_ns) + 1));
}

}  // namespace netio::detail
