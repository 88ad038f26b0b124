// A received message: a MessageView while the call-back runs, a Message for as long as you like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <netio/export.hpp>
#include <netio/segments.hpp>

namespace netio {

namespace detail {
class Block;  // counted memory: a pool page, a large buffer, a user's lent memory
}

// Owns its bytes by a count on the memory they lie in. Movable; may be destroyed on any thread,
// also after the context it came from is gone. Empty when default-constructed or moved from.
class NETIO_API Message {
 public:
  Message() noexcept = default;  // empty
  // Leaves the other empty:
  Message(Message&& other) noexcept { swap(other); }
  Message& operator=(Message&& other) noexcept {
    Message(std::move(other)).swap(*this);
    return *this;
  }
  ~Message() {
    if (block_ != nullptr) release();
  }

  // A message in memory of its own, holding a copy. Throws std::bad_alloc.
  [[nodiscard]] static Message copy_of(std::span<const std::byte> bytes, std::uint64_t tag = 0);

  // For the library: a message in memory of its own, to be written. Throws std::bad_alloc.
  [[nodiscard]] static Message of_size(std::size_t bytes, std::uint64_t tag);

  // The payload, which starts at a multiple of 8 bytes if it was received or allocated:
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // 0 where the sender gave none.
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }
  // The payload as characters.
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(data_), size_};
  }
  // Of a message that was allocated and not sent so far; else empty.
  [[nodiscard]] std::span<std::byte> writable_bytes() const noexcept {
    if (!writable_) return {};
    return {const_cast<std::byte*>(data_), size_};
  }
  // The segments that it was sent in; one, if it was not. They lie in bytes(), behind each other,
  // with up to 7 bytes of zeros between two of them.
  [[nodiscard]] Segments segments() const noexcept;
  // Not empty.
  explicit operator bool() const noexcept { return block_ != nullptr; }

  // Exchanges two messages.
  void swap(Message& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(tag_, other.tag_);
    std::swap(writable_, other.writable_);
    std::swap(segments_, other.segments_);
    std::swap(head_room_, other.head_room_);
  }

  // For the library: adopts one count of `block`.
  Message(detail::Block* block, std::span<const std::byte> bytes, std::uint64_t tag) noexcept
      : block_(block), data_(bytes.data()), size_(bytes.size()), tag_(tag) {}
  [[nodiscard]] detail::Block* block() const noexcept { return block_; }
  detail::Block* release_block() noexcept { return std::exchange(block_, nullptr); }
  void take_back(detail::Block* block) noexcept { block_ = block; }
  static Message writable(detail::Block* block, std::span<std::byte> bytes,
                          std::uint64_t tag) noexcept {
    Message message(block, bytes, tag);
    message.writable_ = true;
    return message;
  }
  // For the library: it was received, or put together, in segments, and their table stands in front
  // of the bytes.
  [[nodiscard]] bool segmented() const noexcept { return segments_ != 0; }
  // So many of them; if it is segmented.
  [[nodiscard]] std::size_t segments_count() const noexcept { return segments_ - 1U; }
  // There is a table, within the memory: takes their number from there.
  void find_segments() noexcept;
  void set_segments(std::size_t count) noexcept {
    segments_ = static_cast<std::uint8_t>(count + 1);
  }
  // So many bytes in front of the others may be written to, while the message is writable.
  [[nodiscard]] std::size_t head_room() const noexcept { return writable_ ? head_room_ : 0; }
  void set_head_room(std::size_t bytes) noexcept { head_room_ = static_cast<std::uint32_t>(bytes); }

 private:
  void release() noexcept;

  detail::Block* block_ = nullptr;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t tag_ = 0;
  bool writable_ = false;
  std::uint8_t segments_ = 0;  // their number and one more; 0: it was not sent in segments
  std::uint32_t head_room_ = 0;
};

inline Segment::Segment(Message&& message) noexcept : bytes_(message.bytes()), message_(&message) {}

// A message in place, in the memory the wire delivered it to. Valid until the call-back it was
// given to returns, until the next blocking receive(), or as long as the KeptBatch it is of; keep()
// it to have it longer. The payload starts at a multiple of 8 bytes.
class NETIO_API MessageView {
 public:
  // For the library. Without a block it is empty.
  MessageView(detail::Block* block, std::span<const std::byte> bytes, std::uint64_t tag) noexcept
      : memory_(reinterpret_cast<std::uintptr_t>(block)),
        data_(bytes.data()),
        size_(bytes.size()),
        tag_(tag) {}
  // For the library: a view into a message whose owner may be on any thread. To keep it is to share
  // the memory.
  [[nodiscard]] static MessageView of_kept(detail::Block* block, std::span<const std::byte> bytes,
                                           std::uint64_t tag) noexcept {
    MessageView view(block, bytes, tag);
    if (block != nullptr) view.memory_ |= shared_mark;
    return view;
  }
  // For the library: another message in the same memory.
  [[nodiscard]] MessageView at(std::span<const std::byte> bytes, std::uint64_t tag) const noexcept {
    MessageView view = *this;
    view.data_ = bytes.data();
    view.size_ = bytes.size();
    view.tag_ = tag;
    return view;
  }

  // For the library: a view of what stands behind the table of segments that this one begins with.
  [[nodiscard]] MessageView behind_table(std::size_t segments) const noexcept {
    const std::size_t table = detail::segment_table_bytes(segments);
    MessageView view = *this;
    view.memory_ |= segmented_mark;
    view.data_ += table;
    view.size_ -= table;
    return view;
  }
  // The same bytes, with a table in front of them if `segmented`.
  [[nodiscard]] MessageView with_table(bool segmented) const noexcept {
    MessageView view = *this;
    if (segmented) view.memory_ |= segmented_mark;
    return view;
  }
  [[nodiscard]] bool segmented() const noexcept { return (memory_ & segmented_mark) != 0; }
  // For the library: the memory that it lies in; null if it is empty.
  [[nodiscard]] detail::Block* block() const noexcept {
    return reinterpret_cast<detail::Block*>(memory_ & ~marks);
  }
  // For the library: a message in that memory, wherever its owner is. Only where sending it on is
  // all that is done with it: it is not counted as kept.
  [[nodiscard]] Message share() const noexcept;

  // The payload:
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // As Message::segments().
  [[nodiscard]] Segments segments() const noexcept;

  // 0 where the sender gave none.
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }
  // The payload as characters.
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(data_), size_};
  }

  // A message that lasts: never fails, and takes no memory from the heap. A message of at least
  // 1/16 of the memory that it lies in shares it. A smaller one is copied behind the one kept
  // before it, into memory of the context's receive pool (a block of four pages for many messages),
  // which is free again when the last message in it is released. All of it counts as the socket's
  // (SocketOptions::receive_bytes_max). Once that is spent, a small message shares the memory that
  // it lies in as well, and the senders are held back until some are released. Few messages that
  // are to last for very long are better copied: Message::copy_of(view.bytes(), view.tag()).
  // Of a KeptBatch, and of what QueuedPull::receive() gave, a message always shares the memory of
  // its page, up to 256 KiB with the default page size. Of an empty view: an empty message.
  [[nodiscard]] Message keep() const noexcept;

 private:
  static constexpr std::uintptr_t shared_mark = 1;
  static constexpr std::uintptr_t segmented_mark = 4;
  static constexpr std::uintptr_t marks = shared_mark | segmented_mark;

  // The block, with marks: its owner may be on another thread; a table stands in front of data_.
  std::uintptr_t memory_;
  const std::byte* data_;
  std::size_t size_;
  std::uint64_t tag_;
};

}  // namespace netio
