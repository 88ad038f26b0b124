// What the frame word of a request or an answer says in its upper 16 bits (docs/wire.md). Bytes,
// and nothing else.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "wire/frame.hpp"

namespace netio::detail {

enum class AnswerStatus : std::uint16_t {
  answered = 0,
  not_answered,  // the replier has given the request up; there is no payload
};

// In the place of the time that a request has left: it ended at the requester before it was sent,
// and is not delivered.
inline constexpr std::uint16_t withdrawn = 0xf000;

inline constexpr std::size_t cancel_bytes = 8;  // of the payload of *cancel*: an id

// The time that a request has left, in milliseconds: 12 bits, and 4 bits that say by how many bits
// they are shifted to the left. Rounds up; 0 is no limit, so 0 becomes 1.
[[nodiscard]] constexpr std::uint16_t time_left_field(std::uint64_t milliseconds) noexcept {
  constexpr int mantissa_bits = 12;
  constexpr std::uint64_t most = std::uint64_t{0xfff} << 15U;
  if (milliseconds == 0) milliseconds = 1;
  if (milliseconds > most) return 0;  // 37 hours and more: as good as none
  int shift = static_cast<int>(std::bit_width(milliseconds)) - mantissa_bits;
  if (shift <= 0) return static_cast<std::uint16_t>(milliseconds);
  std::uint64_t mantissa = (milliseconds + (std::uint64_t{1} << shift) - 1) >> shift;
  if (mantissa >> mantissa_bits != 0) {
    mantissa >>= 1;
    ++shift;
  }
  return static_cast<std::uint16_t>(mantissa |
                                    (static_cast<std::uint64_t>(shift) << mantissa_bits));
}
[[nodiscard]] constexpr std::uint16_t time_left_field_of_ns(std::int64_t ns) noexcept {
  constexpr std::int64_t per_ms = 1'000'000;
  return time_left_field(ns > 0 ? static_cast<std::uint64_t>((ns + per_ms - 1) / per_ms) : 0);
}
// Milliseconds; 0: no limit. Not of `withdrawn`.
[[nodiscard]] constexpr std::uint64_t time_left(std::uint16_t field) noexcept {
  return std::uint64_t{field & 0xfffU} << (field >> 12U);
}

[[nodiscard]] constexpr Label request_label(std::uint64_t id, std::uint16_t field) noexcept {
  return {id, frame_flag::request | (std::uint32_t{field} << frame_flag::request_shift)};
}
[[nodiscard]] constexpr bool is_request(Label label) noexcept {
  return (label.flags & frame_flag::request) != 0;
}
[[nodiscard]] constexpr std::uint16_t request_field(Label label) noexcept {
  return static_cast<std::uint16_t>(label.flags >> frame_flag::request_shift);
}

}  // namespace netio::detail
