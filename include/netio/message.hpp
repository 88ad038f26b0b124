// A received message: a MessageView while the call-back runs, a Message for as long as you like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <netio/export.hpp>

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
  // Not empty.
  explicit operator bool() const noexcept { return block_ != nullptr; }

  // Exchanges two messages.
  void swap(Message& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(tag_, other.tag_);
    std::swap(writable_, other.writable_);
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

 private:
  void release() noexcept;

  detail::Block* block_ = nullptr;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t tag_ = 0;
  bool writable_ = false;
};

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

  // The payload:
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

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

  std::uintptr_t memory_;  // the block, with the mark if its owner may be on another thread
  const std::byte* data_;
  std::size_t size_;
  std::uint64_t tag_;
};

}  // namespace netio
