// The distance of two words is the number of letters to add, take away, change or exchange with the
// next one.
#include "channels/words.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace netio::detail {

namespace {

constexpr std::size_t shown_max = 60;
constexpr std::size_t listed_max = 60;
constexpr std::size_t word_max = 64;  // a longer one is like nothing that is known

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::size_t distance(std::string_view from, std::string_view to) {
  // The rows of the last two letters of `from`, and the one at hand.
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const bool same = lower(from[i]) == lower(to[j]);
      row[j + 1] = std::min({last[j] + (same ? 0 : 1), last[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && lower(from[i]) == lower(to[j - 1]) &&
          lower(from[i - 1]) == lower(to[j])) {
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
      }
    }
  }
  return row.back();
}

// What a terminal can show, and not too much of it.
std::string printable(std::string_view text) {
  std::string shown(text.substr(0, shown_max));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > shown_max ? shown + "..." : shown;
}

}  // namespace

std::string in_quotes(std::string_view text) { return '"' + printable(text) + '"'; }

std::string_view nearest(std::string_view word, std::span<const std::string_view> words) {
  if (word.size() > word_max) return {};
  std::string_view best;
  std::size_t least = word.size() / 3 + 2;
  for (const std::string_view one : words) {
    const std::size_t far = distance(word, one);
    if (far < least && far < one.size()) {
      least = far;
      best = one;
    }
  }
  return best;
}

std::string meant(std::string_view word, std::span<const std::string_view> words) {
  const std::string_view near = nearest(word, words);
  return near.empty() ? "it is one of " + listed(words) : "did you mean " + in_quotes(near) + "?";
}

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == listed_max) return text + " and " + std::to_string(words.size() - i) + " more";
    if (i != 0) text += i + 1 == words.size() ? " and " : ", ";
    text += printable(words[i]);
  }
  return text;
}

}  // namespace netio::detail
