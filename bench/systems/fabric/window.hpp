// How many messages may be under way on a connection, and how many buffers that takes. Both ends
// work it out from the same options.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "worker/options.hpp"

namespace netio::bench::fabric {

inline constexpr std::uint32_t window_default = 64;
// Of large messages fewer, unless it is asked for: more than fits a cache is slower.
inline constexpr std::size_t window_bytes_max = 4U << 20U;

struct Window {
  // What the bytes of a credit say is nothing: that it came is what counts.
  static constexpr std::size_t credit_bytes = 8;
  static constexpr std::size_t credit_messages = 4;  // under way at most 3: of a window of 3

  std::uint32_t messages = 1;
  std::uint32_t credits_each = 1;  // so many at a time come back from who receives

  explicit Window(const Options& options) noexcept {
    const bool round_trips = options.role == Role::reply || options.role == Role::request;
    const auto fitting = static_cast<std::uint32_t>(
        std::min<std::size_t>(window_default, window_bytes_max / options.message_bytes));
    messages = options.window != 0 ? options.window : std::max(fitting, 2U);
    if (options.slots != 0) messages = options.slots;
    if (round_trips && options.rate <= 0) messages = 1;
    credits_each = std::max(1U, messages / 2);
  }
};

}  // namespace netio::bench::fabric
