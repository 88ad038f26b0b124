// Words of people: quoted so that a terminal can show them, and the nearest of those that are
// known. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace netio::detail {

// In quotation marks, at most 60 bytes of it; bytes that cannot be printed are shown as '?'.
[[nodiscard]] std::string in_quotes(std::string_view text);

// The nearest of the words, without regard to capitals; empty if none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> words);

// "did you mean "address"?", or "it is one of a, b and c" if no word is near.
[[nodiscard]] std::string meant(std::string_view word, std::span<const std::string_view> words);

// "a, b and c", as a terminal can show them
[[nodiscard]] std::string listed(std::span<const std::string_view> words);

}  // namespace netio::detail
