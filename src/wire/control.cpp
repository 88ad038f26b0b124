// Control frames: encode, parse. See docs/wire.md.
#include "wire/control.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "wire/frame.hpp"
#include "wire/hello.hpp"

namespace netio::detail {
namespace {

// The word that subscribe and its answer share.
struct Terms {
  std::uint16_t what;  // flags, or the refusal
  WirePolicy policy;
  std::uint8_t reserved;
  std::uint32_t behind_for_ms;
};
static_assert(sizeof(Terms) == sizeof(std::uint64_t));

const char* defect(const Terms& terms) noexcept {
  if (terms.policy > WirePolicy::disconnect) return "subscription with an unknown policy";
  if (terms.reserved != 0) return "subscription with a reserved field that is not zero";
  return nullptr;
}

}  // namespace

const char* WireRanges::copy(std::span<TagRange> to) const noexcept {
  for (std::size_t index = 0; index < count_; ++index) {
    to[index] = range(index);
    if (to[index].first > to[index].last) return "range of tags that ends before it begins";
  }
  return nullptr;
}

std::size_t encode(const SubscribeFrame& frame, std::span<std::byte> to) noexcept {
  if (to.size() < subscribe_head_bytes) return 0;
  const Terms terms{frame.flags, frame.policy, 0, frame.behind_for_ms};
  store_u64(to.data(), frame.revision);
  store_u64(to.data() + 8, std::bit_cast<std::uint64_t>(terms));
  store_u64(to.data() + 16, frame.behind_bytes_max);
  return subscribe_head_bytes;
}

std::size_t encode(const SubscribedFrame& frame, std::span<std::byte> to) noexcept {
  if (to.size() < subscribed_bytes) return 0;
  const Terms terms{static_cast<std::uint16_t>(frame.refusal), frame.policy, 0,
                    frame.behind_for_ms};
  store_u64(to.data(), frame.revision);
  store_u64(to.data() + 8, frame.from);
  store_u64(to.data() + 16, std::bit_cast<std::uint64_t>(terms));
  store_u64(to.data() + 24, frame.behind_bytes_max);
  store_u64(to.data() + 32, frame.ranges_max);
  return subscribed_bytes;
}

std::size_t encode(const GapFrame& frame, std::span<std::byte> to) noexcept {
  if (to.size() < gap_bytes) return 0;
  store_u64(to.data(), frame.dropped);
  store_u64(to.data() + 8, static_cast<std::uint64_t>(frame.reason));
  return gap_bytes;
}

std::size_t encode(const EndingFrame& frame, std::span<std::byte> to) noexcept {
  if (to.size() < ending_bytes) return 0;
  store_u64(to.data(), static_cast<std::uint64_t>(frame.reason));
  return ending_bytes;
}

std::size_t encode(const ConfirmFrame& frame, std::span<std::byte> to) noexcept {
  if (to.size() < confirm_bytes) return 0;
  store_u64(to.data(), frame.nonce);
  store_u64(to.data() + 8, frame.next);
  store_u64(to.data() + 16, frame.next_expected);
  store_u64(to.data() + 24, frame.oldest_kept);
  store_u64(to.data() + 32, frame.missed);
  return confirm_bytes;
}

void store_ranges(std::span<const TagRange> ranges, std::byte* to) noexcept {
  if (!ranges.empty()) std::memcpy(to, ranges.data(), ranges.size_bytes());
}

const char* parse(std::span<const std::byte> payload, SubscribeFrame& frame) noexcept {
  if (payload.size() < subscribe_head_bytes ||
      (payload.size() - subscribe_head_bytes) % wire_range_bytes != 0) {
    return "subscribe of an impossible size";
  }
  const auto terms = std::bit_cast<Terms>(load_once(payload.data() + 8));
  frame = {.revision = load_once(payload.data()),
           .flags = terms.what,
           .policy = terms.policy,
           .behind_for_ms = terms.behind_for_ms,
           .behind_bytes_max = load_once(payload.data() + 16),
           .ranges = {payload.data() + subscribe_head_bytes,
                      (payload.size() - subscribe_head_bytes) / wire_range_bytes}};
  if (frame.revision == 0) return "subscribe without a revision";
  if ((frame.flags & ~subscribe_flag::known) != 0) return "unknown subscribe flags";
  constexpr std::uint16_t both = subscribe_flag::whole | subscribe_flag::remove;
  if ((frame.flags & both) == both) return "subscribe with flags that exclude each other";
  return defect(terms);
}

const char* parse(std::span<const std::byte> payload, SubscribedFrame& frame) noexcept {
  if (payload.size() != subscribed_bytes) return "subscribed of an impossible size";
  const auto terms = std::bit_cast<Terms>(load_once(payload.data() + 16));
  frame = {.revision = load_once(payload.data()),
           .from = load_once(payload.data() + 8),
           .refusal = static_cast<SetRefusal>(terms.what),
           .policy = terms.policy,
           .behind_for_ms = terms.behind_for_ms,
           .behind_bytes_max = load_once(payload.data() + 24),
           .ranges_max = load_once(payload.data() + 32)};
  if (frame.revision == 0) return "subscribed without a revision";
  // A sequence and what was dropped.
  if (frame.from >= 2 * sequence_end) return "subscribed from an impossible number";
  if (frame.refusal > SetRefusal::too_many_ranges) return "subscribed with an unknown refusal";
  return defect(terms);
}

const char* parse(std::span<const std::byte> payload, GapFrame& frame) noexcept {
  if (payload.size() != gap_bytes) return "gap of an impossible size";
  const std::uint64_t reason = load_once(payload.data() + 8);
  frame = {.dropped = load_once(payload.data()), .reason = static_cast<GapReason>(reason & 0xffU)};
  if (frame.dropped >= sequence_end) return "gap of an impossible number of messages";
  if (reason > 0xffU) return "gap with a reserved field that is not zero";
  if (frame.reason < GapReason::dropped_new || frame.reason > GapReason::not_sent) {
    return "gap of an unknown reason";
  }
  return nullptr;
}

const char* parse(std::span<const std::byte> payload, EndingFrame& frame) noexcept {
  if (payload.size() != ending_bytes) return "ending of an impossible size";
  const std::uint64_t reason = load_once(payload.data());
  if (reason > 0xffU) return "ending with a reserved field that is not zero";
  frame.reason = static_cast<EndingReason>(reason);
  return frame.reason == EndingReason::too_slow ? nullptr : "ending for an unknown reason";
}

const char* parse(std::span<const std::byte> payload, ConfirmFrame& frame) noexcept {
  if (payload.size() != confirm_bytes) return "confirm of an impossible size";
  frame = {.nonce = load_once(payload.data()),
           .next = load_once(payload.data() + 8),
           .next_expected = load_once(payload.data() + 16),
           .oldest_kept = load_once(payload.data() + 24),
           .missed = load_once(payload.data() + 32)};
  if (std::max(frame.next, frame.next_expected) >= sequence_end) {
    return "confirm with an impossible position";
  }
  if (frame.oldest_kept > frame.next) return "confirm that keeps what was never sent";
  if (frame.missed > frame.next_expected) return "confirm that missed more than there was";
  return nullptr;
}

}  // namespace netio::detail
