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
  if (subscriber.aside.empty() && subscribers_.allowances.may_change(
                                      *subscriber.account, socket_.context().loop.now().count())) {
    return take_(subscriber, payload);
  }
  put_aside(subscriber, payload);
  return nullptr;
}

// Bounded: nothing is read behind the page that this is a part of.
void ChangeLine::put_aside(Subscriber& subscriber, std::span<const std::byte> payload) {
  std::vector<std::byte>& aside = subscriber.aside;
  if (aside.empty()) {
    waiting_.push_back(&subscriber.peer);
    subscriber.aside_done = 0;
  }
  const std::uint64_t bytes = payload.size();
  const std::size_t at = aside.size();
  aside.resize(at + sizeof bytes + payload.size());
  std::memcpy(aside.data() + at, &bytes, sizeof bytes);
  std::memcpy(aside.data() + at + sizeof bytes, payload.data(), payload.size());
  subscriber.peer.pause(true);
  if (!timer_.running()) timer_.start_periodic(look_after);
}

// One change of each in turn. A call-back of the user's may close or destroy the socket, which
// lives until the turn ends.
void ChangeLine::go_on() {
  for (int left = changes_at_once; left > 0 && timer_.running(); --left) {
    std::size_t at = 0;
    Subscriber* next = nullptr;
    while (at < waiting_.size()) {
      next = subscribers_.find(*waiting_[at]);
      // Gone; or another peer is where it was.
      if (next == nullptr || next->aside.empty()) {
        next = nullptr;
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      if (subscribers_.allowances.may_change(*next->account, socket_.context().loop.now().count()))
        break;
      next = nullptr;
      ++at;
    }
    if (next == nullptr) break;
    Peer& peer = next->peer;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
    guard_memory(
        [&] {
          if (go_on_with(*next) && subscribers_.find(peer) != nullptr) waiting_.push_back(&peer);
        },
        [&]() noexcept { peer.fail(out_of_memory()); });
  }
  if (waiting_.empty()) timer_.stop();
}

bool ChangeLine::go_on_with(Subscriber& subscriber) {
  Peer& peer = subscriber.peer;
  std::uint64_t bytes = 0;
  const std::byte* const at = subscriber.aside.data() + subscriber.aside_done;
  std::memcpy(&bytes, at, sizeof bytes);
  // Taken out, because a call-back may end the subscriber.
  const std::vector<std::byte> payload(at + sizeof bytes, at + sizeof bytes + bytes);
  subscriber.aside_done += sizeof bytes + bytes;
  const bool more = subscriber.aside_done < subscriber.aside.size();
  if (!more) {
    subscriber.aside = {};
    peer.pause(false);
  }
  const char* const defect = take_(subscriber, payload);
  if (defect != nullptr) peer.fail({DownReason::protocol_error, defect});
  return more && defect == nullptr;
}

}  // namespace netio::detail
