// The judgement of who holds the publisher up for too long.
#include "pattern/publish/hold_ups.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

// It has gone on if it has taken so much of what it had to take. Less, however steady, would let a
// peer that takes a byte a second hold the publisher up for ever.
constexpr std::uint64_t progress_part = 8;

// Looks are made so often within block_for_max.
constexpr std::int64_t looks = 32;
constexpr std::int64_t look_after_min_ns = 1'000'000;
constexpr std::int64_t look_after_max_ns = 100'000'000;

std::int64_t look_after_ns(std::int64_t block_for_max_ns) noexcept {
  return std::clamp(block_for_max_ns / looks, look_after_min_ns, look_after_max_ns);
}

}  // namespace

HoldUps::HoldUps(SocketCore& socket, Subscribers& subscribers,
                 std::chrono::nanoseconds block_for_max)
    : socket_(socket),
      subscribers_(subscribers),
      block_for_max_ns_(block_for_max.count()),
      timer_(socket.context().loop, [this] { look(); }) {}

void HoldUps::begin() noexcept {
  looked_ns_ = socket_.context().loop.now().count();
  timer_.start_periodic(std::chrono::nanoseconds(look_after_ns(block_for_max_ns_)));
}

// From here on: what it has to take, and how far it is.
void HoldUps::measure(Subscriber& subscriber) noexcept {
  const Sender& sender = subscriber.peer.sender;
  subscriber.held_progress = sender.sharing_progress();
  subscriber.held_bytes = sender.unposted_bytes() + subscriber.peer.link()->queued_bytes();
}

bool HoldUps::due(Subscriber& subscriber, std::int64_t now_ns, bool& busy) noexcept {
  const Sender& sender = subscriber.peer.sender;
  if (subscriber.dismissed_since_ns != 0 || subscriber.peer.leaving()) return false;
  if (subscriber.demoted) {
    busy = true;
    const std::int64_t taken = sender.sharing_progress() - subscriber.held_progress;
    const bool goes_on =
        sender.backlog.empty() || taken >= static_cast<std::int64_t>(subscriber.held_bytes);
    return goes_on && subscribers_.allowances.may_block(*subscriber.account, now_ns);
  }
  const bool holds = subscriber.blocking || (lacks_memory_ && !sender.backlog.empty());
  if (sender.backlog.policy() != Policy::block || !holds) {
    subscriber.held_since_ns = 0;
    return false;
  }
  busy = true;
  const std::int64_t progress = sender.sharing_progress();
  const auto enough = static_cast<std::int64_t>(subscriber.held_bytes / progress_part);
  if (subscriber.held_since_ns == 0 || progress - subscriber.held_progress > enough) {
    subscriber.held_since_ns = clock_ns_;
    subscriber.held_from_ns = now_ns;
    measure(subscriber);
    return false;
  }
  return clock_ns_ - subscriber.held_since_ns >=
         subscribers_.allowances.may_hold_ns(*subscriber.account, now_ns);
}

// Judged first and told afterwards: a call-back may end any of them, close the socket or destroy
// it, which lives until the turn ends.
// Without memory for that, the next look does it.
void HoldUps::look() {
  guard_memory([this] { judge(); }, []() noexcept {});
}

void HoldUps::judge() {
  const std::int64_t now_ns = socket_.context().loop.now().count();
  // While this thread stood still, nobody could take anything.
  clock_ns_ +=
      std::min(now_ns - std::exchange(looked_ns_, now_ns), 2 * look_after_ns(block_for_max_ns_));
  bool busy = false;
  due_.clear();
  subscribers_.for_each([&](Subscriber& subscriber) {
    if (due(subscriber, now_ns, busy)) due_.push_back(&subscriber.peer);
  });
  if (!busy) timer_.stop();
  if (due_.empty()) return;
  const std::vector<const Peer*> changed = std::exchange(due_, {});
  for (const Peer* const peer : changed) {
    Subscriber& subscriber = *subscribers_.find(*peer);
    if (!subscriber.demoted) {
      ++demoted_;
      measure(subscriber);
      const std::int64_t held_ns = now_ns - subscriber.held_from_ns;
      subscriber.account->holding.spend(
          static_cast<double>(std::min(held_ns, 2 * block_for_max_ns_)));
    }
    guard_memory([&] { subscribers_.demote(subscriber, !subscriber.demoted); },
                 [&]() noexcept { subscriber.peer.fail(out_of_memory()); });
  }
  socket_.fill_changed();
  for (const Peer* const peer : changed) {
    if (!timer_.running()) return;
    Subscriber* const subscriber = subscribers_.find(*peer);
    if (subscriber != nullptr && on_policy_changed) {
      call_user(on_policy_changed, subscriber->peer.snapshot());
    }
  }
  on_demoted();
}

}  // namespace netio::detail
