// The ring of an ofi link as it is told and used (docs/wire.md, "The ring"): where the slots lie
// that the peer writes pages to, and the word that comes with each write. Bytes, and no device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/page.hpp"

namespace netio::detail {

// What a side offers in its hello: memory that the other writes to. No slots: nothing is offered.
struct WireRing {
  static constexpr std::uint32_t slots_max = 1024;
  static constexpr std::uint32_t notices_max = 2048;
  // A slot takes a page of `slot_bytes`, header included.
  static constexpr std::uint32_t slot_bytes_min = 256;
  static constexpr std::uint32_t slot_bytes_max = 1U << 30U;

  std::uint64_t address = 0;  // of the first slot; slot i begins i * slot_bytes behind it
  std::uint64_t key = 0;
  std::uint64_t notices_address = 0;
  std::uint64_t notices_key = 0;
  std::uint32_t slots = 0;
  std::uint32_t slot_bytes = 0;
  std::uint32_t notices = 0;  // as many as messages may be on their way to this side

  [[nodiscard]] bool makes_sense() const noexcept {
    return slots >= 1 && slots <= slots_max && slot_bytes >= slot_bytes_min &&
           slot_bytes <= slot_bytes_max && slot_bytes % wire_align == 0 && notices >= 1 &&
           notices <= notices_max;
  }
  bool operator==(const WireRing&) const = default;
};

// A page that needs no slot: one without a body, or a good-bye. Behind it the slots that are the
// peer's to write to again.
struct RingNotice {
  static constexpr std::size_t slots_max = 12;
  std::array<std::byte, page_header_bytes + wire_align> page{};
  std::array<std::uint16_t, slots_max> slots{};
};
static_assert(sizeof(RingNotice) == 64);

// The immediate of a write.
class RingWord {
 public:
  constexpr explicit RingWord(std::uint32_t word) noexcept : word_(word) {}
  // `bytes` as they are written, pages back to back; 0: one page, as its header says.
  static constexpr RingWord page(std::uint32_t slot, std::size_t bytes) noexcept {
    const std::size_t units = bytes / wire_align;
    return RingWord((units <= count_max ? static_cast<std::uint32_t>(units) << index_bits : 0) |
                    slot);
  }
  static constexpr RingWord notice(std::uint32_t place, std::uint32_t slots) noexcept {
    return RingWord(notice_flag | slots << index_bits | place);
  }

  // More pages than fit in so much do not go in one write.
  [[nodiscard]] static constexpr std::size_t pages_bytes_max() noexcept {
    return std::size_t{count_max} * wire_align;
  }
  [[nodiscard]] constexpr std::uint32_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr bool is_notice() const noexcept { return (word_ & notice_flag) != 0; }
  // Of a slot, or of a notice.
  [[nodiscard]] constexpr std::uint32_t index() const noexcept {
    return word_ & ((1U << index_bits) - 1);
  }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return std::size_t{count()} * wire_align;
  }
  [[nodiscard]] constexpr std::uint32_t slots_told() const noexcept { return count(); }

 private:
  static constexpr unsigned index_bits = 11;
  static constexpr std::uint32_t notice_flag = 1U << 31U;
  static constexpr std::uint32_t count_max = (1U << (31 - index_bits)) - 1;
  [[nodiscard]] constexpr std::uint32_t count() const noexcept {
    return word_ >> index_bits & count_max;
  }

  std::uint32_t word_;
};

}  // namespace netio::detail
