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
#include <span>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <netio/netio.hpp>

#include "wire/control.hpp"
#include "wire/frame.hpp"
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

inline void send_hello(int fd, const netio::detail::Hello& hello) {
  std::array<std::byte, netio::detail::hello_bytes_max> bytes;
  const std::size_t encoded = netio::detail::encode(hello, bytes);
  require(send(fd, bytes.data(), encoded, MSG_NOSIGNAL) >= 0, "the hello is not taken");
}

// What a peer of this pattern says that is in order: a run and a stream that nobody has met.
inline netio::detail::Hello sound_hello(netio::detail::WirePattern pattern, std::uint64_t number) {
  netio::detail::Hello hello;
  hello.pattern = pattern;
  hello.page_bytes_max = 64U << 10U;
  hello.message_bytes_max = 1U << 20U;
  hello.run.fill(1);
  hello.stream.fill(2);
  std::memcpy(hello.run.data(), &number, sizeof number);
  std::memcpy(hello.stream.data(), &number, sizeof number);
  hello.epoch = 1;
  return hello;
}

// Waits for the hello of the attacked side.
inline netio::detail::Hello hear_hello(netio::Context& context, int fd) {
  std::array<std::byte, netio::detail::hello_bytes_max> bytes;
  netio::detail::Hello theirs;
  std::size_t got = 0;
  turn_until(
      context,
      [&] {
        const ssize_t more = recv(fd, bytes.data() + got, bytes.size() - got, MSG_DONTWAIT);
        if (more > 0) got += static_cast<std::size_t>(more);
        return netio::detail::parse(std::span(bytes).first(got), theirs).state ==
               netio::detail::HelloParse::done;
      },
      "there is no hello");
  return theirs;
}

// The first page of who dials, or of who has said this nonce.
inline void send_confirm(int fd, std::uint64_t nonce) {
  using namespace netio::detail;
  std::array<std::byte, page_header_bytes + frame_word_bytes + confirm_bytes> page;
  PageHeader header;
  header.bytes = frame_word_bytes + confirm_bytes;
  header.flags = page_flag::control;
  store(page.data(), header);
  const auto kind = static_cast<std::uint32_t>(ControlKind::confirm);
  store_u64(page.data() + page_header_bytes,
            frame_word(confirm_bytes, frame_flag::control | (kind << frame_flag::control_shift)));
  encode(ConfirmFrame{.nonce = nonce},
         std::span(page).subspan(page_header_bytes + frame_word_bytes));
  require(send(fd, page.data(), page.size(), MSG_NOSIGNAL) >= 0, "the first page is not taken");
}

// A greeting that is in order, as far as the hello alone or to its end.
inline void greet(netio::Context& context, int fd, netio::detail::WirePattern pattern,
                  std::uint64_t number, bool to_the_end) {
  send_hello(fd, sound_hello(pattern, number));
  if (to_the_end) send_confirm(fd, hear_hello(context, fd).nonce);
}

// More than the socket buffer takes at once is not needed, nor is an answer.
inline void send_and_end(int fd, const std::uint8_t* data, std::size_t size) {
  if (size != 0) (void)!send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(fd, SHUT_WR);
}
