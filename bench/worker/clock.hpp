// The clock of all measurements.
#pragma once

#include <chrono>
#include <cstdint>

namespace netio::bench {

[[nodiscard]] inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace netio::bench
