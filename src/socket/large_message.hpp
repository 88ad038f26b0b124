// A message that an OutgoingStream posts in parts, or that waits to be posted whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include <netio/message.hpp>

#include "memory/block.hpp"
#include "transport/link.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

struct LargeMessage {
  Lease lease;
  const std::byte* data = nullptr;
  std::uint64_t total = 0;  // with the front
  std::uint64_t done = 0;
  Label label;
  PostBody front;  // see Post

  [[nodiscard]] bool active() const noexcept { return static_cast<bool>(lease); }
  [[nodiscard]] std::uint64_t left() const noexcept { return total - done; }
  // Without the front.
  [[nodiscard]] std::span<const std::byte> body() const noexcept {
    return {data, total - front.bytes};
  }
  // The next part, of up to so many bytes: of the front, or of what stands behind it.
  [[nodiscard]] PostBody next(std::uint64_t most) const noexcept {
    if (done < front.bytes) {
      return {front.lease, front.data + done, std::min(front.bytes - done, most)};
    }
    return {lease, data + (done - front.bytes), std::min(left(), most)};
  }
  // Hands its memory out as one message; empty if it had to be put together, and there is no memory
  // for that.
  [[nodiscard]] Message take() noexcept try {
    if (front.bytes == 0) return {lease.release(), body(), 0};
    Message whole = Message::of_size(total, 0);
    std::byte* const to = whole.writable_bytes().data();
    std::memcpy(to, front.data, front.bytes);
    std::memcpy(to + front.bytes, data, total - front.bytes);
    return whole;
  } catch (const std::bad_alloc&) {
    return {};
  }
};

}  // namespace netio::detail
