#include "bench/delay.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "units.hpp"

namespace netio::cli {

namespace {

// Those whose end is in code that has points, and which a message passes once.
constexpr std::array<std::string_view, 8> parts = {"encode",  "post", "write",  "doorbell",
                                                   "wake-up", "read", "decode", "call-back"};

}  // namespace

std::string delayed_parts() { return fmt::format("{}", fmt::join(parts, ", ")); }

std::string parse_delay(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string part = text.substr(0, equals);
  if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
    throw std::invalid_argument(
        fmt::format("PART=TIME with one of the parts {}, not {}", delayed_parts(), text));
  }
  if (equals == text.size()) {
    throw std::invalid_argument(fmt::format("say how long, such as {}=200us", part));
  }
  const std::chrono::nanoseconds time = parse_duration(text.substr(equals + 1));
  if (time < std::chrono::nanoseconds(1) || time > std::chrono::seconds(1)) {
    throw std::invalid_argument("a part is delayed by 1ns to 1s");
  }
  return fmt::format("{}={}", part, time.count());
}

}  // namespace netio::cli
