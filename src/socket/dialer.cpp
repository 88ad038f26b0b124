// When the next attempt to connect is made, by how the last one ended.
#include "socket/dialer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "socket/retry_delay.hpp"

namespace netio::detail {

namespace {

// The delay to a place that answered wrongly, if reconnect_after_max is shorter; less up to half of
// it, at random.
constexpr std::int64_t slow_retry_ns = 1'000'000'000;

// What a netio there has said is an answer for good, unless a netio that pairs with this one was
// met there before: another release is being started, or another program for a while.
bool final_answer(DownReason reason) noexcept {
  return reason == DownReason::version_mismatch || reason == DownReason::pattern_mismatch;
}

// The address is wrong, or the program there, or neither of them is there yet: it is tried again
// slowly, if at all. A name becomes known when its host or container starts. What speaks no netio
// may stand in for a program that is about to.
bool wrong_place(DownReason reason) noexcept {
  return final_answer(reason) || reason == DownReason::name_unknown ||
         reason == DownReason::foreign_protocol;
}

// The name service may say of a name that is not known yet that it cannot tell.
bool told_once(DownReason reason) noexcept {
  return wrong_place(reason) || reason == DownReason::name_temporary;
}

}  // namespace

Dialer::Dialer(Loop& loop, const SocketOptions& options, Url url, std::function<void()> dial)
    : loop_(loop), options_(options), url_(std::move(url)), timer_(loop, std::move(dial)) {}

void Dialer::came_up() noexcept {
  retrying_ = false;
  up_since_ns_ = loop_.now().count();
}

bool Dialer::ended(const Ending& ending) noexcept {
  const bool once = told_once(ending.reason);
  const bool told_before = once && !ending.was_up && told_ == ending.reason;
  told_ = once ? std::optional(ending.reason) : std::nullopt;
  retrying_ = ending.wanted && (ending.met || !final_answer(ending.reason));
  if (!retrying_) return false;
  timer_.start_once(std::chrono::nanoseconds(next_delay_ns(wrong_place(ending.reason))));
  return told_before;
}

void Dialer::dial_at_once(bool wanted) noexcept {
  retrying_ = wanted;
  if (retrying_) timer_.start_once(std::chrono::nanoseconds(0));
}

// None after a connection that lasted for longer than the last delay: a peer that is there is back
// at once. The first delay, if it lasted for longer than the delay before it: a network that is cut
// again and again is used for half of the time at least. Else it grows by a half, up to the last
// delay. A random half is taken off, so that many peers of one that restarts do not come back in
// step. `slowly`: after the longest delay, or a second if that is longer, because what answers
// there may never have heard of netio.
std::int64_t Dialer::next_delay_ns(bool slowly) noexcept {
  const std::int64_t longest_ns = options_.reconnect_after_max.count();
  const std::int64_t shortest_ns = options_.reconnect_after_min.count();
  if (const std::int64_t up_since_ns = std::exchange(up_since_ns_, 0); up_since_ns != 0) {
    const std::int64_t up_for_ns = loop_.now().count() - up_since_ns;
    if (up_for_ns > std::max(delay_ns_, shortest_ns)) attempts_ = 0;
    if (up_for_ns > longest_ns && !slowly) return delay_ns_ = 0;
  }
  delay_ns_ = slowly ? std::max<std::int64_t>(longest_ns, slow_retry_ns)
                     : retry_delay_ns(shortest_ns, longest_ns, attempts_);
  attempts_ = std::min(attempts_ + 1, retry_delays_max);
  return less_random_half(delay_ns_);
}

}  // namespace netio::detail
