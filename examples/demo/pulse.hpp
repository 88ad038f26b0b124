// What goes over the Pair between trigger and read-out, both ways: a level (busy from the read-out,
// hold from the trigger) in each message, so that one that could not be sent is no loss.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace demo {

enum class PulseKind : std::uint32_t {
  trigger,  // from the trigger, 2,000 a second
  echo,     // from the read-out, at once, for each
  level,    // from either: the level changed
};

struct Pulse {
  PulseKind kind = PulseKind::level;
  std::uint32_t level = 0;
  std::uint64_t number = 0;  // of the trigger, and of its echo
  std::int64_t sent_ns = 0;  // by the trigger's clock
};

inline std::span<const std::byte> bytes_of(const Pulse& pulse) noexcept {
  return std::as_bytes(std::span(&pulse, 1));
}
inline std::optional<Pulse> pulse_in(std::span<const std::byte> bytes) noexcept {
  Pulse pulse;
  if (bytes.size() != sizeof pulse) return std::nullopt;
  std::memcpy(&pulse, bytes.data(), sizeof pulse);
  return pulse;
}

}  // namespace demo
