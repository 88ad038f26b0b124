#include "tags.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>

#include <fmt/format.h>

#include "units.hpp"

namespace netio::cli {

namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument(
      fmt::format("\"{}\" is no tag: a tag is a number such as 7 or 0x1f, several are 3-9", text));
}

std::uint64_t parse_tag(std::string_view text, std::string_view whole) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t tag = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), tag, hexadecimal ? 16 : 10);
  if (error == std::errc::result_out_of_range) {
    throw std::invalid_argument(fmt::format("\"{}\": a tag has 64 bits", whole));
  }
  if (error != std::errc() || end != text.data() + text.size()) refuse(whole);
  return tag;
}

}  // namespace

TagRange parse_tag_range(std::string_view text) {
  std::string_view between = "..";
  std::size_t at = text.find(between);
  if (at == std::string_view::npos) at = text.find(between = "-");
  if (at == std::string_view::npos) {
    const std::uint64_t tag = parse_tag(text, text);
    return {tag, tag};
  }
  const std::string_view first = text.substr(0, at);
  const std::string_view last = text.substr(at + between.size());
  const TagRange range{parse_tag(first, text), parse_tag(last, text)};
  if (range.last < range.first) {
    throw std::invalid_argument(
        fmt::format("\"{}\" ends before it begins: write {}{}{}", text, last, between, first));
  }
  return range;
}

std::vector<TagRange> parse_tags(std::string_view text) {
  std::vector<TagRange> ranges;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    ranges.push_back(parse_tag_range(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return ranges;
}

std::string tags_text(std::span<const TagRange> ranges) {
  static constexpr std::size_t named_max = 4;
  if (ranges.empty()) return "no tags";
  if (ranges.size() == 1 && ranges[0] == every_tag) return "all tags";
  const bool single = ranges.size() == 1 && ranges[0].first == ranges[0].last;
  std::string text = single ? "tag " : "tags ";
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (i == named_max) return text + fmt::format(" and {} more", grouped(ranges.size() - i));
    const TagRange& range = ranges[i];
    text += fmt::format("{}{}", i == 0 ? "" : ", ", range.first);
    if (range.last != range.first) text += fmt::format("-{}", range.last);
  }
  return text;
}

}  // namespace netio::cli
