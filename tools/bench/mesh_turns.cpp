#include "bench/mesh_turns.hpp"

namespace netio::cli {

namespace {

// In the first part of two.
bool sends_first(std::uint32_t from, std::uint32_t to, std::uint32_t nodes) {
  const std::uint32_t ahead = (to + nodes - from) % nodes;
  return 2 * ahead < nodes || (2 * ahead == nodes && from < to);
}

}  // namespace

std::vector<MeshTargets> parts_of_turn(std::uint32_t nodes, bool both_ways) {
  std::vector<MeshTargets> parts(both_ways ? 1 : 2, MeshTargets(nodes));
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint32_t to = 0; to < nodes; ++to) {
      if (from == to) continue;
      const bool later = !both_ways && !sends_first(from, to, nodes);
      parts[later ? 1 : 0][from].push_back(to);
    }
  }
  return parts;
}

}  // namespace netio::cli
