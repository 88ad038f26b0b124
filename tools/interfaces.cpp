#include "interfaces.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "exit_code.hpp"

namespace netio::cli {

namespace {

// Empty for what is no IP address.
std::string host_of(const sockaddr* address) {
  if (address == nullptr) return {};
  const bool v6 = address->sa_family == AF_INET6;
  if (!v6 && address->sa_family != AF_INET) return {};
  std::array<char, NI_MAXHOST> host{};
  const socklen_t bytes = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::getnameinfo(address, bytes, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  return v6 ? fmt::format("[{}]", host.data()) : std::string(host.data());
}

}  // namespace

std::vector<Interface> read_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    throw Failure(fmt::format("cannot list the network interfaces: {}", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    auto found = std::find_if(interfaces.begin(), interfaces.end(),
                              [at](const Interface& one) { return one.name == at->ifa_name; });
    if (found == interfaces.end()) {
      Interface added;
      added.name = at->ifa_name;
      added.up = (at->ifa_flags & IFF_UP) != 0;
      added.running = (at->ifa_flags & IFF_RUNNING) != 0;
      added.loopback = (at->ifa_flags & IFF_LOOPBACK) != 0;
      found = interfaces.insert(interfaces.end(), std::move(added));
    }
    if (std::string host = host_of(at->ifa_addr); !host.empty()) {
      found->hosts.push_back(std::move(host));
    }
  }
  return interfaces;
}

}  // namespace netio::cli
