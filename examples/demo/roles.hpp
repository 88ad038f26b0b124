// Who there is besides the read-out: the processes that subscribe to its links, and the trigger.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <netio/subscription.hpp>

#include "fragment.hpp"

namespace demo {

struct Role {
  std::string_view name;
  netio::TagRange links;  // the tag of a fragment is its link
  netio::Policy policy;
  std::size_t behind_bytes_max;
};

// The monitor is killed, and started again as the last.
inline constexpr std::array<Role, 5> roles{{
    {"builder 1", {0, link_count / 2 - 1}, netio::Policy::block, 4U << 20U},
    {"builder 2", {link_count / 2, link_count - 1}, netio::Policy::block, 4U << 20U},
    {"recorder", {0, 3}, netio::Policy::drop_new, 1U << 20U},
    {"monitor", {0, link_count - 1}, netio::Policy::sample, 1U << 20U},
    {"monitor again", {0, link_count - 1}, netio::Policy::sample, 1U << 20U},
}};
inline constexpr std::size_t builder_count = 2;
inline constexpr std::size_t recorder_index = 2;
inline constexpr std::size_t monitor_index = 3;
inline constexpr std::size_t monitor_again_index = 4;
inline constexpr std::size_t first_subscriber_count = 4;  // there before the card starts
inline constexpr std::size_t trigger_index = roles.size();
inline constexpr std::size_t child_count = roles.size() + 1;

// A tag that nothing is sent with: who subscribes to it says who it is.
constexpr std::uint64_t name_tag(std::size_t role) noexcept { return 1000 + role; }

}  // namespace demo
