// A TCP socket without netio: what evil, foreign and dead peers are played with. Never blocks
// longer than the kernel's buffers make it; one thread. Throws std::system_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/control.hpp"
#include "wire/hello.hpp"
#include "wire/page.hpp"

namespace netio::test {

using Bytes = std::vector<std::byte>;

class RawTcp {
 public:
  // Connects to "tcp://127.0.0.1:port", or another number of this host; the kernel accepts before
  // the listener does. As another host: 127.0.0.2 and so on.
  static RawTcp connect(std::string_view address, std::uint8_t host = 1);
  explicit RawTcp(int fd) noexcept : fd_(fd) {}
  RawTcp(RawTcp&& other) noexcept { *this = std::move(other); }
  RawTcp& operator=(RawTcp&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(received_, other.received_);
    std::swap(ended_, other.ended_);
    return *this;
  }
  ~RawTcp();

  // How many bytes the kernel took: all of them, unless its buffer is full or the peer is gone.
  std::size_t send(std::span<const std::byte> bytes);
  std::size_t send(std::string_view text) { return send(std::as_bytes(std::span(text))); }
  // Everything that came so far.
  const Bytes& received();
  // Says where it stands, to a peer whose hello has come: the first page of who connected.
  void confirm(std::uint64_t next = 0, std::uint64_t next_expected = 0, std::uint64_t missed = 0);
  // Who connects to another thread or process: says hello, waits for the answer, and says where it
  // stands. False if there is none.
  bool greet(const detail::Hello& hello);
  // The same of who was connected to; it waits for the peer's position too.
  bool answer(detail::WirePattern pattern);
  // The peer closed or reset the connection; what came before is in received().
  bool ended();
  void close() noexcept;
  void reset() noexcept;  // ends with a RST instead of a FIN

  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  template <typename Condition>
  bool wait_for(Condition&& condition);

  int fd_ = -1;
  Bytes received_;
  bool ended_ = false;
};

class RawListener {
 public:
  explicit RawListener(std::uint16_t port = 0);
  explicit RawListener(const sockaddr_in& address);
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  ~RawListener();

  [[nodiscard]] std::string address() const;
  [[nodiscard]] std::uint16_t port() const noexcept { return ntohs(bound_.sin_port); }
  // A connection that waits, if there is one.
  std::optional<RawTcp> accept();

 private:
  int fd_;
  sockaddr_in bound_{};
};

[[nodiscard]] std::uint16_t port_of(std::string_view address);
// Of "tcp://127.0.0.1:port" or another number; of a name, what 127.0.0.1 and the port are.
[[nodiscard]] sockaddr_in endpoint_of(std::string_view address);

// An address of this host that is made of the process id: "127.x.y.z". A test that binds port 0
// there may close it and bind the same port again. Meanwhile the system gives that port to no other
// test, unless that one listens at all addresses of the host. (Two containers that share a network
// may have processes of the same id.)
[[nodiscard]] std::string own_host();

// A port where nobody listens, for somebody who is to listen there later, or is started again. The
// system gives it to nobody by itself, and the next three calls of this process give others, unless
// somebody has taken one of the four. Two processes that run at once are given the same one only if
// their ids differ by a multiple of 6,000.
[[nodiscard]] std::uint16_t free_port();
// "tcp://127.0.0.1:" with such a port.
[[nodiscard]] std::string free_address();

// --- Bytes that look like netio, right or wrong.
[[nodiscard]] Bytes hello_of(const detail::Hello& hello);
// A sound hello of such a socket, with the usual limits, of a run and on a stream of its own.
[[nodiscard]] detail::Hello sound_hello(detail::WirePattern pattern, std::uint8_t stream = 1);
// The same as the answer to a hello that came.
[[nodiscard]] detail::Hello answer_to(const detail::Hello& theirs, detail::WirePattern pattern,
                                      std::uint8_t run = 1);
// The hello that these bytes begin with; its nonce is 0 while it is not all there.
[[nodiscard]] detail::Hello hello_in(std::span<const std::byte> received);
// The first page on a connection whose accepting side has this nonce.
[[nodiscard]] Bytes confirm_page(const detail::ConfirmFrame& where);
[[nodiscard]] inline Bytes confirm_page(std::uint64_t nonce) {
  return confirm_page(detail::ConfirmFrame{.nonce = nonce});
}
[[nodiscard]] Bytes page_of(const detail::PageHeader& header, std::span<const std::byte> body);
// One whole frame, padded; flags as in wire/frame.hpp.
[[nodiscard]] Bytes frame_of(std::span<const std::byte> payload, std::uint32_t flags = 0);
// A page of one message of `payload`, numbered `sequence`.
[[nodiscard]] Bytes message_page(std::uint64_t sequence, std::span<const std::byte> payload);
void append(Bytes& to, std::span<const std::byte> more);

}  // namespace netio::test
