// A number is read as digits and decimals, and multiplied by its unit in whole numbers.
#include "channels/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "channels/bad_value.hpp"
#include "channels/words.hpp"

namespace netio::detail {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::uint64_t kilo = 1000;
constexpr std::uint64_t kibi = 1024;
constexpr std::array count_units{
    Unit{"", 1},      Unit{"k", kilo}, Unit{"M", kilo* kilo},  Unit{"G", kilo* kilo* kilo},
    Unit{"Ki", kibi}, Unit{"K", kilo}, Unit{"Mi", kibi* kibi}, Unit{"Gi", kibi* kibi* kibi}};
constexpr std::array byte_units{Unit{"", 1},
                                Unit{"B", 1},
                                Unit{"k", kilo},
                                Unit{"K", kilo},
                                Unit{"M", kilo* kilo},
                                Unit{"G", kilo* kilo* kilo},
                                Unit{"T", kilo* kilo* kilo* kilo},
                                Unit{"Ki", kibi},
                                Unit{"Mi", kibi* kibi},
                                Unit{"Gi", kibi* kibi* kibi},
                                Unit{"Ti", kibi* kibi* kibi* kibi}};
constexpr std::uint64_t second = 1'000'000'000;
constexpr std::array time_units{Unit{"", second},
                                Unit{"s", second},
                                Unit{"ms", second / 1000},
                                Unit{"us", second / 1'000'000},
                                Unit{"ns", 1},
                                Unit{"min", 60 * second},
                                Unit{"m", 60 * second},
                                Unit{"h", 3600 * second}};
constexpr std::uint64_t year = 365 * 24 * 3600 * second;

// What a key wants to be given.
struct Wanted {
  std::string_view what;
  std::string_view how;
};
constexpr Wanted a_number{"a whole number", "write digits alone, such as 1000"};
constexpr Wanted a_count{"a count", "write it like 1000, 10k or 1.5M"};
constexpr Wanted a_size{"a number of bytes", "write it like 64, 64KiB or 1.5MB, up to 1TiB"};
constexpr Wanted a_time{"a time",
                        "write it like 5 (seconds), 2.5s, 10ms, 2min or 1h, up to a year"};
constexpr Wanted a_bool{"true or false", "write true or false"};
constexpr Wanted a_share{"a share", "write a number from 0 to 1, such as 0.75"};
constexpr Wanted some_tags{"a set of tags",
                           "write it like 7, 0x1f or 3-9, several as 3-9;12, or all, or none"};

[[noreturn]] void refuse(std::string_view text, const Wanted& wanted) {
  if (text.empty()) throw BadValue("the value is missing", std::string(wanted.how));
  throw BadValue(in_quotes(text) + " is not " + std::string(wanted.what), std::string(wanted.how));
}

[[noreturn]] void refuse_range(std::string_view text, std::int64_t least, std::uint64_t most) {
  throw BadValue(in_quotes(text) + " is out of range",
                 "it is from " + std::to_string(least) + " to " + std::to_string(most));
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// The number in front of a unit, times the unit. It must come out whole.
std::uint64_t parse_with_unit(std::string_view text, std::span<const Unit> units,
                              const Wanted& wanted) {
  // from_chars takes "inf" and "-1" for a double.
  if (text.empty() || !is_digit(text.front())) refuse(text, wanted);
  const char* const end = text.data() + text.size();
  std::uint64_t whole = 0;
  double real = 0;
  const auto whole_end = std::from_chars(text.data(), end, whole);
  const auto real_end = std::from_chars(text.data(), end, real, std::chars_format::fixed);
  if (real_end.ec != std::errc()) refuse(text, wanted);
  std::string_view unit(real_end.ptr, static_cast<std::size_t>(end - real_end.ptr));
  if (unit.size() > 1 && unit.front() == ' ') unit.remove_prefix(1);
  if (units.data() == byte_units.data() && unit.size() > 1 && unit.ends_with('B')) {
    unit.remove_suffix(1);
  }
  const auto known = std::ranges::find(units, unit, &Unit::name);
  if (known == units.end()) refuse(text, wanted);
  if (whole_end.ptr == real_end.ptr) {
    if (whole_end.ec != std::errc() ||
        whole > std::numeric_limits<std::uint64_t>::max() / known->factor) {
      refuse(text, wanted);
    }
    return whole * known->factor;
  }
  const double product = real * static_cast<double>(known->factor);
  // Up to 2^53 a double holds every whole number.
  if (!(product < 9007199254740992.0)) refuse(text, wanted);
  const double rounded = std::round(product);
  if (std::abs(product - rounded) > 1e-9 * std::max(1.0, product)) refuse(text, wanted);
  return static_cast<std::uint64_t>(rounded);
}

std::uint64_t parse_tag(std::string_view text, std::string_view whole) {
  std::string_view digits = text;
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (hexadecimal) digits.remove_prefix(2);
  std::uint64_t tag = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, tag, hexadecimal ? 16 : 10);
  if (error == std::errc::result_out_of_range) {
    throw BadValue(in_quotes(whole) + " is too large", "a tag has 64 bits");
  }
  if (error != std::errc() || at != end) refuse(whole, some_tags);
  return tag;
}

TagRange parse_tag_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const std::uint64_t tag = parse_tag(text, text);
    return {tag, tag};
  }
  const TagRange range{parse_tag(text.substr(0, dash), text),
                       parse_tag(text.substr(dash + 1), text)};
  if (range.last < range.first) {
    throw BadValue(in_quotes(text) + " ends before it begins", "write the lower tag first");
  }
  return range;
}

}  // namespace

std::int64_t parse_number(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || at != end || error == std::errc::invalid_argument) refuse(text, a_number);
  if (error != std::errc() || number < least || number > most) {
    refuse_range(text, least, static_cast<std::uint64_t>(most));
  }
  return number;
}

std::size_t parse_count(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const std::uint64_t count = parse_with_unit(text, count_units, a_count);
  if (count < least || count > most) refuse_range(text, static_cast<std::int64_t>(least), most);
  return static_cast<std::size_t>(count);
}

std::size_t parse_bytes(std::string_view text, std::uint64_t least) {
  const std::uint64_t bytes = parse_with_unit(text, byte_units, a_size);
  if (bytes < least || bytes > bytes_most) {
    throw BadValue(
        in_quotes(text) + " is out of range",
        "it is from " + std::to_string(least) + (least == 1 ? " byte" : " bytes") + " to 1 TiB");
  }
  return static_cast<std::size_t>(bytes);
}

std::chrono::nanoseconds parse_time(std::string_view text) {
  const std::uint64_t time = parse_with_unit(text, time_units, a_time);
  if (time > year) refuse(text, a_time);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(time));
}

std::chrono::nanoseconds parse_some_time(std::string_view text) {
  const std::chrono::nanoseconds time = parse_time(text);
  if (time.count() == 0)
    throw BadValue(in_quotes(text) + " is no time at all", "it is more than 0");
  return time;
}

bool parse_bool(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  refuse(text, a_bool);
}

double parse_share(std::string_view text) {
  double share = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || !is_digit(text.front())) refuse(text, a_share);
  const auto [at, error] = std::from_chars(text.data(), end, share, std::chars_format::fixed);
  if (error != std::errc() || at != end || share > 1) refuse(text, a_share);
  return share;
}

std::vector<TagRange> parse_tags(std::string_view text) {
  if (text == "all") return {every_tag};
  if (text == "none") return {};
  std::vector<TagRange> ranges;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(";,", begin), text.size());
    std::string_view one = text.substr(begin, end - begin);
    if (begin != 0 && one.starts_with(' ')) one.remove_prefix(1);
    if (one.empty()) refuse(text, some_tags);
    ranges.push_back(parse_tag_range(one));
    begin = end + 1;
  }
  return ranges;
}

}  // namespace netio::detail
