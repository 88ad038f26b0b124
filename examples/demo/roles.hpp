// The demo's processes beside the first one, and what all of them have to agree on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <netio/event_building.hpp>

namespace demo {

enum class Kind : std::uint8_t { card, builder, recorder, monitor };

struct Role {
  std::string_view name;
  Kind kind;
  std::uint32_t number;  // of a card its source; of a builder its number in the plan
};

inline constexpr std::uint32_t card_count = 4;
inline constexpr std::uint32_t builder_count = 2;

// A process is known by its place in this list.
inline constexpr std::array<Role, 9> roles{{
    {"card 1", Kind::card, 0},
    {"card 2", Kind::card, 1},
    {"card 3", Kind::card, 2},
    {"card 4", Kind::card, 3},
    {"builder 1", Kind::builder, 0},
    {"builder 2", Kind::builder, 1},
    {"builder 2 again", Kind::builder, 1},
    {"recorder", Kind::recorder, 0},
    {"monitor", Kind::monitor, 0},
}};
inline constexpr std::size_t child_count = roles.size();
inline constexpr std::size_t first_builder = card_count;
inline constexpr std::size_t killed_builder = first_builder + 1;
inline constexpr std::size_t restarted_builder = killed_builder + 1;
inline constexpr std::size_t recorder_index = restarted_builder + 1;
inline constexpr std::size_t monitor_index = recorder_index + 1;
static_assert(monitor_index + 1 == child_count);
// The processes of builders, the restarted one included.
inline constexpr std::size_t builder_processes = recorder_index - first_builder;

// All events of the demo belong to this run.
inline constexpr std::uint64_t run_number = 1;
inline constexpr std::uint64_t range_events = 128;

inline constexpr netio::BuildPlan plan{card_count, builder_count, range_events, true};

// Where the processes of one demo meet. `name` is the demo's own.
inline std::string manager_address(std::string_view name) {
  return fmt::format("shm://{}-manager", name);
}
inline std::string fragments_address(std::string_view name, std::uint32_t builder) {
  return fmt::format("shm://{}-fragments-{}", name, builder + 1);
}
inline std::string events_address(std::string_view name, std::uint32_t builder) {
  return fmt::format("shm://{}-events-{}", name, builder + 1);
}

}  // namespace demo
