// The peers of a Reply socket: how requesters come, go, and come back, and what holds them back.
#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "pattern/reply/reply_core.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "wire/request.hpp"

namespace netio::detail {

Requester* ReplyCore::look_up(const Peer& peer) noexcept {
  const auto found = requesters_.find(&peer);
  if (found == requesters_.end()) return nullptr;
  last_found_ = &found->second;
  return last_found_;
}

void ReplyCore::ready(Peer& peer) noexcept {
  Requester* known = find(peer);
  if (known == nullptr) {
    if (stopped_) return;
    guard_memory(
        [&] {
          known = &requesters_.try_emplace(&peer, peer, *this).first->second;
          known->waiting.go_to(&peer.outgoing);
        },
        [&]() noexcept { peer.fail(out_of_memory()); });
    if (known == nullptr) return;
  }
  known->held = peer.paused();
  look_whether_held(*known);
  if (!known->waiting.empty()) return;
  peer.behind_since_ns = 0;
  worth_trying_ = true;
}

std::size_t ReplyCore::waiting_bytes_max() const noexcept {
  return 2 * socket_.options().send_bytes_max;
}

std::size_t ReplyCore::held_bytes(const Requester& requester) const noexcept {
  const std::size_t part = requester.peer->outgoing.resends() ? 2 : 4;
  return waiting_bytes_max() / part;
}

// While many answers have to wait, or too many requests are open, no more are taken from this
// requester. With few that wait it is read, because it brings acknowledgements too; where answers
// are kept until they are acknowledged, with more.
void ReplyCore::look_whether_held(Requester& requester) noexcept {
  const bool waits = requester.held ? !requester.waiting.empty()
                                    : requester.waiting.bytes() >= held_bytes(requester);
  const bool holds = waits || requester.open_count >= options_.open_max;
  if (stopped_ || holds == requester.held) return;
  requester.held = holds;
  (void)socket_.receiving.pause_peer(requester.peer->id(), holds);
}

// Possibly inside a call of the user's.
void ReplyCore::waits_no_more(Requester& requester) noexcept {
  look_whether_held(requester);
  worth_trying_ = true;
  if (wanted_) socket_.context().loop.defer(*this);
}

void ReplyCore::leave_open(ReplyTicket& ticket) noexcept {
  Requester& requester = *ticket.from;
  hub_->leave(ticket);
  look_whether_held(requester);
}

void ReplyCore::ended_in_order(Peer& peer) noexcept {
  Requester* const known = find(peer);
  if (known != nullptr) give_up(*known);
}

// What was taken for the requester and not posted has no position in the stream: it waits here
// until the requester is back. What lacked room on the connection may be tried again.
void ReplyCore::connection_ended(Peer& peer, DropReason) noexcept {
  worth_trying_ = true;
  Requester* const known = find(peer);
  if (known != nullptr) known->waiting.take_back(peer.outgoing);
}

void ReplyCore::given_up(Peer& peer, DropReason reason) noexcept {
  Requester* const known = find(peer);
  if (known == nullptr) return;
  // If it comes back, it must not wait for answers that nobody will give any more.
  if (reason == DropReason::not_sent && awaits(peer)) {
    peer.outgoing.lose_one();
    if (!known->waiting.empty()) known->waiting.lose_first();
  }
  give_up(*known);
  peer.outgoing.drop_pending(reason);
  known->waiting.go_to(nullptr);
  if (last_found_ == known) last_found_ = nullptr;
  requesters_.erase(&peer);
  worth_trying_ = true;
}

// It will not ask for the answers that are still to come.
void ReplyCore::give_up(Requester& requester) noexcept {
  if (asks_now(requester)) {
    ++books_.unwanted;
    leave(*called_with_);
  }
  while (requester.open != nullptr) {
    ++books_.unwanted;
    hub_->leave(*requester.open);
  }
}

bool ReplyCore::awaits(const Peer& peer) const noexcept {
  const auto found = requesters_.find(&peer);
  if (found == requesters_.end()) return false;
  const Requester& requester = found->second;
  return requester.open_count != 0 || !requester.waiting.empty() || asks_now(requester);
}

void ReplyCore::comes_as(Peer& gone, Peer& peer) noexcept {
  auto node = requesters_.extract(&gone);
  if (node.empty()) return;
  node.key() = &peer;
  Requester& requester = requesters_.insert(std::move(node)).position->second;
  requester.peer = &peer;
  requester.waiting.go_to(&peer.outgoing);
}

const char* ReplyCore::take_control(Peer& peer, const Frame& frame) {
  if (frame.control() != ControlKind::cancel) return "sent a control frame that is not known here";
  if (frame.size != cancel_bytes) return "sent a damaged *cancel*";
  Requester* const known = find(peer);
  if (known == nullptr || stopped_) return nullptr;
  ReplyTicket* const ticket = hub_->find(*known, load_once(frame.payload));
  if (ticket == nullptr) return nullptr;
  ++books_.unwanted;
  leave(*ticket);
  return nullptr;
}

void ReplyCore::wire_idle(Peer& peer) noexcept { peer.outgoing.flush(); }

void ReplyCore::tell_writable() noexcept {
  if (!std::exchange(worth_trying_, false) || !wanted_ || stopped_) return;
  wanted_ = false;
  if (on_writable) on_writable();
}

bool ReplyCore::end_turn() noexcept { return socket_.end_turn_of_streams(); }

void ReplyCore::flush() noexcept {
  if (!stopped_) socket_.flush_streams();
}

// Closing: the good-byes go behind what is said here. Destroyed: nothing more leaves.
void ReplyCore::stop() noexcept {
  if (stopped_) return;
  stopped_ = socket_.abandoned();
  for (auto& [peer, requester] : requesters_) {
    if (!stopped_) refuse_to_answer_all(requester);
  }
  stopped_ = true;
}

// Its good-bye goes behind that.
void ReplyCore::let_go(Peer& peer) noexcept {
  Requester* const known = find(peer);
  if (known != nullptr) refuse_to_answer_all(*known);
}

void ReplyCore::refuse_to_answer_all(Requester& requester) noexcept {
  if (asks_now(requester)) refuse_to_answer(*called_with_);
  while (requester.open != nullptr) refuse_to_answer(*requester.open);
}

void ReplyCore::freeze() noexcept { stopped_ = true; }

// Of the requester for which most waits.
double ReplyCore::fill() const noexcept {
  std::size_t most = 0;
  for (const auto& [peer, requester] : requesters_) {
    most = std::max(most, requester.waiting.bytes());
  }
  const double of = static_cast<double>(waiting_bytes_max());
  return std::min(1.0, static_cast<double>(most) / of);
}

void ReplyCore::add_to(Counters& counters) const noexcept {
  counters.bytes_sent += bytes_sent_;
  counters.agains += agains_;
}

}  // namespace netio::detail
