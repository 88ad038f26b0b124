// What the nodes of a mesh do alike, whatever the system: they count what comes by its sender, and
// are told where the others are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "worker/worker.hpp"

namespace netio::bench {

// Counts the messages of each connection beside the worker's own tally. One thread takes messages;
// a snap of the worker says their number for each node: {"from": [...]}.
class MeshTally {
 public:
  // Before worker.ready(). The worker may be asked until it has stopped.
  explicit MeshTally(Worker& worker);
  MeshTally(const MeshTally&) = delete;
  MeshTally& operator=(const MeshTally&) = delete;

  void take(std::span<const std::byte> message) noexcept {
    worker_.tally.take(message);
    std::uint64_t word = 0;
    if (message.size() < sizeof word) return;
    std::memcpy(&word, message.data(), sizeof word);
    const std::uint64_t connection = word >> sequence_bits;
    if (connection >= counts_.size()) return;  // the worker's tally has counted a fault
    std::atomic<std::uint64_t>& count = counts_[connection];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> by_node() const;

  Worker& worker_;
  std::vector<std::atomic<std::uint64_t>> counts_;  // by connection
};

// The number of a node's stream among all connections of the mesh.
[[nodiscard]] inline std::uint32_t connection_of(const MeshOptions& mesh, std::uint32_t stream) {
  return mesh.number * mesh.streams + stream;
}

// The options of this node, or for those who connect to it. `ports`: of all nodes, none before they
// are known.
[[nodiscard]] Options options_of_node(const Options& options, std::uint32_t number,
                                      const std::vector<std::uint16_t>& ports = {});

// Says {"port": its own} in a line, and waits for a line with the ports of all nodes, which then
// have all bound. Before worker.ready(). Throws std::runtime_error if there is no such line.
[[nodiscard]] std::vector<std::uint16_t> exchange_ports(const Options& options, std::uint16_t port);

}  // namespace netio::bench
