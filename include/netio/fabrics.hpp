// The RDMA devices of this machine, as libfabric knows them. `netio info` shows them. Any thread.
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
  std::string fabric;    // the same name for all devices that reach each other
  // The scheme of netio addresses on this device: "verbs", "ofi+tcp". Empty if netio cannot use the
  // device: both of the next two are needed, and a provider that works.
  std::string scheme;
  bool connected = false;          // it has connected endpoints; if not, the rest is not filled in
  bool rma = false;                // they can read the peer's memory
  std::vector<std::string> hosts;  // for addresses: "10.0.0.1", "[fe80::1%eth0]"
  std::uint64_t message_bytes_max = 0;  // the largest message that it takes in one piece
  std::uint64_t inject_bytes_max = 0;   // messages up to this are sent without a completion
  bool registers_memory = false;        // memory must be registered with it, which locks it
};

// Whether this build of netio has fabrics, that is, was built with libfabric. libfabric itself is
// loaded when the first fabric address is used, and need not be installed before.
[[nodiscard]] NETIO_API bool fabrics_built() noexcept;

// Lists the devices, in libfabric's order; the list is empty if netio was built without libfabric.
// May block for a second, while providers look for their devices. Throws Error if libfabric is not
// installed, or too old.
[[nodiscard]] NETIO_API std::vector<FabricDevice> fabric_devices();

}  // namespace netio
