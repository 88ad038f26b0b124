// Control pages of publish/subscribe as bytes, right or wrong, and what a raw peer has heard.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <netio/subscription.hpp>

#include "support/raw_tcp.hpp"
#include "wire/control.hpp"
#include "wire/frame.hpp"

namespace netio::test {

// A frame of that kind, padded.
[[nodiscard]] Bytes control_frame(detail::ControlKind kind, std::span<const std::byte> payload);
// A control page of these frames; `acknowledged` is what its header says.
[[nodiscard]] Bytes control_page(std::span<const std::byte> frames, std::uint64_t sequence = 0,
                                 std::uint64_t acknowledged = 0);

inline constexpr std::uint16_t whole_and_last =
    detail::subscribe_flag::whole | detail::subscribe_flag::last;

// The payload of a subscribe frame, encoded as it is told.
struct Change {
  std::uint64_t revision = 1;
  std::uint16_t flags = whole_and_last;
  std::vector<TagRange> ranges = {};
  detail::WirePolicy policy = detail::WirePolicy::drop_new;
  std::uint64_t behind_bytes_max = std::uint64_t{4} << 20U;
  std::uint32_t behind_for_ms = 0;
};
[[nodiscard]] Bytes payload_of(const Change& change);
// A frame of it, and a page of that frame alone.
[[nodiscard]] Bytes frame_of(const Change& change);
[[nodiscard]] Bytes page_of(const Change& change);

// The same of a publisher's answers.
[[nodiscard]] Bytes page_of(const detail::SubscribedFrame& answer, std::uint64_t sequence = 0);
[[nodiscard]] Bytes page_of(const detail::GapFrame& gap, std::uint64_t sequence = 0);

// What is in the whole pages behind a hello.
struct Heard {
  detail::Hello hello;
  std::optional<detail::ConfirmFrame> confirm = std::nullopt;
  std::vector<detail::SubscribeFrame> changes;  // their ranges are not to be looked at
  std::vector<detail::SubscribedFrame> answers;
  std::vector<detail::GapFrame> gaps;
  std::uint64_t messages = 0;
  bool ending = false;
  bool bye = false;
};
[[nodiscard]] Heard heard(std::span<const std::byte> received);

}  // namespace netio::test
