// Who sends to whom in a mesh. Each pair sends both ways at once, or one way and then the other.
#pragma once

#include <cstdint>
#include <vector>

namespace netio::cli {

// By node: the numbers of the nodes that it sends to.
using MeshTargets = std::vector<std::vector<std::uint32_t>>;

// The parts of a turn, one after the other. Both ways: one, in which each node sends to all others.
// One way: two. In the first each node sends to the next half of the nodes and receives from the
// rest, so no node only sends or only receives; in the second each pair goes the other way. With an
// even number of nodes, of two that are opposite each other the lower one is the first to send.
[[nodiscard]] std::vector<MeshTargets> parts_of_turn(std::uint32_t nodes, bool both_ways);

}  // namespace netio::cli
