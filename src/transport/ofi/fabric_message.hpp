// One message of a fabric, as it lies in a receive: pages back to back, or one page that says where
// a lent message lies (docs/wire.md). Bytes, and no device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/frame.hpp"
#include "wire/page.hpp"

namespace netio::detail {

// The last words of a page that lends a message: address and key.
inline constexpr std::size_t place_bytes = 2 * sizeof(std::uint64_t);

class FabricMessage {
 public:
  explicit FabricMessage(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  // Reads the header of the next page, whose body is complete. False behind the last page, and if
  // the page is defective.
  bool next(PageHeader& header) noexcept {
    if (at_ != 0 && at_ == bytes_.size()) return false;
    const std::size_t left = bytes_.size() - at_;
    header = left < page_header_bytes ? PageHeader() : load_page_header(bytes_.data() + at_);
    defect_ = defect_of(header, left);
    if (defect_ != nullptr) return false;
    at_ += page_header_bytes + header.bytes;
    empty_ = empty_ && header.bytes == 0;
    return true;
  }
  // What is wrong with the page that next() refused; null if nothing is.
  [[nodiscard]] const char* defect() const noexcept { return defect_; }
  // None of the pages so far has a body.
  [[nodiscard]] bool empty() const noexcept { return empty_; }

 private:
  [[nodiscard]] const char* defect_of(const PageHeader& header, std::size_t left) const noexcept {
    constexpr std::uint16_t flags = page_flag::known | page_flag::lent;
    if (left < page_header_bytes || header.bytes > left - page_header_bytes) {
      return "sent a page of another size than it says";
    }
    const bool lent = (header.flags & page_flag::lent) != 0;
    if (lent && (at_ != 0 || header.bytes != left - page_header_bytes)) {
      return "lent a message in company";
    }
    return detail::defect(header, flags);
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool empty_ = true;
  const char* defect_ = nullptr;
};

// What a page says that lends a message.
struct LentMessage {
  std::array<std::byte, frame_prefix_bytes_max> prefix{};  // of the frame: its word, and a number
  std::size_t prefix_bytes = 0;
  std::uint32_t size = 0;  // of the payload; not 0
  // What the payload begins with, if that came with the page; the rest of it is lent.
  std::span<const std::byte> front;
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

// What is wrong with such a page; null, and `lent` is set, if nothing is.
[[nodiscard]] inline const char* parse(const PageHeader& header, std::span<const std::byte> body,
                                       LentMessage& lent) noexcept {
  if (header.messages != 1 || body.size() < frame_word_bytes + place_bytes) {
    return "lends something that is not one message";
  }
  const std::uint64_t word = load_u64(body.data());
  const auto flags = static_cast<std::uint32_t>(word >> 32U);
  lent.size = static_cast<std::uint32_t>(word);
  lent.prefix_bytes = Label(0, flags).bytes();
  if (flags_of_message(flags) != flags || (flags & frame_flag::numbered) == frame_flag::numbered ||
      body.size() < lent.prefix_bytes + place_bytes || lent.size == 0) {
    return "lends a message in a frame of the wrong kind";
  }
  lent.front = body.subspan(lent.prefix_bytes, body.size() - place_bytes - lent.prefix_bytes);
  const bool segmented = (flags & frame_flag::segmented) != 0;
  if (!lent.front.empty() &&
      (!segmented || lent.front.size() % wire_align != 0 || lent.front.size() >= lent.size)) {
    return "lends a message whose beginning is not that of its segments";
  }
  std::memcpy(lent.prefix.data(), body.data(), lent.prefix_bytes);
  const std::byte* const place = body.data() + body.size() - place_bytes;
  lent.address = load_u64(place);
  lent.key = load_u64(place + sizeof(std::uint64_t));
  return nullptr;
}

}  // namespace netio::detail
