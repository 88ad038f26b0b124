// Listens for connection requests, which its event queue tells of. Owner thread only.
#pragma once

#include <string>
#include <sys/socket.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include "fabric/event_queue.hpp"

namespace netio::detail {

class PassiveEndpoint {
 public:
  // Listens. Throws FabricError: address in use, not of this host, ...
  PassiveEndpoint(const Fabric& fabric, const Info& info, EventQueue& events,
                  ConnectionOwner& owner);

  ~PassiveEndpoint();
  PassiveEndpoint(const PassiveEndpoint&) = delete;
  PassiveEndpoint& operator=(const PassiveEndpoint&) = delete;

  // The address it is bound to; true if `bytes` of `to` were filled.
  bool address(sockaddr_storage& to, std::size_t& bytes) const noexcept;
  // Turns a request away. Its handle suffices.
  void reject(const Info& request) noexcept { reject(request->handle); }
  void reject(fid_t handle) noexcept;

 private:
  EventQueue& events_;
  FabricHandle<fid_pep> endpoint_;
};

}  // namespace netio::detail
