// The peers of a Publish socket: how subscribers come, change their sets, go, and come back.
#include <utility>

#include "base/out_of_memory.hpp"
#include "pattern/publish/publish_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

void PublishCore::ready(Peer& peer) noexcept {
  Subscriber* const known = subscribers.find(peer);
  if (stopped_ && known == nullptr) return;
  if (known == nullptr) {
    guard_memory([&] { subscribers.join(peer); }, [&]() noexcept { peer.fail(out_of_memory()); });
    return;
  }
  if (known->feed.away) {
    guard_memory([&] { subscribers.come_back(*known); },
                 [&]() noexcept { peer.fail(out_of_memory()); });
    if (peer.ending()) return;
  }
  if (stopped_) return;
  look_at_backlog(*known);
}

// Whether it has caught up: the link's events tell only of what the link had refused.
void PublishCore::look_at_backlog(Subscriber& subscriber) noexcept {
  failed_ |= subscriber.feed.failed();
  if (!subscriber.feed.empty()) {
    if (!stopped_) behind_watch.behind(subscriber);
    return;
  }
  subscriber.peer->behind_since_ns = 0;
  worth_trying_ |= std::exchange(subscriber.blocking, false);
}

void PublishCore::not_ready(Peer& peer) noexcept {
  Subscriber* const known = subscribers.find(peer);
  if (known == nullptr) return;
  if (known->feed.away) return;
  const bool served = known->answered != 0 && !known->feed.failed();
  if (served && peer.may_return() && subscribers.may_go_away(*known)) {
    go_away(*known);
  } else {
    leave(*known);
  }
}

// Also one that is away.
void PublishCore::let_go(Peer& peer) noexcept {
  Subscriber* const known = subscribers.find(peer);
  if (known != nullptr) leave(*known);
}

void PublishCore::leave(Subscriber& subscriber) noexcept {
  worth_trying_ |= subscriber.blocking;
  hold_ups.end(subscriber, hold_ups.holds(subscriber));
  behind_watch.forget(subscriber);
  changes_.forget(subscriber);
  subscribers.leave(*subscriber.peer);
}

// What was published for it waits with what is published now, by its policy, as for a subscriber
// that takes nothing.
void PublishCore::go_away(Subscriber& subscriber) noexcept {
  changes_.forget(subscriber);
  subscribers.go_away(subscriber);
  if (subscriber.blocking) hold_ups.watch();
}

void PublishCore::connection_ended(Peer& peer, DropReason reason) noexcept {
  not_ready(peer);
  if (!awaits(peer)) return given_up(peer, reason);
  // What its link had not taken was not taken by it.
  Subscriber& absent = *subscribers.find(peer);
  hold_ups.measure_again(absent);
  look_at_backlog(absent);
}

// The subscription ends with the stream, or with a connection whose stream is not kept: the next
// connection begins with a set of its own.
void PublishCore::given_up(Peer& peer, DropReason reason) noexcept {
  Subscriber* const known = subscribers.find(peer);
  if (known != nullptr) leave(*known);
  peer.outgoing.drop_pending(reason);
  peer.outgoing.give_up_resend();
  peer.behind_since_ns = 0;
  subscribers.forget(peer);
}

bool PublishCore::awaits(const Peer& peer) const noexcept {
  const Subscriber* const known = subscribers.find(peer);
  return known != nullptr && known->feed.away;
}

void PublishCore::comes_as(Peer& gone, Peer& peer) noexcept {
  subscribers.move(gone, peer);
  peer.behind_since_ns = gone.behind_since_ns;
}

bool PublishCore::may_drop(const Peer& peer) const noexcept {
  const Subscriber* const known = subscribers.find(peer);
  return known != nullptr && known->feed.backlog.policy() != Policy::block;
}

void PublishCore::wire_idle(Peer& peer) noexcept {
  const Subscriber* const known = subscribers.find(peer);
  if (known == nullptr || known->group == nullptr) return;
  known->group->close_page_if_idle();
  if (Link* const link = peer.link(); link != nullptr) link->flush();
}

const char* PublishCore::take_control(Peer& peer, const Frame& frame) {
  Subscriber* const known = subscribers.find(peer);
  if (frame.control() != ControlKind::subscribe || known == nullptr || stopped_) {
    return stopped_ ? nullptr : "sent a control frame that is not known here";
  }
  return changes_.take(*known, {frame.payload, frame.size});
}

const char* PublishCore::take_change(Subscriber& subscriber, std::span<const std::byte> payload) {
  if (subscriber.dismissed_since_ns != 0 || stopped_) return nullptr;
  const Peer& peer = *subscriber.peer;
  const bool too_few = subscribers.too_few();
  const bool was_demoted = subscriber.demoted;
  const bool held = hold_ups.holds(subscriber);
  SubscribeFrame change;
  const char* defect = parse(payload, change);
  // To publish takes no memory for this: a group more is to come.
  const std::size_t most = subscribers.groups.all().size() + 1;
  if (active_.capacity() < most) active_.reserve(2 * most);
  if (defect == nullptr) defect = subscribers.take(subscriber, change);
  worth_trying_ |= too_few && !subscribers.too_few();
  // By another policy, or with other tags, it may hold up nothing; if it is still there.
  Subscriber* const changed = subscribers.find(peer);
  if (changed != nullptr) {
    worth_trying_ |= changed->blocking;
    if (!changed->counted || changed->group == nullptr) hold_ups.end(*changed, held);
    if (changed->demoted && !was_demoted) hold_ups.begins_demoted(*changed);
    failed_ |= changed->feed.failed();
    if (failed_) socket_.touch();
  }
  socket_.fill_changed();
  tell_writable();
  return defect;
}

}  // namespace netio::detail
