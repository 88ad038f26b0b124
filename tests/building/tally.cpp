// See tally.hpp.
#include "building/tally.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace netio::test {

std::string BuildTally::text() const {
  const std::array<std::pair<std::string_view, std::uint64_t>, 33> rows{{
      {"schedules", schedules},
      {"fragments", fragments},
      {"complete events", complete},
      {"incomplete events", incomplete},
      {"handed over again", again},
      {"again, and nobody knew", unmarked},
      {"late fragments", late},
      {"events never built", never_built},
      {"fragments lost with their unit", lost_with_unit},
      {"fragments dropped", dropped},
      {"missing: late", missing_late},
      {"missing: not connected", missing_not_connected},
      {"missing: not begun", missing_not_begun},
      {"missing: dropped", missing_dropped},
      {"missing: forgotten", missing_forgotten},
      {"cuts", cuts},
      {"partitions", partitions},
      {"units killed", units_killed},
      {"units stopped", units_stopped},
      {"builders killed", builders_killed},
      {"builders stopped", builders_stopped},
      {"schedules with a manager", with_manager},
      {"managers killed", managers_killed},
      {"managers stopped", managers_stopped},
      {"assignments", assigned},
      {"assignments again", assigned_again},
      {"assignments taken away", revoked},
      {"connections not taken yet", not_taken},
      {"refused by a full store", busy},
      {"waits for a window", waits},
      {"grants", granted},
      {"late fragments left out", wanted},
      {"turns", turns},
  }};
  std::string lines;
  for (const auto& [name, count] : rows) {
    lines.append("  ").append(name).append(": ").append(std::to_string(count)).append("\n");
  }
  return lines + "  events kept: " + std::to_string(kept) + "\n";
}

}  // namespace netio::test
