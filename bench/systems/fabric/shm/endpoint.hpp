// One endpoint in shared memory and its peer.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "systems/fabric/handle.hpp"
#include "worker/worker.hpp"

namespace netio::bench::fabric::shm {

// A message's memory, and the context of the operation that uses it.
using Slot = std::vector<std::byte>;

// Receives and sends of large messages complete; small messages are injected, and never do.
struct Completion {
  Slot* slot = nullptr;
  bool received = false;
  std::size_t bytes = 0;

  [[nodiscard]] std::span<const std::byte> message() const { return {slot->data(), bytes}; }
};

class Endpoint {
 public:
  Endpoint();

  // Tells the other end our address over the socket, and learns its own. The socket is taken.
  void meet(int socket);

  // For the next message that comes.
  void post_receive(Slot& slot);

  // `again`: the peer takes no more until it has read, or we have. `under_way`: the slot is free
  // when its send completes.
  enum class Sent { free_again, under_way, again };
  [[nodiscard]] Sent try_send(Slot& slot);

  // What has completed, until the next call. Nothing moves unless it is called.
  [[nodiscard]] std::span<const Completion> read();

  // Until the peer has what it reads from our memory, or a second has passed: who goes before that
  // leaves it with an error.
  void finish_sends();

 private:
  static constexpr std::size_t batch_max = 64;

  Info info_;
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  Handle<fid_av> addresses_;
  Handle<fid_cq> queue_;
  Handle<fid_ep> endpoint_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::size_t sends_under_way_ = 0;
  std::array<Completion, batch_max> completions_;
};

// The end that binds waits for its peer: false if it is to stop first. The other end goes to it.
[[nodiscard]] bool await_peer(Worker& worker, Endpoint& endpoint);
void go_to_peer(Worker& worker, Endpoint& endpoint);

}  // namespace netio::bench::fabric::shm
