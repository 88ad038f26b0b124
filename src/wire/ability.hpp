// What a side may offer in its hello (docs/wire.md).
#pragma once

#include <cstdint>

namespace netio::detail {

// What a side offers to take beyond messages, streams and subscriptions. A peer that uses what was
// not offered breaks the protocol.
namespace ability {
inline constexpr std::uint64_t requests = 1U << 0U;     // frames with an id, and *cancel*
inline constexpr std::uint64_t segments = 1U << 1U;     // frames that begin with a table
inline constexpr std::uint64_t redelivery = 1U << 2U;   // pages that were sent before
inline constexpr std::uint64_t windows = 1U << 3U;      // *ask* and *grant*
inline constexpr std::uint64_t other_wires = 1U << 4U;  // *stay*
inline constexpr std::uint64_t heartbeats = 1U << 5U;   // it says something if it is asked to
// What a frame may say by its flags.
inline constexpr std::uint64_t every_frame = requests | segments;
}  // namespace ability

}  // namespace netio::detail
