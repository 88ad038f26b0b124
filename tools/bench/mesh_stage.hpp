// The nodes of a mesh, each a process, and what came at each of them while they were looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/measure.hpp"
#include "bench/mesh_turns.hpp"
#include "bench/stage.hpp"
#include "bench/system.hpp"

namespace netio::cli {

// Of what one node sent, what came at another one.
struct PairSample {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double messages_per_s = 0;
  double bytes_per_s = 0;
  // The standard deviation of `by_interval` over its mean: 0 is a steady rate. Of a pair without
  // messages it is what a pair has of which all messages came in one interval, which is the most.
  double variation = 0;
  std::vector<double> by_interval;  // bytes/s
};

// A turn of one system.
struct MeshSample {
  std::vector<PairSample> pairs;  // by `from`, then by `to`
  // Of all pairs that send at the same time, together. One way: the mean of both parts.
  double messages_per_s = 0;
  double bytes_per_s = 0;
  double variation = 0;  // the mean of the pairs'
  double variation_most = 0;
  double pair_least = 0;  // bytes/s
  double pair_median = 0;
  double pair_most = 0;
  double cores = 0;  // that all nodes used together
};

// Starts the nodes, lets them run and stops them, once for each part of the turn. Throws
// EndFailure, which names the node that failed, and Interrupted. No process is left in any case.
[[nodiscard]] MeshSample measure_mesh(Stage& stage, const MeshArguments& mesh, const Case& what,
                                      const System& system);

}  // namespace netio::cli
