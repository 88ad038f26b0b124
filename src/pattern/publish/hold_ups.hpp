// Judges subscribers with Policy::block that hold the publisher up. One that does so for too long,
// or whose host does, gets Policy::drop_new until it has taken what waited for it. The timer runs
// while a subscriber holds the publisher up, or has lost its policy. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <netio/loop.hpp>
#include <netio/peer.hpp>

#include "base/call_back.hpp"
#include "pattern/publish/subscribers.hpp"

namespace netio::detail {

class SocketCore;

// A subscriber holds the publisher up for nothing while it takes less than an eighth of what waited
// for it. That time begins at the look before the one that sees it. It ends uncharged when the
// subscriber has taken an eighth, or all; else it is charged to the subscriber's host, at the
// latest when the subscriber goes or changes its policy.
class HoldUps {
 public:
  HoldUps(SocketCore& socket, Subscribers& subscribers, std::chrono::nanoseconds block_for_max);

  CallBack<void(const PeerSnapshot&)> on_policy_changed;
  std::function<void()> on_held_up_no_more;  // set once, by the owner: it may be worth trying again

  // A call of the user's was refused.
  void watch() noexcept {
    const bool to_judge = block_for_max_ns_ != 0 || subscribers_.away() != 0;
    if (to_judge && !timer_.running()) begin();
  }
  // A subscriber asked for Policy::block and is demoted from the start.
  void begins_demoted(Subscriber& subscriber) noexcept;
  // Whether calls of the user are refused because of this subscriber.
  [[nodiscard]] bool holds(const Subscriber& subscriber) const noexcept;
  // The subscriber goes, has another policy now, or wants no tag any more; `held` is whether it
  // held the publisher up before that. The time is charged.
  void end(Subscriber& subscriber, bool held) noexcept;
  // Memory is short: subscribers with a queue may be the cause.
  void lacks_memory(bool lacks) noexcept {
    lacks_memory_ = lacks;
    lacked_memory_ = lacked_memory_ || lacks;
  }
  // What the subscriber has taken so far cannot be compared with what it takes from now on.
  static void measure_again(Subscriber& subscriber) noexcept {
    if (subscriber.held_from_ns != 0 || subscriber.demoted) measure(subscriber);
  }
  void stop() noexcept { timer_.stop(); }
  [[nodiscard]] std::uint64_t demoted() const noexcept { return demoted_; }

 private:
  void begin() noexcept;
  void look();
  // Those that are away and hold the publisher up no more. Whether one still does.
  bool let_absent_go_on() noexcept;
  void judge();
  void tell(const std::vector<const Peer*>& changed);
  // The clock now. It is slower than the loop's where this thread stands still.
  [[nodiscard]] std::int64_t clock_ns() const noexcept;
  static void measure(Subscriber& subscriber) noexcept;
  // Whether and since when it holds the publisher up; what is over is charged.
  void look_at(Subscriber& subscriber, std::int64_t now_ns,
               std::int64_t since_last_look_ns) noexcept;
  [[nodiscard]] bool policy_is_to_change(Subscriber& subscriber, std::int64_t now_ns) noexcept;

  SocketCore& socket_;
  Subscribers& subscribers_;
  std::int64_t block_for_max_ns_;
  Timer timer_;
  std::vector<const Peer*> changing_;
  std::uint64_t demoted_ = 0;
  std::int64_t looked_ns_ = 0;        // when the last look was, by the loop's clock
  std::int64_t looked_clock_ns_ = 1;  // the same by clock_ns(); never 0
  bool lacks_memory_ = false;
  bool lacked_memory_ = false;  // at any time since the last look
};

}  // namespace netio::detail
