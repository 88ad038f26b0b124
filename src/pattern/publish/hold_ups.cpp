// Judges which subscribers hold the publisher up for too long.
#include "pattern/publish/hold_ups.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

// A subscriber has gone on if it has taken this part of what it had to take. Less, however steady,
// would let a peer that takes a byte a second hold the publisher up for ever.
constexpr std::uint64_t progress_part = 8;

// Looks are made so often within block_for_max.
constexpr std::int64_t looks = 32;
constexpr std::int64_t look_after_min_ns = 1'000'000;
constexpr std::int64_t look_after_max_ns = 100'000'000;

std::int64_t look_after_ns(std::int64_t block_for_max_ns) noexcept {
  if (block_for_max_ns == 0) return look_after_max_ns;
  return std::clamp(block_for_max_ns / looks, look_after_min_ns, look_after_max_ns);
}

// Whether the subscriber has taken `bytes` of what waited for it when it was measured.
bool has_taken(const Subscriber& subscriber, std::uint64_t bytes) noexcept {
  const std::int64_t taken = subscriber.feed.progress() - subscriber.held_progress;
  return subscriber.feed.empty() || taken >= static_cast<std::int64_t>(bytes);
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

// While this thread stood still, nobody could take anything.
std::int64_t HoldUps::clock_ns() const noexcept {
  if (!timer_.running()) return looked_clock_ns_;
  const std::int64_t passed_ns = socket_.context().loop.now().count() - looked_ns_;
  return looked_clock_ns_ + std::min(passed_ns, 2 * look_after_ns(block_for_max_ns_));
}

bool HoldUps::holds(const Subscriber& subscriber) const noexcept {
  if (!subscriber.counted) return false;
  return subscriber.blocking || (lacked_memory_ && !subscriber.feed.empty());
}

// Measures from now on: how much the subscriber has to take, and how much it has taken.
void HoldUps::measure(Subscriber& subscriber) noexcept {
  const Link* const link = subscriber.peer->link();
  subscriber.held_progress = subscriber.feed.progress();
  subscriber.held_bytes =
      subscriber.peer->outgoing.unposted_bytes() + (link != nullptr ? link->queued_bytes() : 0);
}

void HoldUps::begins_demoted(Subscriber& subscriber) noexcept {
  measure(subscriber);
  watch();
}

// Without a look at what it has taken: nobody knows what a connection that ends had taken.
void HoldUps::end(Subscriber& subscriber, bool held) noexcept {
  const bool seen = subscriber.held_from_ns != 0;
  if (block_for_max_ns_ != 0 && (seen || held)) {
    subscriber.account->charge_held(seen ? subscriber.held_from_ns : looked_clock_ns_, clock_ns());
  }
  subscriber.held_from_ns = 0;
  subscriber.blocking = false;
}

void HoldUps::look_at(Subscriber& subscriber, std::int64_t now_ns,
                      std::int64_t since_last_look_ns) noexcept {
  std::int64_t from_ns = subscriber.held_from_ns;
  const bool goes_on = from_ns != 0 && has_taken(subscriber, subscriber.held_bytes / progress_part);
  const bool holds_now = holds(subscriber);
  if (goes_on) from_ns = 0;
  if (holds_now && from_ns == 0) {
    from_ns = goes_on ? looked_clock_ns_ : looked_clock_ns_ - since_last_look_ns;
    measure(subscriber);
  } else if (!holds_now && from_ns != 0) {
    from_ns += since_last_look_ns;  // this time does not count, and the time before is kept
  }
  subscriber.held_from_ns = from_ns;
  subscriber.held_too_long = false;
  if (!holds_now) return;
  subscriber.held_too_long =
      looked_clock_ns_ - from_ns >= block_for_max_ns_ + look_after_ns(block_for_max_ns_);
  Account& account = *subscriber.account;
  const auto uncharged_ns = static_cast<double>(account.uncharged_ns(from_ns, looked_clock_ns_));
  if (subscriber.held_too_long || uncharged_ns >= account.holding.left(now_ns)) {
    account.charge_held(from_ns, looked_clock_ns_);
  }
}

// All subscribers of a host that has no time left lose their policy, not only those that hold the
// publisher up now: else each of them would, for as long as it takes to see it.
bool HoldUps::policy_is_to_change(Subscriber& subscriber, std::int64_t now_ns) noexcept {
  Account& account = *subscriber.account;
  if (subscriber.demoted) {
    return has_taken(subscriber, subscriber.held_bytes) &&
           subscribers_.allowances.may_block(account, now_ns);
  }
  return subscriber.counted && (subscriber.held_too_long || account.holding.left(now_ns) <= 0);
}

// One that is away may hold the publisher up because pages are scarce, and its link tells nobody
// when they are not any more.
bool HoldUps::let_absent_go_on() noexcept {
  bool go_on = false;
  bool holds_up = false;
  subscribers_.for_each([&](Subscriber& subscriber) {
    if (!subscriber.feed.away || !subscriber.blocking) return;
    subscriber.blocking = subscriber.feed.blocked();
    go_on = go_on || !subscriber.blocking;
    holds_up = holds_up || subscriber.blocking;
  });
  if (go_on) on_held_up_no_more();
  return holds_up;
}

// Without memory for that, the next look does it.
void HoldUps::look() {
  const bool absent_hold_up = let_absent_go_on();
  if (!timer_.running()) return;  // the user closed the socket in a call-back
  if (block_for_max_ns_ != 0) return guard_memory([this] { judge(); }, []() noexcept {});
  if (!absent_hold_up) timer_.stop();
}

// All subscribers are judged before the user is told. A call-back may end any of them, and close or
// destroy the socket, which lives until the turn ends.
void HoldUps::judge() {
  const std::int64_t now_ns = socket_.context().loop.now().count();
  const std::int64_t before_ns = std::exchange(looked_clock_ns_, clock_ns());
  looked_ns_ = now_ns;
  const auto judged = [](const Subscriber& subscriber) {
    return subscriber.dismissed_since_ns == 0 && !subscriber.peer->leaving() &&
           (subscriber.feed.away || subscriber.peer->link() != nullptr);
  };
  bool busy = false;
  subscribers_.for_each([&](Subscriber& subscriber) {
    if (!judged(subscriber)) return;
    look_at(subscriber, now_ns, looked_clock_ns_ - before_ns);
    busy = busy || subscriber.demoted || holds(subscriber);
  });
  changing_.clear();
  subscribers_.for_each([&](Subscriber& subscriber) {
    if (judged(subscriber) && policy_is_to_change(subscriber, now_ns)) {
      changing_.push_back(subscriber.peer);
    }
  });
  lacked_memory_ = lacks_memory_;
  if (!busy && changing_.empty()) timer_.stop();
  if (changing_.empty()) return;
  const std::vector<const Peer*> changed = std::exchange(changing_, {});
  for (const Peer* const peer : changed) {
    Subscriber& subscriber = *subscribers_.find(*peer);
    if (!subscriber.demoted) {
      ++demoted_;
      measure(subscriber);
      subscriber.held_from_ns = 0;
    }
    subscribers_.demote(subscriber, !subscriber.demoted);
  }
  socket_.fill_changed();
  tell(changed);
}

// The user is told that a subscriber has its policy back only if it was told that it had lost it.
void HoldUps::tell(const std::vector<const Peer*>& changed) {
  for (const Peer* const peer : changed) {
    if (!timer_.running()) return;
    Subscriber* const subscriber = subscribers_.find(*peer);
    if (subscriber == nullptr || !on_policy_changed) continue;
    const bool told_before = std::exchange(subscriber->told_demoted, subscriber->demoted);
    if (subscriber->demoted || told_before) on_policy_changed(subscriber->peer->snapshot());
  }
  on_held_up_no_more();
}

}  // namespace netio::detail
