// The tags that publishers and subscribers of every system use: sets of as many each, of which set
// 0 is published, and the others are what some subscribers want instead.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/options.hpp"

namespace netio::bench {

// No two are neighbours, so that none makes a range with the next.
[[nodiscard]] constexpr std::uint64_t tag_of(std::uint32_t set, std::uint32_t number) noexcept {
  return (std::uint64_t{set} << 40U) + (std::uint64_t{number} << 8U);
}
// In no set. Peers that do not say where a subscription took effect: whoever gets this has it.
inline constexpr std::uint64_t sync_tag = ~std::uint64_t{0};

// In the order in which they are published, again and again.
[[nodiscard]] std::vector<std::uint64_t> published_tags(const FanoutOptions& fanout);
// What subscriber `number` of this process wants, sorted.
[[nodiscard]] std::vector<std::uint64_t> subscribed_tags(const FanoutOptions& fanout,
                                                         std::uint32_t number);

}  // namespace netio::bench
