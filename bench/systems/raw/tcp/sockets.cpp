#include "systems/raw/tcp/sockets.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace netio::bench::raw::tcp {

namespace {

// A number of either family.
struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

Address address_of(const std::string& host, std::uint16_t port) {
  Address address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.bytes = sizeof *v4;
  } else if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.bytes = sizeof *v6;
  } else {
    throw std::invalid_argument(host + " is not an IP address");
  }
  return address;
}

void set_up(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

int listen_at(const std::string& host, std::uint16_t port) {
  Address address = address_of(host, port);
  const int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, address.get(), address.bytes) != 0) fail("bind");
  if (listen(fd, 4096) != 0) fail("listen");
  return fd;
}

std::uint16_t port_of(int fd) {
  Address address;
  address.bytes = sizeof address.storage;
  getsockname(fd, address.get(), &address.bytes);
  // At the same place in both families.
  return ntohs(reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port);
}

int connect_to(const std::string& host, std::uint16_t port) {
  Address address = address_of(host, port);
  const int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  if (connect(fd, address.get(), address.bytes) != 0) fail("connect");
  set_up(fd);
  return fd;
}

int accept_one(int listener, int stop) {
  std::array<pollfd, 2> both = {{{listener, POLLIN, 0}, {stop, POLLIN, 0}}};
  if (poll(both.data(), both.size(), -1) < 0) fail("poll");
  if ((both[0].revents & POLLIN) == 0) return -1;
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) fail("accept");
  set_up(fd);
  return fd;
}

}  // namespace netio::bench::raw::tcp
