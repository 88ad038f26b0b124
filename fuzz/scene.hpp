// What the targets share that attack a whole socket over tcp: a context with small pools, raw
// connections, and turns that come to an end.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <netio/netio.hpp>

#include "wire/hello.hpp"

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

inline netio::ContextOptions small_context() {
  netio::ContextOptions options;
  options.send_pool_bytes = options.receive_pool_bytes = 4U << 20U;
  options.large_bytes_max = 64U << 20U;
  return options;
}

inline netio::SocketOptions small_messages() {
  netio::SocketOptions options;
  options.message_bytes_max = 1U << 20U;
  return options;
}

inline std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

template <typename Condition>
void turn_until(netio::Context& context, Condition condition, const char* what) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    context.loop().run_once(std::chrono::milliseconds(1));
    require(std::chrono::steady_clock::now() < give_up, what);
  }
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline int connect_to(std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    require(errno == EINTR, "cannot connect");  // the fuzzer's own clock
    close(fd);
  }
}

// What a peer of this pattern says that is in order.
inline void send_hello(int fd, netio::detail::WirePattern pattern, std::uint64_t session) {
  netio::detail::Hello hello;
  hello.pattern = pattern;
  hello.page_bytes_max = 64U << 10U;
  hello.message_bytes_max = 1U << 20U;
  std::memcpy(hello.session.data(), &session, sizeof session);
  std::array<std::byte, netio::detail::hello_bytes_max> bytes;
  const std::size_t encoded = netio::detail::encode(hello, bytes);
  require(send(fd, bytes.data(), encoded, MSG_NOSIGNAL) >= 0, "the hello is not taken");
}

// More than the socket buffer takes at once is not needed, nor is an answer.
inline void send_and_end(int fd, const std::uint8_t* data, std::size_t size) {
  if (size != 0) (void)!send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(fd, SHUT_WR);
}
