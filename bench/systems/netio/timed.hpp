// How long events take: the sender writes the time into a few of its messages, behind their number.
// The clock is that of one machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "worker/options.hpp"
#include "worker/worker.hpp"

namespace netio::bench {

// One event in so many is timed. It is a prime number, so each build end gets its share of them.
inline constexpr std::uint64_t events_per_timed = 61;
inline constexpr std::size_t time_offset = 8;
inline constexpr std::size_t timed_bytes_min = time_offset + 8;

// If every byte is checked, there is no place for a time.
[[nodiscard]] inline bool is_timed(std::uint64_t event, const Options& options) noexcept {
  return event % events_per_timed == 0 && options.message_bytes >= timed_bytes_min &&
         !options.verify;
}
inline void write_time(std::span<std::byte> message) noexcept {
  const std::int64_t now = now_ns();
  std::memcpy(message.data() + time_offset, &now, sizeof now);
}
[[nodiscard]] inline std::int64_t read_time(std::span<const std::byte> message) noexcept {
  std::int64_t sent = 0;
  if (message.size() >= timed_bytes_min) {
    std::memcpy(&sent, message.data() + time_offset, sizeof sent);
  }
  return sent;
}

}  // namespace netio::bench
