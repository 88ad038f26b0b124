// Text from a peer: made safe to print, and cut where a character ends. Stateless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace netio::detail {

// The longest start of `text` of at most `bytes_max` bytes that does not cut a character.
[[nodiscard]] std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) noexcept;

// UTF-8 as it is, at most `bytes_max` bytes of it; '?' for every control character (C1 included:
// terminals obey them) and for every byte that is not UTF-8.
[[nodiscard]] std::string printable(std::string_view text, std::size_t bytes_max);

}  // namespace netio::detail
