// What all connections of an end share: the provider's fabric and domain, one completion queue and
// one event queue.
#pragma once

#include <rdma/fi_domain.h>

#include "systems/fabric/completion_queue.hpp"
#include "systems/fabric/event_queue.hpp"
#include "systems/fabric/handle.hpp"
#include "worker/options.hpp"

namespace netio::bench::fabric {

// The buffers of one connection.
struct Shape {
  std::size_t receives = 0;
  std::size_t receive_bytes = 0;
  std::size_t sends = 0;
  std::size_t send_bytes = 0;
  bool ring = false;  // the other end writes to those of the receives, in turn; Device says so
};

class Device {
 public:
  // At the host and port of the options, to bind there or to connect to it.
  Device(const Options& options, const Shape& shape);

  const Shape shape;
  const Info info;
  const Handle<fid_fabric> fabric;
  const Handle<fid_domain> domain;
  CompletionQueue completions;
  EventQueue events;

  [[nodiscard]] bool registers() const noexcept {
    return shape.ring || (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  }
};

}  // namespace netio::bench::fabric
