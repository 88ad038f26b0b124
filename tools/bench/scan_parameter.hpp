// What a scan varies: its names, bounds and usual values, and how a case is given one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/measure.hpp"

namespace netio::cli {

struct ParameterInfo {
  ScanParameter parameter;
  const char* name;
  const char* title;  // of an axis
  bool bytes;         // else a count
  std::uint64_t least;
  std::uint64_t most;
  const char* usual_values;
  std::size_t usual_message_bytes;  // if something else than the size is scanned; 0: fill a slot
  Mode usual_mode;
  bool of_fabrics = false;  // other addresses have none
  bool of_peers = true;     // systems other than netio know it
};

[[nodiscard]] std::span<const ParameterInfo> all_parameters();
[[nodiscard]] const ParameterInfo& info_of(ScanParameter parameter);

// "4KiB,64KiB", "4KiB..32MiB" (doubled each time, and the last), "1..16+1" (in steps of 1), each
// value once. Throws std::invalid_argument.
[[nodiscard]] std::vector<std::uint64_t> parse_values(const ParameterInfo& info,
                                                      const std::string& text);
// Throws std::invalid_argument: out of bounds, or nothing that netio takes.
void check_value(const ParameterInfo& info, std::uint64_t value);
// "64 KiB", and "512 MB" rather than "500,000 KiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);
// "64 KiB", "16"
[[nodiscard]] std::string value_text(const ParameterInfo& info, std::uint64_t value);
void set_value(Case& what, ScanParameter parameter, std::uint64_t value);

}  // namespace netio::cli
