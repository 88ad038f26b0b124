// Text from a peer. See text.hpp.
#include "wire/text.hpp"

#include <cstdint>

namespace netio::detail {
namespace {

constexpr std::uint8_t byte_at(std::string_view text, std::size_t index) noexcept {
  return static_cast<std::uint8_t>(text[index]);
}
constexpr bool is_continuation(std::uint8_t byte) noexcept { return (byte & 0xc0U) == 0x80U; }

// Bytes of the printable character that `text` (not empty) starts with; 0 if it is none.
// The ranges of the second byte are those of the Unicode standard, table 3-7.
std::size_t printable_bytes(std::string_view text) noexcept {
  const std::uint8_t first = byte_at(text, 0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (first < 0xc2 || first > 0xf4 || text.size() < 2) return 0;
  const std::size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xbf;
  if (first == 0xc2) low = 0xa0;   // below: the control characters U+0080 to U+009F
  if (first == 0xe0) low = 0xa0;   // below: shorter forms exist
  if (first == 0xed) high = 0x9f;  // above: surrogates
  if (first == 0xf0) low = 0x90;   // below: shorter forms exist
  if (first == 0xf4) high = 0x8f;  // above: past the last character
  if (byte_at(text, 1) < low || byte_at(text, 1) > high || text.size() < bytes) return 0;
  for (std::size_t index = 2; index < bytes; ++index) {
    if (!is_continuation(byte_at(text, index))) return 0;
  }
  return bytes;
}

}  // namespace

std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) noexcept {
  if (text.size() <= bytes_max) return text;
  std::size_t bytes = bytes_max;
  // A character has at most three continuation bytes; more are no UTF-8, cut anywhere.
  while (bytes > 0 && bytes + 3 > bytes_max && is_continuation(byte_at(text, bytes))) --bytes;
  return text.substr(0, bytes);
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out;
  text = cut_utf8(text, bytes_max);
  while (!text.empty()) {
    const std::size_t bytes = printable_bytes(text);
    if (bytes == 0) {
      out += '?';
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace netio::detail
