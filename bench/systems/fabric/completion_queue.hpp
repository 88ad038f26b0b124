// The completion queue of all connections of an end. Only what comes completes on it: sends and
// writes are told to be silent, and what they sent from is free when the other end has said that it
// came.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <rdma/fi_domain.h>

#include "systems/fabric/handle.hpp"

namespace netio::bench::fabric {

class Connection;

// A registered buffer of a connection, and the context of the operation that uses it.
struct Slot {
  Connection* connection = nullptr;
  std::byte* bytes = nullptr;
};

struct Completion {
  Slot* slot = nullptr;
  std::size_t bytes = 0;
};

class CompletionQueue {
 public:
  CompletionQueue(fid_domain& domain, std::size_t entries, bool sleeps);

  // What has completed, first what gather() found; never waits. Receives of a connection that has
  // ended are dropped, and it is told. Throws what else went wrong.
  [[nodiscard]] std::span<const Completion> read();
  // Makes progress for somebody who must post before he can go on: read() returns what it finds.
  void gather();
  // Writes of its peer complete here too. They do not say of which connection: only one may be so.
  void own_writes(Connection& connection) noexcept { written_to_ = &connection; }
  [[nodiscard]] bool has_gathered() const noexcept { return !gathered_.empty(); }

  [[nodiscard]] fid_cq& get() const noexcept { return *queue_; }
  [[nodiscard]] int wait_fd() const;  // sleeping only

  static constexpr std::size_t batch_max = 64;

 private:
  void read_into(std::vector<Completion>& completions);
  void take_error();

  Handle<fid_cq> queue_;
  Connection* written_to_ = nullptr;
  std::vector<Completion> gathered_;
  std::vector<Completion> returned_;
};

}  // namespace netio::bench::fabric
