// The RDMA devices of this machine, as libfabric knows them: what `netio info` shows. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <netio/export.hpp>

namespace netio {

// One device of one fabric, as one provider offers it.
struct FabricDevice {
  std::string provider;  // as libfabric names it: "verbs", "tcp", "tcp;ofi_rxm"
  std::string device;    // "mlx5_0", "eth0"
  std::string fabric;    // what devices that reach each other have in common
  // Of addresses here: "verbs", "ofi+tcp". Empty: netio cannot use it. That takes both of the next,
  // and a provider that works.
  std::string scheme;
  bool connected = false;          // endpoints that are connected; without, nothing below is said
  bool rma = false;                // that read the peer's memory
  std::vector<std::string> hosts;  // as addresses have them: "10.0.0.1", "[fe80::1%eth0]"
  std::uint64_t message_bytes_max = 0;  // the largest message that it takes at once
  std::uint64_t inject_bytes_max = 0;   // a message up to this is sent without a completion
  bool registers_memory = false;        // what is sent and received is registered, and so locked
};

// Whether this build of netio has fabrics at all: it was built with libfabric. That is loaded when
// the first fabric address is used, and need not be there before.
[[nodiscard]] NETIO_API bool fabrics_built() noexcept;

// In libfabric's order; empty if netio was built without. May block for a second: providers look
// for their devices. Throws Error where libfabric is not installed, or too old.
[[nodiscard]] NETIO_API std::vector<FabricDevice> fabric_devices();

}  // namespace netio
