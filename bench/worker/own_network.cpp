#include "worker/own_network.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace netio::bench {

namespace {

constexpr const char* interface = "eth0";

sockaddr_in parse(const std::string& address) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  if (::inet_pton(AF_INET, address.c_str(), &in.sin_addr) != 1) {
    throw std::invalid_argument("not an IPv4 address: " + address);
  }
  return in;
}

// Everybody who knows the address knows this one too. The first byte says that it is assigned
// locally.
sockaddr hardware_address_of(const std::string& address) {
  const sockaddr_in in = parse(address);
  std::array<char, 6> bytes = {0x02, 0};
  std::memcpy(bytes.data() + 2, &in.sin_addr, sizeof in.sin_addr);
  sockaddr hardware{};
  hardware.sa_family = ARPHRD_ETHER;
  std::copy(bytes.begin(), bytes.end(), hardware.sa_data);
  return hardware;
}

class Interfaces {
 public:
  Interfaces() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Interfaces() { ::close(fd_); }
  Interfaces(const Interfaces&) = delete;
  Interfaces& operator=(const Interfaces&) = delete;

  void set_up(const char* name) const {
    ifreq request = of(name);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    ask(SIOCSIFFLAGS, request);
  }
  void set_address(const char* name, const std::string& address) const {
    set(SIOCSIFADDR, name, address);
    set(SIOCSIFNETMASK, name, "255.255.255.0");
  }
  void set_hardware_address(const char* name, const std::string& address) const {
    ifreq request = of(name);
    request.ifr_hwaddr = hardware_address_of(address);
    ask(SIOCSIFHWADDR, request);
  }
  void add_neighbor(const char* name, const std::string& address) const {
    arpreq request{};
    const sockaddr_in in = parse(address);
    std::memcpy(&request.arp_pa, &in, sizeof in);
    request.arp_ha = hardware_address_of(address);
    request.arp_flags = ATF_COM | ATF_PERM;
    std::strncpy(request.arp_dev, name, sizeof request.arp_dev - 1);
    if (::ioctl(fd_, SIOCSARP, &request) == 0) return;
    throw std::system_error(errno, std::generic_category(), "cannot add the neighbor " + address);
  }

 private:
  static ifreq of(const char* name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    return request;
  }
  void set(unsigned long what, const char* name, const std::string& address) const {
    const sockaddr_in in = parse(address);
    ifreq request = of(name);
    std::memcpy(&request.ifr_addr, &in, sizeof in);
    ask(what, request);
  }
  void ask(unsigned long what, ifreq& request) const {
    if (::ioctl(fd_, what, &request) == 0) return;
    throw std::system_error(errno, std::generic_category(),
                            std::string("cannot set up ") + request.ifr_name);
  }

  int fd_;
};

}  // namespace

void enter_own_network(const std::string& address, const std::vector<std::string>& neighbors) {
  if (::unshare(CLONE_NEWNET) != 0) {
    throw std::system_error(errno, std::generic_category(), "no network namespace");
  }
  std::cout << "{\"namespace\": " << ::getpid() << "}" << std::endl;
  std::string line;
  if (!std::getline(std::cin, line)) throw std::runtime_error("was given no interface");
  const Interfaces interfaces;
  interfaces.set_up("lo");
  interfaces.set_hardware_address(interface, address);
  interfaces.set_address(interface, address);
  interfaces.set_up(interface);
  for (const std::string& neighbor : neighbors) {
    if (neighbor != address) interfaces.add_neighbor(interface, neighbor);
  }
}

}  // namespace netio::bench
