// Looks after subscribers with Policy::block that hold the publisher up: one that does so for too
// long has Policy::drop_new until it has taken what waited for it. A timer judges, which runs while
// somebody holds the publisher up, or has lost its policy. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <netio/loop.hpp>
#include <netio/peer.hpp>

#include "pattern/publish/subscribers.hpp"

namespace netio::detail {

class SocketCore;

class HoldUps {
 public:
  HoldUps(SocketCore& socket, Subscribers& subscribers, std::chrono::nanoseconds block_for_max);

  std::function<void(const PeerSnapshot&)> on_policy_changed;
  std::function<void()> on_demoted;  // set once, by the owner: it may be worth trying again

  // A call of the user's was refused, or a subscriber is refused Policy::block.
  void watch() noexcept {
    if (block_for_max_ns_ != 0 && !timer_.running()) begin();
  }
  // Memory is short: who has a queue may be the cause.
  void lacks_memory(bool lacks) noexcept { lacks_memory_ = lacks; }
  void stop() noexcept { timer_.stop(); }
  [[nodiscard]] std::uint64_t demoted() const noexcept { return demoted_; }

 private:
  void begin() noexcept;
  void look();
  void judge();
  // Whether its policy is to change now; `busy` if it is to be looked at again.
  static void measure(Subscriber& subscriber) noexcept;
  bool due(Subscriber& subscriber, std::int64_t now_ns, bool& busy) noexcept;

  SocketCore& socket_;
  Subscribers& subscribers_;
  std::int64_t block_for_max_ns_;
  Timer timer_;
  std::vector<const Peer*> due_;
  std::uint64_t demoted_ = 0;
  std::int64_t clock_ns_ = 1;  // of held_since_ns; slower where this thread stands still
  std::int64_t looked_ns_ = 0;
  bool lacks_memory_ = false;
};

}  // namespace netio::detail
