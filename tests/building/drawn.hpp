// What is drawn for a schedule of event building, and what a user of the program may leave out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "build/build_plan.hpp"
#include "building/network.hpp"

namespace netio::test {

enum class BuildPart : std::uint8_t {
  cuts,
  partitions,
  unit_kills,
  unit_stops,
  builder_kills,
  builder_stops,
  manager_kills,
  manager_stops,
  manager_cuts,
  manager_partitions,
  turns,
  keeps,
  drops,
  large,
  sparse,
  manager,
};
inline constexpr std::array<std::string_view, 16> build_part_names{
    "cuts",          "partitions",    "unit_kills",    "unit_stops",   "builder_kills",
    "builder_stops", "manager_kills", "manager_stops", "manager_cuts", "manager_partitions",
    "turns",         "keeps",         "drops",         "large",        "sparse",
    "manager"};
// The first of them are faults.
inline constexpr std::size_t build_faults = 10;

// What a connection does that none may do.
enum class BuildLie : std::uint8_t { none, lost_fragment, twice };
inline constexpr std::array<std::string_view, 3> build_lie_names{"none", "lost_fragment", "twice"};

struct BuildSettings {
  std::uint32_t without = 0;  // a bit for each part
  BuildLie lie = BuildLie::none;
  bool trace = false;
  [[nodiscard]] bool has(BuildPart part) const {
    return (without >> static_cast<unsigned>(part) & 1U) == 0;
  }
};

struct Drawn {
  detail::BuildPlan plan;
  std::uint64_t window = 0;
  std::uint64_t store = 0;
  std::int64_t deadline = 0;
  std::int64_t meet_within = 0;
  std::int64_t period = 0;   // of events
  std::uint64_t events = 0;  // in each run
  std::uint32_t runs = 1;
  std::int64_t dense = 1000;  // in thousandths of the events, each source has a fragment
  std::int64_t size_max = 0;
  std::int64_t large = 0;    // in thousandths: a fragment is larger than a window
  std::int64_t latency = 0;  // at most
  std::size_t on_wire_max = 0;
  std::int64_t work = 0;  // of a builder for each event, at most
  std::uint32_t turns = 0;
  std::int64_t keep = 0;  // in thousandths of the events
  std::int64_t keep_for_max = 0;
  std::uint64_t keep_bytes = UINT64_MAX;
  bool done_with_release = false;
  bool drops = false;
  bool veto = false;  // the detector waits for units that are busy
  // In thousandths of the events:
  std::int64_t cut = 0;
  std::int64_t partition = 0;
  std::int64_t kill_unit = 0;
  std::int64_t stop_unit = 0;
  std::int64_t kill_builder = 0;
  std::int64_t stop_builder = 0;
  std::int64_t kill_manager = 0;
  std::int64_t stop_manager = 0;
  std::int64_t cut_manager = 0;
  std::int64_t partition_manager = 0;  // from one unit or builder
  // Where there is a manager:
  std::int64_t lease = 0;
  std::uint32_t credit = 1;
  std::int64_t away_max = 0;  // how long a process or a connection is away

  // No fault but builders and connections that are back soon: nothing may be lost. A new manager
  // assigns nothing for two leases, which may be more than a deadline: a unit that had not heard of
  // an assignment before is late for it, though it will be assigned again.
  [[nodiscard]] bool loses_nothing() const {
    return partition + kill_unit + stop_unit + stop_builder + kill_manager + stop_manager +
               partition_manager ==
           0;
  }
  // Of a fragment that is larger than a window.
  [[nodiscard]] std::uint64_t large_max() const { return window + 1000; }
};

Drawn draw(Chance& chance, const BuildSettings& settings);

}  // namespace netio::test
