// The judgement of who is behind: what was last told, and when it may be told again.
#include "pattern/publish/behind_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {
constexpr std::chrono::milliseconds look_for_behind_after{10};
// Of one subscriber.
constexpr std::int64_t told_apart_ns = 100'000'000;
}  // namespace

BehindWatch::BehindWatch(SocketCore& socket)
    : socket_(socket), timer_(socket.context().loop, [this] { look(); }) {}

void BehindWatch::behind(Subscriber& subscriber) noexcept {
  Peer& peer = *subscriber.peer;
  if (peer.behind_since_ns == 0) peer.behind_since_ns = socket_.context().loop.now().count();
  if (subscriber.watched || (!on_behind && !on_caught_up)) return;
  // Without memory for it, it is looked at another time.
  guard_memory([&] { watched_.push_back(&subscriber); }, []() noexcept {});
  subscriber.watched = !watched_.empty() && watched_.back() == &subscriber;
  if (!subscriber.watched) return;
  if (!timer_.running()) timer_.start_periodic(look_for_behind_after);
}

void BehindWatch::forget(Subscriber& subscriber) noexcept {
  if (std::exchange(subscriber.watched, false)) std::erase(watched_, &subscriber);
}

void BehindWatch::stop() noexcept {
  watched_.clear();
  timer_.stop();
}

// A call-back may close or destroy the socket, which empties the list.
void BehindWatch::look() {
  const std::int64_t now_ns = socket_.context().loop.now().count();
  for (std::size_t i = 0; i < watched_.size();) {
    Subscriber& subscriber = *watched_[i];
    const bool behind = subscriber.peer->behind_since_ns != 0;
    if (!behind && !subscriber.told_behind) {
      forget(subscriber);
      continue;
    }
    ++i;
    if (behind == subscriber.told_behind) continue;
    if (now_ns - subscriber.told_at_ns < told_apart_ns) continue;
    subscriber.told_behind = behind;
    subscriber.told_at_ns = now_ns;
    auto& call = behind ? on_behind : on_caught_up;
    if (call) call(subscriber.peer->snapshot());
  }
  if (watched_.empty()) timer_.stop();
}

}  // namespace netio::detail
