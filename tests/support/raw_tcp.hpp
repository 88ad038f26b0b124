// A TCP socket without netio: what evil, foreign and dead peers are played with. Never blocks
// longer than the kernel's buffers make it; one thread. Throws std::system_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/hello.hpp"
#include "wire/page.hpp"

namespace netio::test {

using Bytes = std::vector<std::byte>;

class RawTcp {
 public:
  // Connects to "tcp://127.0.0.1:port"; the kernel accepts before the listener does. As another
  // host: 127.0.0.2 and so on.
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
  // The peer closed or reset the connection; what came before is in received().
  bool ended();
  void close() noexcept;
  void reset() noexcept;  // ends with a RST instead of a FIN

  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_ = -1;
  Bytes received_;
  bool ended_ = false;
};

class RawListener {
 public:
  explicit RawListener(std::uint16_t port = 0);
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  ~RawListener();

  [[nodiscard]] std::string address() const;
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // A connection that waits, if there is one.
  std::optional<RawTcp> accept();

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

[[nodiscard]] std::uint16_t port_of(std::string_view address);

// --- Bytes that look like netio, right or wrong.
[[nodiscard]] Bytes hello_of(const detail::Hello& hello);
// A sound hello of such a socket, with the usual limits and a session of its own.
[[nodiscard]] detail::Hello sound_hello(detail::WirePattern pattern, std::uint8_t session = 1);
[[nodiscard]] Bytes page_of(const detail::PageHeader& header, std::span<const std::byte> body);
// One whole frame, padded; flags as in wire/frame.hpp.
[[nodiscard]] Bytes frame_of(std::span<const std::byte> payload, std::uint32_t flags = 0);
// A page of one message of `payload`, numbered `sequence`.
[[nodiscard]] Bytes message_page(std::uint64_t sequence, std::span<const std::byte> payload);
void append(Bytes& to, std::span<const std::byte> more);

}  // namespace netio::test
