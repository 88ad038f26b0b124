// The 32-byte header before every page, little-endian (docs/wire.md). Bytes, and nothing else.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace netio::detail {

static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian and is read in place; a big-endian port must swap");
static_assert(sizeof(std::size_t) == 8, "sums of 32-bit sizes must not wrap");

inline constexpr std::size_t page_header_bytes = 32;
inline constexpr std::size_t wire_align = 8;

// Rounds up to the wire's alignment. Callers bound `bytes` first, so that it cannot wrap.
constexpr std::size_t wire_padded(std::size_t bytes) noexcept {
  return (bytes + (wire_align - 1)) & ~(wire_align - 1);
}

struct PageHeader {
  std::uint32_t bytes = 0;     // of the body that follows; a multiple of 8
  std::uint32_t messages = 0;  // that end in this page
  std::uint16_t flags = 0;
  std::uint16_t credits = 0;  // so many pages more may be sent to who sends this one
  std::uint16_t fetched = 0;  // so many messages more were fetched from where they were lent
  std::uint16_t reserved = 0;
  std::uint64_t sequence = 0;      // of the first message with bytes in this page
  std::uint64_t acknowledged = 0;  // how many messages of the peer were delivered here

  bool operator==(const PageHeader&) const = default;
};
static_assert(sizeof(PageHeader) == page_header_bytes);

namespace page_flag {
inline constexpr std::uint16_t control = 1U << 0U;  // control frames only; takes no sequence
// In place of its payload, the one message says where it lies: the receiver fetches it. Only on
// fabrics.
inline constexpr std::uint16_t lent = 1U << 1U;
inline constexpr std::uint16_t redelivered = 1U << 2U;  // was sent before, on another connection
inline constexpr std::uint16_t known = control;
// Never on a wire: a link hands out the first messages of a page, and later the rest as another.
inline constexpr std::uint16_t begun = 1U << 15U;
}  // namespace page_flag

// A good-bye stands alone in its page, and is the only control frame without a payload.
[[nodiscard]] constexpr bool says_bye(const PageHeader& header) noexcept {
  return (header.flags & page_flag::control) != 0 && header.bytes == wire_align;
}

inline void store(std::byte* to, const PageHeader& header) noexcept {
  std::memcpy(to, &header, sizeof header);
}
// Reads 8 aligned bytes exactly once: where the peer can write to them, a second look might differ
// from the one that was checked, and a plain load may be repeated by the compiler.
inline std::uint64_t load_once(const std::byte* from) noexcept {
  using Word [[gnu::may_alias]] = std::uint64_t;
  return __atomic_load_n(reinterpret_cast<const Word*>(from), __ATOMIC_RELAXED);
}
inline PageHeader load_page_header(const std::byte* from) noexcept {
  return std::bit_cast<PageHeader>(
      std::array{load_once(from), load_once(from + 8), load_once(from + 16), load_once(from + 24)});
}

// What is wrong with a header whatever the peer negotiated; null if nothing is.
[[nodiscard]] constexpr const char* defect(const PageHeader& header,
                                           std::uint16_t flags = page_flag::known) noexcept {
  if (header.bytes % wire_align != 0) return "page size is not a multiple of 8";
  if ((header.flags & ~flags) != 0) {
    return (header.flags & page_flag::redelivered) != 0
               ? "page sent again, though redelivery was not offered to be taken"
               : "unknown page flags";
  }
  if (header.reserved != 0 || (header.fetched != 0 && (flags & page_flag::lent) == 0)) {
    return "reserved page field is not zero";
  }
  // Every message takes a frame word at least.
  if (header.messages > header.bytes / wire_align) return "more messages than the page can hold";
  if ((header.flags & page_flag::control) != 0 && header.messages != 0) {
    return "messages in a control page";
  }
  return nullptr;
}

// The same of a page that is larger than the receiver's page_bytes_max: it holds one message. Many
// messages, or control frames, would keep the receiver busy for as long as the page is large.
[[nodiscard]] constexpr const char* large_page_defect(const PageHeader& header) noexcept {
  if ((header.flags & page_flag::control) != 0) return "sent a control page above page_bytes_max";
  if (header.messages > 1) return "sent several messages in a page above page_bytes_max";
  return nullptr;
}

}  // namespace netio::detail
