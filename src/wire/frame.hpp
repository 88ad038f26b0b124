// Frames inside a page body: an 8-byte word, a tag and a total where flags say so, a payload
// padded to 8 (docs/wire.md). Stateless from one frame to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/prefetch.hpp"
#include "wire/ability.hpp"
#include "wire/page.hpp"

namespace netio::detail {

namespace frame_flag {
inline constexpr std::uint32_t tagged = 1U << 0U;     // an 8-byte tag follows the word
inline constexpr std::uint32_t more = 1U << 1U;       // the message goes on in the next page
inline constexpr std::uint32_t continued = 1U << 2U;  // the message began in an earlier page
inline constexpr std::uint32_t control = 1U << 3U;    // bits 8..15 say which
inline constexpr std::uint32_t request = 1U << 4U;    // an id stands in the place of the tag
inline constexpr std::uint32_t segmented = 1U << 5U;  // the payload begins with a table
inline constexpr std::uint32_t control_shift = 8;
inline constexpr std::uint32_t segments_shift = 8;  // how many, of a message of segments
inline constexpr std::uint32_t segments_mask = 0xffU << segments_shift;
inline constexpr std::uint32_t request_shift = 16;  // time or status of a request or an answer
// A number stands behind the word: a tag, or an id.
inline constexpr std::uint32_t numbered = tagged | request;
// What belongs to the message, beside the number of its segments.
inline constexpr std::uint32_t request_mask = 0xffffU << request_shift;
inline constexpr std::uint32_t of_message = numbered | segmented | request_mask;
inline constexpr std::uint32_t known = more | continued | control | segments_mask | of_message;
}  // namespace frame_flag

enum class ControlKind : std::uint8_t {
  bye = 1,  // the sender of it sends no more messages; it waits for what it sent to be acknowledged
  // Of publish/subscribe, with a payload each (wire/control.hpp).
  subscribe,   // subscriber to publisher: a change of its set of tags
  subscribed,  // publisher to subscriber: the answer to one, where it takes effect
  gap,         // publisher to subscriber: messages were dropped here
  ending,      // publisher to subscriber: why the good-bye that follows is said
  confirm,     // the first page of each side: where it stands in the stream
  // Of abilities that this release does not offer (wire/hello.hpp).
  stay,
  ask,
  grant,
  cancel,
};

// A control frame of an ability that was not offered: the breach in words; null for the others.
[[nodiscard]] constexpr const char* not_offered(ControlKind kind, std::uint64_t offered) noexcept {
  switch (kind) {
    case ControlKind::stay:
      return "sent *stay* though no other wire was offered";
    case ControlKind::ask:
    case ControlKind::grant:
      return "sent *ask* or *grant* though no window was offered";
    case ControlKind::cancel:
      if ((offered & ability::requests) != 0) return nullptr;
      return "sent *cancel* though requests were not offered to be taken";
    default:
      return nullptr;
  }
}

// word, tag, total
inline constexpr std::size_t frame_prefix_bytes_max = 8 + 8 + 8;
inline constexpr std::size_t frame_word_bytes = 8;

constexpr std::uint64_t frame_word(std::uint32_t size, std::uint32_t flags) noexcept {
  return std::uint64_t{size} | (std::uint64_t{flags} << 32U);
}

inline std::uint64_t load_u64(const std::byte* from) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void store_u64(std::byte* to, std::uint64_t value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

// Of these flags, those that belong to the message, and not to how it is cut.
[[nodiscard]] constexpr std::uint32_t flags_of_message(std::uint32_t flags) noexcept {
  std::uint32_t known = frame_flag::numbered | frame_flag::segmented;
  if ((flags & frame_flag::segmented) != 0) known |= frame_flag::segments_mask;
  if ((flags & frame_flag::request) != 0) known |= frame_flag::request_mask;
  return flags & known;
}

// What a frame says of its message beside the size: flags (frame_flag::of_message), and the number
// that they announce.
struct Label {
  std::uint64_t number = 0;  // the tag; or the id, of a request or an answer
  std::uint32_t flags = 0;

  constexpr Label() noexcept = default;
  // Of a message with this tag.
  constexpr Label(std::uint64_t tag) noexcept  // NOLINT(google-explicit-constructor)
      : number(tag), flags(tag != 0 ? frame_flag::tagged : 0U) {}
  constexpr Label(std::uint64_t its_number, std::uint32_t its_flags) noexcept
      : number(its_number), flags(its_flags) {}

  [[nodiscard]] constexpr bool numbered() const noexcept {
    return (flags & frame_flag::numbered) != 0;
  }
  // What the word and the number take.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return frame_word_bytes + (numbered() ? sizeof number : 0);
  }
};

struct Frame {
  const std::byte* payload = nullptr;
  std::uint32_t size = 0;
  std::uint32_t flags = 0;
  std::uint64_t tag = 0;    // or the id, of a request or an answer
  std::uint64_t total = 0;  // of the message; only in the first of several parts

  [[nodiscard]] bool first_part() const noexcept {
    return (flags & (frame_flag::more | frame_flag::continued)) == frame_flag::more;
  }
  [[nodiscard]] bool part() const noexcept {
    return (flags & (frame_flag::more | frame_flag::continued)) != 0;
  }
  // Neither a part of a message nor control.
  [[nodiscard]] bool whole_message() const noexcept {
    return (flags & (frame_flag::more | frame_flag::continued | frame_flag::control)) == 0;
  }
  [[nodiscard]] Label label() const noexcept { return {tag, flags_of_message(flags)}; }
  [[nodiscard]] ControlKind control() const noexcept {
    return static_cast<ControlKind>((flags >> frame_flag::control_shift) & 0xffU);
  }
};

// Walks the frames of one body. The peer may own the memory: each word is read once, into a copy
// that is checked, and nothing outside [begin, end) is ever touched. Bodies start at a multiple of
// 8. What a frame means where it stands (parts, kinds, totals) is for the receiver to check.
// Flags of an ability (wire/hello.hpp) are a defect unless it was offered.
class FrameWalker {
 public:
  FrameWalker() noexcept = default;
  FrameWalker(const std::byte* body, std::size_t bytes, std::uint64_t offered = 0) noexcept
      : cursor_(body), end_(body + bytes), offered_(offered) {}

  // The first frame says that it is a part of a message; it is not checked.
  [[nodiscard]] static bool begins_with_part(std::span<const std::byte> body) noexcept {
    constexpr std::uint64_t part = std::uint64_t{frame_flag::more | frame_flag::continued} << 32U;
    return body.size() >= frame_word_bytes && (load_once(body.data()) & part) != 0;
  }
  // A whole message with at most a tag, as nearly all are. False, and nothing is walked, if the
  // next frame is another one, or there is none.
  bool next_plain(Frame& frame) noexcept {
    const auto left = static_cast<std::size_t>(end_ - cursor_);
    if (left < frame_word_bytes) [[unlikely]]
      return false;
    const std::uint64_t word = load_once(cursor_);
    frame.size = static_cast<std::uint32_t>(word);
    frame.flags = static_cast<std::uint32_t>(word >> 32U);
    frame.tag = 0;
    std::size_t prefix = frame_word_bytes;
    if (frame.flags != 0) {
      if (frame.flags != frame_flag::tagged || left < frame_word_bytes + sizeof frame.tag)
        return false;
      frame.tag = load_once(cursor_ + prefix);
      prefix += sizeof frame.tag;
    }
    // 64-bit sums of a 32-bit size: cannot wrap.
    if (wire_padded(frame.size) > left - prefix) [[unlikely]]
      return false;
    frame.payload = cursor_ + prefix;
    cursor_ += prefix + wire_padded(frame.size);
    return true;
  }
  // The same for a whole request or answer that was not sent in segments. Only if requests were
  // offered to be taken.
  bool next_request(Frame& frame) noexcept {
    constexpr std::size_t prefix = frame_word_bytes + sizeof frame.tag;
    const auto left = static_cast<std::size_t>(end_ - cursor_);
    if (left < prefix) [[unlikely]]
      return false;
    const std::uint64_t word = load_once(cursor_);
    frame.size = static_cast<std::uint32_t>(word);
    frame.flags = static_cast<std::uint32_t>(word >> 32U);
    if ((frame.flags & ~frame_flag::request_mask) != frame_flag::request ||
        wire_padded(frame.size) > left - prefix) [[unlikely]]
      return false;
    frame.tag = load_once(cursor_ + frame_word_bytes);
    frame.payload = cursor_ + prefix;
    cursor_ += prefix + wire_padded(frame.size);
    return true;
  }
  // False at the end of the body, or at a defect (see defect()).
  bool next(Frame& frame) noexcept { return next_plain(frame) || next_other(frame); }

  // What ended the walk early; null if the body was walked to its end, or not yet.
  [[nodiscard]] const char* defect() const noexcept { return defect_; }
  [[nodiscard]] bool at_end() const noexcept { return cursor_ == end_; }
  // What is not walked so far.
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return {cursor_, end_}; }
  // Where a frame begins is known when the one before it was read, and in shared memory another
  // core wrote it. So those to come are asked for early: where they are if all are as long as this
  // one, which was walked last.
  [[gnu::always_inline]] void prefetch(const Frame& frame) const noexcept {
    constexpr std::size_t frames = 8;
    const std::size_t bytes =
        Label(frame.tag).bytes() + static_cast<std::size_t>(cursor_ - frame.payload);
    if (bytes > prefetch_bytes_max) return;
    if ((frames + 1) * bytes > static_cast<std::size_t>(end_ - cursor_)) return;
    prefetch_to_read(cursor_ + frames * bytes, bytes);
  }

 private:
  bool fail_if(bool bad, const char* what) noexcept {
    if (bad) defect_ = what;
    return false;
  }
  [[gnu::noinline]] bool next_other(Frame& frame) noexcept {
    const auto left = static_cast<std::size_t>(end_ - cursor_);
    if (left < frame_word_bytes) {
      if (left != 0) defect_ = "frame cut short";
      return false;
    }
    const std::uint64_t word = load_once(cursor_);
    frame.size = static_cast<std::uint32_t>(word);
    frame.flags = static_cast<std::uint32_t>(word >> 32U);
    std::size_t prefix = frame_word_bytes;
    if (!read_prefix(frame, left, prefix)) return false;
    if (wire_padded(frame.size) > left - prefix) return fail_if(true, "frame longer than its page");
    frame.payload = cursor_ + prefix;
    cursor_ += prefix + wire_padded(frame.size);
    return true;
  }
  bool read_prefix(Frame& frame, std::size_t left, std::size_t& prefix) noexcept {
    // First what a request has.
    if ((frame.flags & 0xffffU) == frame_flag::request && (offered_ & ability::requests) != 0 &&
        left >= frame_word_bytes + sizeof frame.tag) {
      frame.tag = load_once(cursor_ + prefix);
      prefix += sizeof frame.tag;
      return true;
    }
    const bool request = (frame.flags & frame_flag::request) != 0;
    if (request && (offered_ & ability::requests) == 0) {
      return fail_if(true, "request, though requests were not offered to be taken");
    }
    if ((frame.flags & frame_flag::segmented) != 0 && (offered_ & ability::segments) == 0) {
      return fail_if(true, "message of segments, though these were not offered to be taken");
    }
    if ((frame.flags & ~frame_flag::known) != 0 ||
        (!request && (frame.flags >> frame_flag::request_shift) != 0)) {
      return fail_if(true, "unknown frame flags");
    }
    if (request && (frame.flags & frame_flag::tagged) != 0) {
      return fail_if(true, "request with a tag");
    }
    if ((frame.flags & frame_flag::control) != 0) {
      if (frame.part() || (frame.flags & frame_flag::of_message) != 0) {
        return fail_if(true, "control frame with flags of a message");
      }
    } else if ((frame.flags & frame_flag::segments_mask) != 0 &&
               (frame.flags & frame_flag::segmented) == 0) {
      return fail_if(true, "control kind in a frame that is not control");
    }
    if ((frame.flags & frame_flag::continued) != 0 && (frame.flags & frame_flag::of_message) != 0) {
      return fail_if(true, (frame.flags & frame_flag::tagged) != 0
                               ? "tag in a later part of a message"
                               : "flags of a message in a later part of it");
    }
    frame.tag = 0;
    frame.total = 0;
    if ((frame.flags & frame_flag::numbered) != 0) {
      if (left < prefix + 8) return fail_if(true, "frame cut short in its tag");
      frame.tag = load_once(cursor_ + prefix);
      prefix += 8;
    }
    if (frame.first_part()) {
      if (left < prefix + 8) return fail_if(true, "frame cut short in its total");
      frame.total = load_once(cursor_ + prefix);
      prefix += 8;
    }
    return true;
  }

  const std::byte* cursor_ = nullptr;
  const std::byte* end_ = nullptr;
  const char* defect_ = nullptr;
  std::uint64_t offered_ = 0;
};

}  // namespace netio::detail
