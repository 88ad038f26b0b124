// Payloads of control frames (docs/wire.md). The peer may own the memory:
// each word of a payload is read once, and the copy is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <netio/subscription.hpp>

#include "wire/page.hpp"

namespace netio::detail {

enum class WirePolicy : std::uint8_t { block = 0, drop_new, drop_old, sample, disconnect };

namespace subscribe_flag {
inline constexpr std::uint16_t whole = 1U << 0U;   // what was subscribed before is forgotten first
inline constexpr std::uint16_t remove = 1U << 1U;  // the ranges leave the set; else they join it
inline constexpr std::uint16_t last = 1U << 2U;    // the change is complete: it is to be answered
inline constexpr std::uint16_t known = whole | remove | last;
}  // namespace subscribe_flag

inline constexpr std::size_t subscribe_head_bytes = 24;
inline constexpr std::size_t wire_range_bytes = 16;
inline constexpr std::size_t subscribed_bytes = 40;
inline constexpr std::size_t gap_bytes = 16;
inline constexpr std::size_t ending_bytes = 8;
inline constexpr std::size_t confirm_bytes = 40;
static_assert(sizeof(TagRange) == wire_range_bytes && offsetof(TagRange, last) == 8);

// Of a payload of `ranges` ranges.
constexpr std::size_t subscribe_bytes(std::size_t ranges) noexcept {
  return subscribe_head_bytes + ranges * wire_range_bytes;
}

// The ranges of a subscribe frame where they lie.
class WireRanges {
 public:
  WireRanges() noexcept = default;
  WireRanges(const std::byte* at, std::size_t count) noexcept : at_(at), count_(count) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  // Not checked: it may end before it begins. What the peer owns may differ at the next call.
  [[nodiscard]] TagRange range(std::size_t index) const noexcept {
    const std::byte* const at = at_ + index * wire_range_bytes;
    return {load_once(at), load_once(at + 8)};
  }
  // Reads all of them once, into the first count() of `to`. What is wrong with them, or null.
  [[nodiscard]] const char* copy(std::span<TagRange> to) const noexcept;

 private:
  const std::byte* at_ = nullptr;
  std::size_t count_ = 0;
};

// Subscriber to publisher: a change of the set, or a part of one.
struct SubscribeFrame {
  std::uint64_t revision = 0;  // counts the changes, from 1
  std::uint16_t flags = 0;
  WirePolicy policy = WirePolicy::block;
  std::uint32_t behind_for_ms = 0;  // disconnect: how long at a time; 0: the amount alone decides
  std::uint64_t behind_bytes_max = 0;
  WireRanges ranges;  // set by parse(); written by store_ranges()
};

enum class SetRefusal : std::uint16_t { none = 0, too_many_ranges };

// Publisher to subscriber: the answer to a change. Stands where the set takes effect.
struct SubscribedFrame {
  std::uint64_t revision = 0;
  std::uint64_t from = 0;  // the number of the first message that the set decides about
  SetRefusal refusal = SetRefusal::none;
  WirePolicy policy = WirePolicy::block;  // granted, as the next two
  std::uint32_t behind_for_ms = 0;
  std::uint64_t behind_bytes_max = 0;
  std::uint64_t ranges_max = 0;  // so many the publisher takes

  bool operator==(const SubscribedFrame&) const = default;
};

enum class GapReason : std::uint8_t { dropped_new = 1, dropped_old, superseded, not_sent };

// Publisher to subscriber: messages between the last one sent and the next will never come.
struct GapFrame {
  std::uint64_t dropped = 0;  // in all on this stream
  GapReason reason = GapReason::dropped_new;

  bool operator==(const GapFrame&) const = default;
};

enum class EndingReason : std::uint8_t { too_slow = 1 };

// Publisher to subscriber: the publisher ends the connection, and not because it closes.
struct EndingFrame {
  EndingReason reason = EndingReason::too_slow;

  bool operator==(const EndingFrame&) const = default;
};

// The first page of each side on each connection: where it stands in the stream. Positions count
// the messages of one direction from 0.
struct ConfirmFrame {
  std::uint64_t nonce = 0;          // of the accepting side's hello
  std::uint64_t next = 0;           // the position of the next message that this side sends
  std::uint64_t next_expected = 0;  // the position that it expects next from the peer
  std::uint64_t oldest_kept = 0;    // of its own messages, the first that it can still send again
  std::uint64_t missed = 0;         // of the positions below next_expected, how many never came

  bool operator==(const ConfirmFrame&) const = default;
};

// The bytes written: subscribe_head_bytes, subscribed_bytes, gap_bytes, ending_bytes,
// confirm_bytes. Where `to` is too small they write nothing and return 0.
std::size_t encode(const SubscribeFrame& frame, std::span<std::byte> to) noexcept;
std::size_t encode(const SubscribedFrame& frame, std::span<std::byte> to) noexcept;
std::size_t encode(const GapFrame& frame, std::span<std::byte> to) noexcept;
std::size_t encode(const EndingFrame& frame, std::span<std::byte> to) noexcept;
std::size_t encode(const ConfirmFrame& frame, std::span<std::byte> to) noexcept;
// Behind the head of a subscribe frame: `to` has wire_range_bytes for each.
void store_ranges(std::span<const TagRange> ranges, std::byte* to) noexcept;

// What is wrong with a payload, which begins at a multiple of 8; null if nothing is. Ranges are
// checked as they are read.
[[nodiscard]] const char* parse(std::span<const std::byte> payload, SubscribeFrame& frame) noexcept;
[[nodiscard]] const char* parse(std::span<const std::byte> payload,
                                SubscribedFrame& frame) noexcept;
[[nodiscard]] const char* parse(std::span<const std::byte> payload, GapFrame& frame) noexcept;
[[nodiscard]] const char* parse(std::span<const std::byte> payload, EndingFrame& frame) noexcept;
[[nodiscard]] const char* parse(std::span<const std::byte> payload, ConfirmFrame& frame) noexcept;

}  // namespace netio::detail
