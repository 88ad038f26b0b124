// How long to wait before the next attempt to connect: numbers only, on any thread.
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace netio::detail
