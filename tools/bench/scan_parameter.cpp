#include "bench/scan_parameter.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::uint64_t kib = 1U << 10U;
constexpr std::uint64_t mib = 1U << 20U;
constexpr std::uint64_t gib = 1U << 30U;
// A line of a table each, and a turn of seconds in each round.
constexpr std::size_t values_max = 64;
// What an address takes of a ring is the address's to say. These are bounds of plain sense.
constexpr std::array<ParameterInfo, 6> parameters = {
    ParameterInfo{ScanParameter::slot_bytes, "slot_bytes", "slot of the ring", true, 1, gib,
                  "4KiB..32MiB", 0, Mode::unbuffered, true, false},
    ParameterInfo{ScanParameter::slots, "slots", "slots of the ring", false, 1, slots_max, "1..16",
                  0, Mode::unbuffered, true, false},
    ParameterInfo{ScanParameter::page_bytes, "page_bytes", "page", true, 4 * kib, 16 * mib,
                  "4KiB..1MiB", 64, Mode::buffered, false, false},
    ParameterInfo{ScanParameter::size, "size", "message", true, 8, gib, "64..32MiB", 0,
                  Mode::unbuffered},
    ParameterInfo{ScanParameter::window, "window", "window, messages or pages", false, 1, 1U << 15U,
                  "8..512", 64 * kib, Mode::unbuffered, true},
    ParameterInfo{ScanParameter::streams, "streams", "streams", false, 1, 64, "1..4", mib,
                  Mode::unbuffered}};

std::uint64_t parse_value(const ParameterInfo& info, const std::string& text) {
  const std::uint64_t value = info.bytes ? parse_bytes(text) : parse_count(text);
  check_value(info, value);
  return value;
}

// "A..B" or "A..B+STEP": the values from A to B.
void add_range(std::vector<std::uint64_t>& values, const ParameterInfo& info,
               const std::string& text, std::size_t dots) {
  const std::size_t plus = text.find('+', dots);
  const std::uint64_t first = parse_value(info, text.substr(0, dots));
  const std::uint64_t last = parse_value(info, text.substr(dots + 2, plus - dots - 2));
  const std::uint64_t step = plus == std::string::npos ? 0
                             : info.bytes              ? parse_bytes(text.substr(plus + 1))
                                                       : parse_count(text.substr(plus + 1));
  if (first > last) throw std::invalid_argument(fmt::format("\"{}\" goes down", text));
  if (plus != std::string::npos && step == 0) {
    throw std::invalid_argument(fmt::format("\"{}\" has steps of 0", text));
  }
  for (std::uint64_t value = first; value < last; value += step == 0 ? value : step) {
    check_value(info, value);
    values.push_back(value);
    if (values.size() > values_max) return;  // which is refused below
  }
  values.push_back(last);
}

}  // namespace

std::span<const ParameterInfo> all_parameters() { return parameters; }

const ParameterInfo& info_of(ScanParameter parameter) {
  return *std::find_if(parameters.begin(), parameters.end(),
                       [parameter](const auto& info) { return info.parameter == parameter; });
}

void check_value(const ParameterInfo& info, std::uint64_t value) {
  const std::string shown = value_text(info, value);
  if (value < info.least || value > info.most) {
    throw std::invalid_argument(fmt::format("{} is {} to {}, not {}", info.name,
                                            value_text(info, info.least),
                                            value_text(info, info.most), shown));
  }
  // What a context takes.
  if (info.parameter == ScanParameter::page_bytes && value % info.least != 0) {
    throw std::invalid_argument(fmt::format("{} is a multiple of {}, not {}", info.name,
                                            value_text(info, info.least), shown));
  }
}

std::vector<std::uint64_t> parse_values(const ParameterInfo& info, const std::string& text) {
  std::vector<std::uint64_t> values;
  for (const std::string& part : CLI::detail::split(text, ',')) {
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      values.push_back(parse_value(info, part));
    } else {
      add_range(values, info, part, dots);
    }
    if (values.size() > values_max) {
      throw std::invalid_argument(
          fmt::format("are {} at most, and \"{}\" has more", values_max, text));
    }
  }
  std::vector<std::uint64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw std::invalid_argument(fmt::format("have {} twice", value_text(info, *twice)));
  }
  return values;
}

std::string size_text(std::uint64_t bytes) {
  const std::string binary = binary_bytes(bytes);
  const bool round = binary.find(',') == std::string::npos;
  return round ? binary : scaled(static_cast<double>(bytes), "B");
}

std::string value_text(const ParameterInfo& info, std::uint64_t value) {
  return info.bytes ? size_text(value) : std::to_string(value);
}

void set_value(Case& what, ScanParameter parameter, std::uint64_t value) {
  switch (parameter) {
    case ScanParameter::slot_bytes:
      what.meeting.slot_bytes = value;
      if (what.fills_slots) {
        what.message_bytes = std::max<std::size_t>(value, 8);  // an address takes no such slot
      }
      break;
    case ScanParameter::slots:
      what.meeting.slots = value;
      break;
    case ScanParameter::page_bytes:
      what.page_bytes = value;
      break;
    case ScanParameter::size:
      what.message_bytes = static_cast<std::size_t>(value);
      break;
    case ScanParameter::window:
      what.window = static_cast<std::uint32_t>(value);
      break;
    case ScanParameter::streams:
      what.streams = static_cast<std::uint32_t>(value);
      break;
  }
}

}  // namespace netio::cli
