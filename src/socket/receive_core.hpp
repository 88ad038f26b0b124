// The receiving half of a socket: the user's call-back, and the pause that holds all peers back.
#pragma once

#include <cstdint>

#include "socket/receiver.hpp"

namespace netio::detail {

class SocketCore;

class ReceiveCore {
 public:
  explicit ReceiveCore(SocketCore& socket) noexcept : socket_(socket) {}

  // Takes effect after the message at hand; resumed, every peer goes on from the loop.
  void pause(bool paused) noexcept;
  [[nodiscard]] bool paused() const noexcept { return paused_; }
  // Closing or destroyed: nothing is delivered any more.
  void stop() noexcept { delivery.stopped = stopped_ = true; }

  Delivery delivery;
  std::uint64_t sender_id = 0;  // of the message being delivered

 private:
  SocketCore& socket_;
  bool paused_ = false;
  bool stopped_ = false;
};

}  // namespace netio::detail
