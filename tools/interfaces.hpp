// The network interfaces of this machine, as far as they have an IP address.
#pragma once

#include <string>
#include <vector>

namespace netio::cli {

struct Interface {
  std::string name;
  bool up = false;       // switched on
  bool running = false;  // and its cable is plugged in
  bool loopback = false;
  // In the form an address of netio has them: "10.0.0.1", "[fe80::1%eth0]".
  std::vector<std::string> hosts;
};

// In the system's order. Throws Failure.
[[nodiscard]] std::vector<Interface> read_interfaces();

}  // namespace netio::cli
