// One connection: operations are posted on it, what became of them is told by its completion
// queue. Posts answer 0 or a negative error (-FI_EAGAIN: nothing was taken). Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include "fabric/completion_queue.hpp"
#include "fabric/event_queue.hpp"

namespace netio::detail {

// Memory of the peer, as it names it.
struct RemotePlace {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

// A write there, and what the peer is told when it has come.
struct RemoteWrite {
  RemotePlace to;
  std::uint32_t immediate = 0;
};

class Endpoint {
 public:
  // Receives may be posted at once. Throws FabricError.
  Endpoint(const Domain& domain, const Info& info, const CompletionQueue& completions,
           EventQueue& events, ConnectionOwner& owner);

  ~Endpoint() { events_.forget(&endpoint_->fid); }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // FI_CONNECTED or a failure follows in the event queue.
  void connect(const void* address);
  void accept();

  long receive(std::span<std::byte> to, void* descriptor, void* context) noexcept {
    return fi_recv(get(), to.data(), to.size(), descriptor, 0, context);
  }
  // Done with the bytes at return; no completion follows.
  long inject(std::span<const std::byte> bytes) noexcept {
    return fi_inject(get(), bytes.data(), bytes.size(), 0);
  }
  // A completion follows if `signalled`, and else only a failure.
  long send(std::span<const iovec> parts, void** descriptors, bool signalled,
            void* context) noexcept;
  // Writes to the peer's memory. Completions as of a send that is signalled.
  long write(std::span<const iovec> parts, void** descriptors, const RemoteWrite& write,
             void* context) noexcept;
  // Done with the bytes at return, as inject().
  long inject_write(std::span<const std::byte> bytes, const RemoteWrite& write) noexcept {
    return fi_inject_writedata(get(), bytes.data(), bytes.size(), write.immediate, 0,
                               write.to.address, write.to.key);
  }
  // For a word that comes with a write, and no bytes.
  long receive_immediate(void* context) noexcept;
  // Fetches memory that the peer has lent.
  long read(std::span<std::byte> to, void* descriptor, std::uint64_t address, std::uint64_t key,
            void* context) noexcept;

 private:
  [[nodiscard]] fid_ep* get() const noexcept { return endpoint_.get(); }

  EventQueue& events_;
  FabricHandle<fid_ep> endpoint_;
};

}  // namespace netio::detail
