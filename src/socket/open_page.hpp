// A page that is being filled with whole messages: frames one behind the other in leased memory,
// immutable once it is closed. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "memory/block.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

class OpenPage {
 public:
  // What a message takes in a page; `bytes` is bounded by the caller, so that it cannot wrap.
  [[nodiscard]] static std::size_t frame_bytes(std::size_t bytes, Label label) noexcept {
    return label.bytes() + wire_padded(bytes);
  }

  // Frames of up to `body_max` bytes go into `page`.
  void open(Lease page, std::size_t body_max) noexcept {
    page_ = std::move(page);
    cursor_ = page_->data();
    end_ = cursor_ + body_max;
  }
  // A page with one message, which other peers are sent from the same memory: it takes no more.
  void open_shared(Lease page, std::size_t bytes) noexcept {
    page_ = std::move(page);
    cursor_ = end_ = page_->data() + bytes;
    messages_ = 1;
  }
  void close() noexcept {
    page_.reset();
    cursor_ = end_ = nullptr;
    messages_ = 0;
  }
  // Hands the memory out, and is closed.
  [[nodiscard]] Lease take() noexcept {
    Lease page = std::move(page_);
    close();
    return page;
  }
  // The memory comes back from a wire that did not take it: nothing has changed meanwhile.
  [[nodiscard]] Lease& lease() noexcept { return page_; }
  // Takes no more, and keeps what it has.
  void seal() noexcept { end_ = cursor_; }

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(page_); }
  [[nodiscard]] std::size_t room() const noexcept {
    return static_cast<std::size_t>(end_ - cursor_);
  }
  [[nodiscard]] std::uint32_t messages() const noexcept { return messages_; }
  [[nodiscard]] const std::byte* data() const noexcept { return page_->data(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_from(page_->data()); }
  // While the memory is with a wire that may not take it.
  [[nodiscard]] std::size_t bytes_from(const std::byte* begin) const noexcept {
    return static_cast<std::size_t>(cursor_ - begin);
  }
  [[nodiscard]] std::byte* cursor() const noexcept { return cursor_; }

  // There is room: the caller has looked.
  template <bool numbered>
  void append(std::span<const std::byte> message, Label label) noexcept {
    constexpr std::size_t prefix = frame_word_bytes + (numbered ? sizeof label.number : 0);
    const std::size_t padded = wire_padded(message.size());
    std::byte* const frame = cursor_;
    cursor_ = frame + prefix + padded;
    ++messages_;
    if (padded != message.size()) store_u64(cursor_ - wire_align, 0);
    store_u64(frame, frame_word(static_cast<std::uint32_t>(message.size()), label.flags));
    if constexpr (numbered) store_u64(frame + frame_word_bytes, label.number);
    if (!message.empty()) std::memcpy(frame + prefix, message.data(), message.size());
  }
  void append(std::span<const std::byte> message, Label label) noexcept {
    if (label.numbered()) {
      append<true>(message, label);
    } else {
      append<false>(message, label);
    }
  }
  // A message that the caller writes to where this says.
  [[nodiscard]] std::byte* add(std::size_t bytes, Label label) noexcept {
    std::byte* const frame = cursor_;
    cursor_ += frame_bytes(bytes, label);
    ++messages_;
    if (wire_padded(bytes) != 0) store_u64(cursor_ - wire_align, 0);
    store_u64(frame, frame_word(static_cast<std::uint32_t>(bytes), label.flags));
    if (label.numbered()) store_u64(frame + frame_word_bytes, label.number);
    return frame + label.bytes();
  }
  // The payload is in place already, behind room for word and tag, or for the word alone.
  void frame_in_place(std::size_t size, std::uint64_t tag) noexcept {
    store_u64(cursor_,
              frame_word(static_cast<std::uint32_t>(size), tag != 0 ? frame_flag::tagged : 0U));
    if (tag != 0) store_u64(cursor_ + frame_word_bytes, tag);
    const std::size_t padded = wire_padded(size);
    cursor_ += frame_bytes(size, tag);
    std::memset(cursor_ - padded + size, 0, padded - size);
    ++messages_;
  }
  // Frames that another page had.
  void append_frames(const std::byte* frames, std::size_t bytes, std::uint32_t messages) noexcept {
    std::memcpy(cursor_, frames, bytes);
    cursor_ += bytes;
    messages_ += messages;
  }

 private:
  // [page_->data(), cursor_) is taken; all null while closed.
  std::byte* cursor_ = nullptr;
  std::byte* end_ = nullptr;
  Lease page_;
  std::uint32_t messages_ = 0;
};

}  // namespace netio::detail
