// A ring of bytes with one writer and one reader, each with its mark of how far it is, and its copy
// of the other's, which is looked up only when it no longer suffices.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "systems/raw/shm/memory.hpp"

namespace netio::bench::raw::shm {

// Each word in a pair of lines of its own, as processors fetch lines in pairs.
struct RingHead {
  alignas(128) std::atomic<std::uint64_t> written;  // bytes so far
  alignas(128) std::atomic<std::uint64_t> read;
  alignas(128) std::atomic<std::uint32_t> reader_sleeps;
  alignas(128) std::atomic<std::uint32_t> writer_sleeps;
};
static_assert(sizeof(RingHead) <= Memory::head_bytes);

// How a message lies in the ring: its length, then its bytes; large ones on lines of their own.
struct Frame {
  static constexpr std::size_t length_bytes = 8;
  static constexpr std::size_t line_bytes = 64;
  static constexpr std::size_t large_bytes_min = 4096;

  explicit Frame(std::size_t message_bytes) noexcept
      : message_at(message_bytes < large_bytes_min ? length_bytes : line_bytes),
        bytes((message_at + message_bytes + message_at - 1) & ~(message_at - 1)) {}

  std::size_t message_at;
  std::size_t bytes;  // of the whole
};

class RingWriter {
 public:
  explicit RingWriter(const Memory& memory) noexcept
      : head_(*reinterpret_cast<RingHead*>(memory.head())),
        ring_(memory.ring()),
        bytes_(memory.ring_bytes()) {}

  // Lets `fill` write `count` frames where they belong and publishes them; none of them as long as
  // there is no room for all. Whoever took what room there is would look at the reader's mark, and
  // be looked at, for each message: two ends that spin then go in step, at a tenth of the rate.
  template <typename Fill>
  bool write(std::size_t count, std::size_t frame_bytes, Fill&& fill) noexcept {
    const std::size_t bytes = count * frame_bytes;
    if (bytes_ - (at_ - read_) < bytes && !has_room(bytes)) return false;
    std::uint64_t at = at_;
    for (std::size_t i = 0; i < count; ++i, at += frame_bytes) fill(ring_ + (at & (bytes_ - 1)));
    at_ = at;
    head_.written.store(at, std::memory_order_release);
    return true;
  }
  [[nodiscard]] bool has_room(std::size_t bytes) noexcept {
    read_ = head_.read.load(std::memory_order_acquire);
    return bytes_ - (at_ - read_) >= bytes;
  }
  [[nodiscard]] RingHead& head() noexcept { return head_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  RingHead& head_;
  std::byte* ring_;
  std::uint64_t bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t read_ = 0;  // by the reader, when last looked at
};

class RingReader {
 public:
  explicit RingReader(const Memory& memory) noexcept
      : head_(*reinterpret_cast<RingHead*>(memory.head())),
        ring_(memory.ring()),
        bytes_(memory.ring_bytes()),
        // The writer goes on while the last of what was written is read.
        freed_at_once_(bytes_ / 16) {}

  // Gives `take` all messages that were written, in place. False if there were none.
  template <typename Take>
  bool read(Take&& take) noexcept {
    const std::uint64_t written = head_.written.load(std::memory_order_acquire);
    if (written == at_) return false;
    std::uint64_t at = at_;
    while (at != written) {
      const std::uint64_t until = std::min(written, at + freed_at_once_);
      while (at < until) {
        const std::byte* const frame = ring_ + (at & (bytes_ - 1));
        std::uint64_t length = 0;
        std::memcpy(&length, frame, sizeof length);
        const Frame shape(length);
        take(std::span(frame + shape.message_at, length));
        at += shape.bytes;
      }
      head_.read.store(at, std::memory_order_release);
    }
    at_ = at;
    return true;
  }
  [[nodiscard]] bool has_news() const noexcept {
    return head_.written.load(std::memory_order_acquire) != at_;
  }
  [[nodiscard]] RingHead& head() noexcept { return head_; }

 private:
  RingHead& head_;
  const std::byte* ring_;
  std::uint64_t bytes_;
  std::uint64_t freed_at_once_;
  std::uint64_t at_ = 0;
};

}  // namespace netio::bench::raw::shm
