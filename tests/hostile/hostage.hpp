// The fixture of the tests about memory for large messages that is taken hostage: contexts with
// little of it, sockets that do not wait long, and attackers over tcp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "support/payload.hpp"
#include "support/pump.hpp"
#include "support/raw_tcp.hpp"
#include "support/seen.hpp"
#include "wire/frame.hpp"

namespace netio::test {

class Hostage : public testing::Test {
 protected:
  static constexpr std::size_t message_bytes = (4U << 20U) - 4096;  // in a buffer of 4 MiB

  static ContextOptions little_memory() {
    ContextOptions options;
    options.send_pool_bytes = 4U << 20U;
    options.receive_pool_bytes = 4U << 20U;
    options.large_bytes_max = 16U << 20U;  // 8 MiB of it for one socket's messages that come
    return options;
  }
  static SocketOptions impatient() {
    SocketOptions options;
    options.message_bytes_max = message_bytes;
    options.stall_after = 200ms;
    return options;
  }
  // Ends nobody in the time that a test takes.
  static SocketOptions patient() {
    SocketOptions options = impatient();
    options.stall_after = 1h;
    return options;
  }

  Context here_{little_memory()};
  Context there_{little_memory()};
  Pump pump_{&here_, &there_};
  std::uint64_t stalled_ = 0;
  Message next_;

  // Sends what it allocates, as long as the answer is ok.
  void send_allocated(Push& push, std::size_t bytes) {
    Status status = Status::ok;
    while (status == Status::ok) {
      if (!next_) {
        next_ = push.allocate(bytes, status);
        std::ranges::fill(next_.writable_bytes(), std::byte{1});
      }
      if (status == Status::ok) status = push.send(std::move(next_));
    }
  }
  // Who goes for stalling is counted, and nobody goes for anything else.
  void watch(Socket& socket) {
    socket.on_down([this](const PeerInfo& peer, const Down& down) {
      if (!peer.was_up) return;
      EXPECT_EQ(down.reason, DownReason::stalled) << down.detail;
      ++stalled_;
    });
  }
  // A raw connection that has said hello and was answered.
  RawTcp greeted(const std::string& address, detail::WirePattern pattern, std::uint8_t stream) {
    return greeted(address, sound_hello(pattern, stream));
  }
  RawTcp greeted(const std::string& address, const detail::Hello& hello) {
    RawTcp raw = RawTcp::connect(address);
    raw.send(hello_of(hello));
    EXPECT_SOON(pump_, hello_in(raw.received()).nonce != 0);
    raw.confirm();
    return raw;
  }
};

}  // namespace netio::test
