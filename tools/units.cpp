#include "units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace netio::cli {

namespace {

// What is left of `text` behind the number it begins with.
struct Number {
  double value = 0;
  std::uint64_t whole = 0;
  bool is_whole = false;
  std::string_view unit;
};

[[noreturn]] void refuse(std::string_view text, std::string_view wanted) {
  throw std::invalid_argument(fmt::format("\"{}\" is not {}", text, wanted));
}

Number read_number(std::string_view text, std::string_view wanted) {
  Number number;
  const char* const end = text.data() + text.size();
  // from_chars takes no sign for unsigned types but "inf" and "-1" for doubles: digits only here.
  if (text.empty() || text.front() < '0' || text.front() > '9') refuse(text, wanted);
  const auto whole = std::from_chars(text.data(), end, number.whole);
  const auto real = std::from_chars(text.data(), end, number.value, std::chars_format::fixed);
  if (real.ec != std::errc()) refuse(text, wanted);
  number.is_whole = whole.ec == std::errc() && whole.ptr == real.ptr;
  number.unit = std::string_view(real.ptr, static_cast<std::size_t>(end - real.ptr));
  if (number.unit.starts_with(' ')) number.unit.remove_prefix(1);
  return number;
}

// Takes a prefix such as "k" or "Mi" off `unit`; 1 if there is none.
std::uint64_t take_prefix(std::string_view& unit) {
  static constexpr std::string_view letters = "kMGT";
  if (unit.empty()) return 1;
  const char letter = unit.front() == 'K' ? 'k' : unit.front();
  const std::size_t power = letters.find(letter);
  if (power == std::string_view::npos) return 1;
  unit.remove_prefix(1);
  std::uint64_t base = 1000;
  if (unit.starts_with('i')) {
    unit.remove_prefix(1);
    base = 1024;
  }
  std::uint64_t factor = base;
  for (std::size_t i = 0; i < power; ++i) factor *= base;
  return factor;
}

std::uint64_t times(const Number& number, std::uint64_t factor, std::string_view text,
                    std::string_view wanted) {
  if (number.is_whole) {
    if (number.whole > std::numeric_limits<std::uint64_t>::max() / factor) refuse(text, wanted);
    return number.whole * factor;
  }
  const double product = number.value * static_cast<double>(factor);
  // Up to 2^53 a double holds every whole number.
  if (product > 9007199254740992.0 || product != std::floor(product)) refuse(text, wanted);
  return static_cast<std::uint64_t>(product);
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
  static constexpr std::string_view wanted = "a number of bytes, such as 64, 64KiB or 1.5MB";
  const Number number = read_number(text, wanted);
  std::string_view unit = number.unit;
  const std::uint64_t factor = take_prefix(unit);
  if (unit == "B") unit = {};
  if (!unit.empty()) refuse(text, wanted);
  return times(number, factor, text, wanted);
}

std::uint64_t parse_count(std::string_view text) {
  static constexpr std::string_view wanted = "a count, such as 1000, 10k or 1.5M";
  const Number number = read_number(text, wanted);
  std::string_view unit = number.unit;
  const std::uint64_t factor = take_prefix(unit);
  if (!unit.empty()) refuse(text, wanted);
  return times(number, factor, text, wanted);
}

Rate parse_rate(std::string_view text) {
  static constexpr std::string_view wanted =
      "a rate: messages a second (50k), bytes (1GB/s) or bits (10Gb/s), more than zero";
  const Number number = read_number(text, wanted);
  std::string_view unit = number.unit;
  Rate rate{number.value * static_cast<double>(take_prefix(unit)), false};
  if (unit == "B/s") {
    rate.in_bytes = true;
  } else if (unit == "b/s" || unit == "bit/s") {
    rate.in_bytes = true;
    rate.per_second /= 8;
  } else if (!unit.empty() && unit != "/s" && unit != "Hz") {
    refuse(text, wanted);
  }
  // Below one in a day and above what nanoseconds can tell apart there is nothing to pace.
  if (rate.per_second < 1e-5 || rate.per_second > 1e15) refuse(text, wanted);
  return rate;
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
  static constexpr std::string_view wanted =
      "a time of at most a year, such as 5, 2.5s, 100ms, 2min or 1h";
  const Number number = read_number(text, wanted);
  double seconds = number.value;
  if (number.unit == "us") {
    seconds *= 1e-6;
  } else if (number.unit == "ms") {
    seconds *= 1e-3;
  } else if (number.unit == "min" || number.unit == "m") {
    seconds *= 60;
  } else if (number.unit == "h") {
    seconds *= 3600;
  } else if (!number.unit.empty() && number.unit != "s") {
    refuse(text, wanted);
  }
  if (!(seconds <= 365.0 * 86400)) refuse(text, wanted);
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

std::string grouped(std::uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string scaled(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 6> prefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t power = 0;
  // 999.5 would be printed as 1000.
  while (value >= 999.5 && power + 1 < prefixes.size()) {
    value /= 1000;
    ++power;
  }
  const int decimals = value >= 99.95 || value == std::floor(value) ? 0 : value >= 9.995 ? 1 : 2;
  std::string digits = fmt::format("{:.{}f}", value, decimals);
  if (prefixes[power].empty() && unit.empty()) return digits;
  // "2 MB", but "2 M messages".
  const bool symbol = unit.starts_with('B') || unit.starts_with('b');
  const std::string_view gap = symbol || prefixes[power].empty() ? "" : " ";
  return fmt::format("{} {}{}{}", digits, prefixes[power], gap, unit);
}

std::string binary_bytes(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t power = 0;
  std::uint64_t value = bytes;
  while (value != 0 && value % 1024 == 0 && power + 1 < units.size()) {
    value /= 1024;
    ++power;
  }
  if (power == 0 && bytes >= 1'000'000) return scaled(static_cast<double>(bytes), "B");
  return fmt::format("{} {}", grouped(value), units[power]);
}

std::string duration_text(double seconds) {
  if (seconds < 9.9995) return fmt::format("{:.3f} s", seconds);
  if (seconds < 99.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string time_text(std::uint64_t ns) {
  static constexpr std::array<std::string_view, 4> units = {"ns", "us", "ms", "s"};
  auto value = static_cast<double>(ns);
  std::size_t power = 0;
  while (value >= 999.5 && power + 1 < units.size()) {
    value /= 1000;
    ++power;
  }
  const int decimals = power == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[power]);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

}  // namespace netio::cli
