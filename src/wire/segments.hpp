// A message of segments that is put together: a table, and each segment at a multiple of 8
// (docs/wire.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <netio/message.hpp>
#include <netio/segments.hpp>

#include "wire/frame.hpp"

namespace netio::detail {

// What the flags of a frame say of so many segments.
[[nodiscard]] constexpr std::uint32_t segment_flags(std::size_t segments) noexcept {
  return frame_flag::segmented |
         (static_cast<std::uint32_t>(segments) << frame_flag::segments_shift);
}
[[nodiscard]] constexpr std::size_t segments_of(std::uint32_t flags) noexcept {
  return (flags >> frame_flag::segments_shift) & 0xffU;
}
// What a message says of itself in a frame.
[[nodiscard]] inline Label label_of(const Message& message) noexcept {
  Label label(message.tag());
  if (message.segmented()) label.flags |= segment_flags(message.segments_count());
  return label;
}

// What is sent of it: the bytes, with the table of its segments in front, if there is one.
[[nodiscard]] inline std::span<const std::byte> payload_of(const Message& message) noexcept {
  if (!message.segmented()) return message.bytes();
  const std::size_t table = segment_table_bytes(message.segments_count());
  return {message.data() - table, message.size() + table};
}

// How much goes over the wire.
[[nodiscard]] inline std::size_t payload_bytes(std::span<const std::byte> bytes) noexcept {
  return bytes.size();
}
[[nodiscard]] inline std::size_t payload_bytes(const Message& message) noexcept {
  return payload_of(message).size();
}

// What allocate() leaves in front of a message, for segments of so many bytes and any table. More
// than a message may be long if `head_bytes` is.
[[nodiscard]] constexpr std::size_t head_room(std::size_t head_bytes) noexcept {
  if (head_bytes > UINT32_MAX) return SIZE_MAX;  // its sum would wrap
  return head_bytes == 0 ? 0 : segment_table_bytes(segments_max) + segment_padded(head_bytes);
}

class SegmentList {
 public:
  // If the last segment is lent, `lent` points to the count on its memory.
  explicit SegmentList(std::span<const Segment> segments, Block** lent = nullptr) noexcept
      : segments_(segments), lent_(lent) {
    bytes_ = segment_table_bytes(segments.size());
    for (const Segment& segment : segments) {
      // The sizes of things that exist do not wrap when they are added.
      bytes_ = segment_padded(bytes_) + segment.bytes().size();
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return segments_.size(); }
  // As many as there may be, and no message among them that is empty.
  [[nodiscard]] bool make_sense() const noexcept {
    return count() <= segments_max && std::ranges::all_of(segments_, [](const Segment& segment) {
             return segment.message() == nullptr || *segment.message();
           });
  }
  // Of the payload, with its table.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Of what stands in front of the last segment.
  [[nodiscard]] std::size_t head_bytes() const noexcept {
    return segments_.empty() ? bytes_ : bytes_ - segments_.back().bytes().size();
  }
  [[nodiscard]] std::uint32_t flags() const noexcept { return segment_flags(count()); }
  // The last segment, if that is a message with room in front of it for all the others. Nobody else
  // has it.
  [[nodiscard]] Message* roomy() const noexcept {
    Message* const last = segments_.empty() ? nullptr : segments_.back().message();
    return last != nullptr && last->head_room() >= head_bytes() ? last : nullptr;
  }

  // The memory of the last segment, if that is a message or lent: a wire may read it there, behind
  // what write_front() writes elsewhere. Null if it is only borrowed.
  [[nodiscard]] const Block* last_memory() const noexcept {
    if (lent_ != nullptr) return *lent_;
    const Message* const last = segments_.empty() ? nullptr : segments_.back().message();
    return last != nullptr ? last->block() : nullptr;
  }
  [[nodiscard]] std::span<const std::byte> last() const noexcept {
    return segments_.back().bytes();
  }
  [[nodiscard]] bool lends() const noexcept { return lent_ != nullptr; }
  // Hands out the count on that memory; and takes it back, if it was not sent.
  [[nodiscard]] Block* release_last() const noexcept {
    return lent_ != nullptr ? std::exchange(*lent_, nullptr)
                            : segments_.back().message()->release_block();
  }
  void take_back_last(Block* block) const noexcept {
    if (lent_ != nullptr) {
      *lent_ = block;
    } else {
      segments_.back().message()->take_back(block);
    }
  }
  // All but the last segment, padded: head_bytes().
  void write_front(std::byte* to) const noexcept { write(to, segments_.size() - 1); }

  // All of it, to where `bytes()` fit. What stands between segments is written too.
  void write(std::byte* to) const noexcept { write(to, segments_.size()); }
  // Writes all but the last segment in front of that one, which is roomy(). All of it.
  [[nodiscard]] std::span<const std::byte> write_head() const noexcept {
    std::byte* const begin = roomy()->writable_bytes().data() - head_bytes();
    write(begin, segments_.size() - 1);
    return {begin, bytes_};
  }
  // One message of them: with the memory of roomy(), or else a copy; empty without memory for it.
  [[nodiscard]] Message joined(std::uint64_t tag) const noexcept;
  // A copy of them as one message. Throws std::bad_alloc.
  [[nodiscard]] Message copied(std::uint64_t tag) const;
  // That message was not sent: its memory is where it was.
  void part(Message& joined) const noexcept {
    if (roomy() != nullptr) roomy()->take_back(joined.release_block());
  }
  // Calls with the size of each that is a message, or lent.
  template <typename Call>
  void each_message(Call&& call) const {
    for (const Segment& segment : segments_) {
      if (segment.message() != nullptr) call(segment.bytes().size());
    }
    if (lent_ != nullptr) call(last().size());
  }
  // The messages among them were sent.
  void take_messages() const noexcept {
    for (const Segment& segment : segments_) {
      if (segment.message() != nullptr) *segment.message() = Message();
    }
  }

 private:
  void write(std::byte* to, std::size_t segments) const noexcept {
    for (std::size_t i = 0; i < count(); ++i) {
      store_u64(to + i * segment_word, segments_[i].bytes().size());
    }
    store_u64(to + count() * segment_word, count());
    std::size_t at = segment_table_bytes(count());
    for (std::size_t i = 0; i < segments; ++i) {
      const std::span<const std::byte> bytes = segments_[i].bytes();
      if (!bytes.empty()) std::memcpy(to + at, bytes.data(), bytes.size());
      at += bytes.size();
      if (i + 1 == count()) break;
      std::memset(to + at, 0, segment_padded(at) - at);
      at = segment_padded(at);
    }
  }

  std::span<const Segment> segments_;
  Block** lent_;
  std::size_t bytes_ = 0;
};

[[nodiscard]] inline std::size_t payload_bytes(const SegmentList& segments) noexcept {
  return segments.bytes();
}

}  // namespace netio::detail
