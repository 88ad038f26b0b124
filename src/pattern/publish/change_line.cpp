// Who waits, and whose turn it is.
#include "pattern/publish/change_line.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {
constexpr std::chrono::milliseconds look_after{2};
// Of one look, which bounds it beside the allowances.
constexpr int changes_at_once = 256;
}  // namespace

ChangeLine::ChangeLine(SocketCore& socket, Subscribers& subscribers, Take take)
    : socket_(socket),
      subscribers_(subscribers),
      take_(std::move(take)),
      timer_(socket.context().loop, [this] { go_on(); }) {}

const char* ChangeLine::take(Subscriber& subscriber, std::span<const std::byte> payload) {
  const std::int64_t now_ns = socket_.context().loop.now().count();
  crowded_ = crowded_ || !subscribers_.allowances.may_change(now_ns);
  if (!crowded_ && subscriber.account->waiting.empty() &&
      subscribers_.allowances.may_change(*subscriber.account, now_ns)) {
    return take_(subscriber, payload);
  }
  return put_aside(subscriber, payload);
}

// The link is paused between two pages only: within one, or with others read behind it, it would
// hold a block of the memory that all peers are read into, and might do so for long. Of tcp a block
// ends where a page ends, so no more than a block is put aside.
const char* ChangeLine::put_aside(Subscriber& subscriber, std::span<const std::byte> payload) {
  std::vector<std::byte>& aside = subscriber.aside;
  const bool first = aside.empty();
  const std::uint64_t bytes = payload.size();
  const std::size_t at = aside.size();
  const std::size_t need = sizeof bytes + payload.size();
  if (at + need > socket_.context().options().page_bytes &&
      need > subscribers_.allowances.may_put_aside(*subscriber.account)) {
    return "sends more changes of its subscription than can wait";
  }
  aside.resize(at + need);
  subscribers_.allowances.put_aside(*subscriber.account, need);
  std::memcpy(aside.data() + at, &bytes, sizeof bytes);
  std::memcpy(aside.data() + at + sizeof bytes, payload.data(), payload.size());
  if (first) {
    subscriber.aside_done = 0;
    turns_.add(*subscriber.account, subscriber);
  }
  if (!subscriber.peer->link()->mid_page()) subscriber.peer->pause(true);
  if (!timer_.running()) timer_.start_periodic(look_after);
  return nullptr;
}

void ChangeLine::forget(Subscriber& subscriber) noexcept {
  turns_.remove(*subscriber.account, subscriber);
  subscribers_.allowances.take_from_aside(*subscriber.account, subscriber.aside.size());
  subscriber.aside = {};
}

// A call-back of the user's may close or destroy the socket, which lives until the turn ends.
void ChangeLine::go_on() {
  Allowances& allowances = subscribers_.allowances;
  const std::int64_t now_ns = socket_.context().loop.now().count();
  // One look more follows the last change: in it the allowances learn that no change waits.
  const bool done = turns_.empty();
  turns_.begin_round();
  for (int left = changes_at_once; left > 0 && timer_.running(); --left) {
    if (!allowances.may_change(now_ns)) break;
    Subscriber* const next =
        turns_.next([&](Account& account) { return allowances.may_change(account, now_ns); });
    crowded_ = crowded_ && next != nullptr;
    if (next == nullptr) break;
    Peer& peer = *next->peer;
    guard_memory([&] { go_on_with(*next); }, [&]() noexcept { peer.fail(out_of_memory()); });
  }
  if (done && turns_.empty()) timer_.stop();
}

void ChangeLine::go_on_with(Subscriber& subscriber) {
  Peer& peer = *subscriber.peer;
  std::uint64_t bytes = 0;
  const std::byte* const at = subscriber.aside.data() + subscriber.aside_done;
  std::memcpy(&bytes, at, sizeof bytes);
  // Taken out, because a call-back may end the subscriber.
  const std::vector<std::byte> payload(at + sizeof bytes, at + sizeof bytes + bytes);
  subscriber.aside_done += sizeof bytes + bytes;
  if (subscriber.aside_done == subscriber.aside.size()) {
    forget(subscriber);
    peer.pause(false);
  }
  const char* const defect = take_(subscriber, payload);
  if (defect != nullptr) peer.fail({DownReason::protocol_error, defect});
}

}  // namespace netio::detail
