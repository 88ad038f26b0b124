// Bytes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace netio::detail {

// Two digits behind `text`.
inline void append_hex(std::string& text, std::uint8_t byte) {
  constexpr const char* digits = "0123456789abcdef";
  text += {digits[byte >> 4U], digits[byte & 15U]};
}

}  // namespace netio::detail
