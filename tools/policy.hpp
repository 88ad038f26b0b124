// The policies for slow subscribers, by the names they have on the command line.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include <netio/subscription.hpp>

namespace netio::cli {

struct NamedPolicy {
  Policy policy;
  std::string_view name;
};
inline constexpr std::array<NamedPolicy, 5> policies = {{{Policy::block, "block"},
                                                         {Policy::drop_new, "drop_new"},
                                                         {Policy::drop_old, "drop_old"},
                                                         {Policy::sample, "sample"},
                                                         {Policy::disconnect, "disconnect"}}};

[[nodiscard]] inline std::string_view name_of(Policy policy) noexcept {
  for (const NamedPolicy& one : policies) {
    if (one.policy == policy) return one.name;
  }
  return "unknown";
}

// Throws std::invalid_argument.
[[nodiscard]] inline Policy parse_policy(std::string_view text) {
  for (const NamedPolicy& one : policies) {
    if (one.name == text) return one.policy;
  }
  throw std::invalid_argument("\"" + std::string(text) +
                              "\" is none of block, drop_new, drop_old, sample, disconnect");
}

}  // namespace netio::cli
