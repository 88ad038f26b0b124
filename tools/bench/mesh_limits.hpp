// What a mesh takes of this machine, and whether the machine has it.
#pragma once

#include "bench/arguments.hpp"
#include "bench/measure.hpp"
#include "limits.hpp"

namespace netio::cli {

inline constexpr std::uint64_t mesh_nodes_min = 2;
// Each has an address in a network of 24 bits.
inline constexpr std::uint64_t mesh_nodes_max = 250;

// Bounds, which are sums of what each connection and each process may take. Of all message sizes
// the largest counts.
struct MeshNeed {
  std::uint64_t connections = 0;    // that one node has, those it sends over and the others
  std::uint64_t files_of_node = 0;  // descriptors
  std::uint64_t files_of_command = 0;
  std::uint64_t threads = 0;        // of all nodes
  std::uint64_t bytes_of_node = 0;  // memory, with what the kernel holds for its connections
  std::uint64_t bytes = 0;          // of all nodes
};
[[nodiscard]] MeshNeed need_of_mesh(const MeshArguments& mesh, const Meeting& meeting,
                                    std::size_t message_bytes);

// Throws Failure with the bound and the need. Nodes that run out would wait for connections that
// cannot come.
void refuse_too_large(const MeshArguments& mesh, const Meeting& meeting, std::size_t message_bytes,
                      const Limits& limits);

}  // namespace netio::cli
