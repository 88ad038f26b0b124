// Messages of several segments: how they are sent, and how they are read.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace netio {

class Message;

// The most that a message may have.
inline constexpr std::size_t segments_max = 64;

// One segment of a message that is to be sent: bytes that are borrowed until the call returns, or a
// message that was kept or allocated.
class Segment {
 public:
  // Of bytes: of whatever send() takes.
  template <std::convertible_to<std::span<const std::byte>> Bytes>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Segment(const Bytes& bytes) noexcept : bytes_(std::span<const std::byte>(bytes)) {}
  // Of a text.
  template <std::convertible_to<std::string_view> Text>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Segment(const Text& text) noexcept : bytes_(std::as_bytes(std::span(std::string_view(text)))) {}
  // The message is empty afterwards if the answer is ok, and untouched otherwise. Its tag is not
  // sent.
  inline Segment(Message&& message) noexcept;  // NOLINT(google-explicit-constructor)

  // The bytes:
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  // For the library: the message, or null.
  [[nodiscard]] Message* message() const noexcept { return message_; }

 private:
  std::span<const std::byte> bytes_;
  Message* message_ = nullptr;
};

namespace detail {

// On the wire a message of segments begins with a table: the size of each segment, and their
// number, 8 bytes each (docs/wire.md). Each segment begins at a multiple of 8.
inline constexpr std::size_t segment_word = sizeof(std::uint64_t);

inline std::uint64_t load_segment_word(const std::byte* from) noexcept {
  using Word [[gnu::may_alias]] = std::uint64_t;
  return __atomic_load_n(reinterpret_cast<const Word*>(from), __ATOMIC_RELAXED);
}
[[nodiscard]] constexpr std::size_t segment_padded(std::size_t bytes) noexcept {
  return (bytes + (segment_word - 1)) & ~(segment_word - 1);
}
[[nodiscard]] constexpr std::size_t segment_table_bytes(std::size_t segments) noexcept {
  return (segments + 1) * segment_word;
}
// Whether a payload begins with a table of so many segments, which make up the rest of it. A peer
// may own the memory: each word is read once.
[[nodiscard]] inline bool has_segments(const std::byte* payload, std::size_t bytes,
                                       std::size_t segments) noexcept {
  const std::size_t table = segment_table_bytes(segments);
  if (segments > segments_max || bytes < table) return false;
  if (load_segment_word(payload + table - segment_word) != segments) return false;
  std::size_t left = bytes - table;
  for (std::size_t i = 0; i < segments; ++i) {
    const std::uint64_t size = load_segment_word(payload + i * segment_word);
    if (size > left) return false;
    // What stands between two segments is part of the payload; behind the last one nothing is.
    const std::size_t padded = i + 1 < segments ? segment_padded(size) : size;
    if (padded > left) return false;
    left -= padded;
  }
  return left == 0;
}

}  // namespace detail

// The segments of a message, in order, each beginning at a multiple of 8 bytes. Valid as long as
// the message or the view that gave them. A message that was not sent in segments has one.
class Segments {
 public:
  // For the library: of these bytes, in front of which there is a table of so many segments.
  Segments(std::span<const std::byte> bytes, std::size_t count) noexcept {
    const std::byte* const sizes = bytes.data() - detail::segment_table_bytes(count);
    std::size_t at = 0;
    while (count_ < count) {
      const std::uint64_t size = detail::load_segment_word(sizes + count_ * detail::segment_word);
      if (at > bytes.size() || size > bytes.size() - at) return;
      places_[count_++] = bytes.subspan(at, static_cast<std::size_t>(size));
      at += detail::segment_padded(static_cast<std::size_t>(size));
    }
  }
  // For the library: of a message that was not sent in segments.
  explicit Segments(std::span<const std::byte> bytes) noexcept : count_(1) { places_[0] = bytes; }

  // How many there are, up to segments_max. On shm a peer that breaks the rules may change its
  // message later: then there may be fewer.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  // Whether there are none.
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // Below size().
  [[nodiscard]] std::span<const std::byte> operator[](std::size_t index) const noexcept {
    return places_[index];
  }
  // All of them, in order:
  [[nodiscard]] const std::span<const std::byte>* begin() const noexcept { return places_.data(); }
  [[nodiscard]] const std::span<const std::byte>* end() const noexcept { return begin() + count_; }

 private:
  std::array<std::span<const std::byte>, segments_max> places_;
  std::size_t count_ = 0;
};

}  // namespace netio
