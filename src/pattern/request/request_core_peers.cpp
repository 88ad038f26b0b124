// The peers of a Request socket: what becomes of the requests to one whose connection ends.
#include <algorithm>
#include <utility>

#include "base/out_of_memory.hpp"
#include "pattern/request/request_core.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "wire/request.hpp"

namespace netio::detail {

Replier* RequestCore::look_up(const Peer& peer) noexcept {
  const auto found = repliers_.find(&peer);
  if (found == repliers_.end()) return nullptr;
  last_found_ = &found->second;
  return last_found_;
}

// It is up, and nothing was said of its end.
bool RequestCore::may_ask(const Peer& peer) noexcept {
  return peer.up() && !peer.leaving() && !peer.ending();
}

void RequestCore::ready(Peer& peer) noexcept {
  if (stopped_) return;
  peer.behind_since_ns = 0;
  guard_memory(
      [&] {
        Replier& replier = repliers_.try_emplace(&peer, peer).first->second;
        fail_from(replier, peer.outgoing.next_position(), Outcome::not_executed);
        if (!full(replier) && !peer.closing()) ready_.join(peer);
        worth_trying_ = true;
        if (replier.owed.empty() && repeating_.empty()) return;
        cancels_owed_ = true;
        socket_.context().loop.defer(*this);
      },
      [&]() noexcept { peer.fail(out_of_memory()); });
}

// A request that has ended, and is to be withdrawn there, is no reason to wait.
bool RequestCore::expects(const Peer& peer) const noexcept {
  const auto found = repliers_.find(&peer);
  if (found == repliers_.end()) return false;
  for (const PendingRequest* each = found->second.first; each != nullptr; each = each->next) {
    if (each->state == PendingRequest::State::under_way) return true;
  }
  return false;
}

// Ends what stands at this position in the stream, or behind it.
void RequestCore::fail_from(Replier& replier, std::uint64_t position, Outcome outcome) noexcept {
  while (replier.last != nullptr && replier.last->position >= position) {
    fail(*replier.last, outcome, false);
  }
}

void RequestCore::fail_before(Replier& replier, std::uint64_t position, Outcome outcome,
                              bool owes_cancel) noexcept {
  PendingRequest* next = replier.first;
  while (next != nullptr && next->position < position) {
    PendingRequest& request = *std::exchange(next, next->next);
    if (request.state == PendingRequest::State::under_way) {
      fail(request, outcome, owes_cancel);
    } else if (!owes_cancel) {
      forget_cancel(request);
    }
  }
}

// Ends a request, if that has not ended; what it owes the peer is forgotten.
void RequestCore::fail(PendingRequest& request, Outcome outcome, bool owes_cancel) noexcept {
  if (request.state == PendingRequest::State::under_way) {
    end_or_repeat(request, outcome, owes_cancel);
  } else {
    forget_cancel(request);
  }
}

// What the peer has not received, and is not sent again, was not executed. Of what is sent again,
// those that have ended meanwhile are marked, so that they are not executed either.
void RequestCore::settled(Peer& peer, std::uint64_t arrived) noexcept {
  if (stopped_) return withdraw_all(peer);
  Replier* const replier = find(peer);
  if (replier == nullptr) return;
  replier->arrived = arrived;
  const std::uint64_t begin = peer.outgoing.books().expected;
  ResendQueue::RequestFields fields = peer.outgoing.request_fields();
  PendingRequest* next = replier->first;
  while (next != nullptr) {
    PendingRequest& request = *std::exchange(next, next->next);
    if (request.position < arrived) continue;
    if (request.position < begin) {
      fail(request, Outcome::not_executed, false);
    } else if (request.position >= peer.outgoing.books().next_sequence) {
      break;  // there was no memory to keep it: it is sent for the first time
    } else if (request.state != PendingRequest::State::under_way) {
      fields.set(request.position, withdrawn);
      forget_cancel(request);
    } else if (request.limited) {
      fields.set(request.position, field_of(request));
    }
  }
}

// Some of its answers were lost with a connection, and nobody knows to which requests.
void RequestCore::lost(Peer& peer, std::uint64_t, std::uint64_t) noexcept {
  Replier* const replier = find(peer);
  if (replier != nullptr) fail_before(*replier, replier->arrived, Outcome::in_doubt, true);
}

// What it acknowledged it has received, and will not answer.
void RequestCore::ended_in_order(Peer& peer) noexcept {
  Replier* const replier = find(peer);
  if (replier != nullptr) {
    fail_from(*replier, peer.outgoing.books().expected, Outcome::not_executed);
    fail_before(*replier, UINT64_MAX, Outcome::in_doubt, false);
  }
  peer.outgoing.drop_pending(DropReason::peer_closed);
}

// Those that may be executed twice do not wait for the peer: another one may be there. Where they
// are kept for this one, they are marked. What was not posted, and is not kept, was not executed.
// The rest waits.
void RequestCore::connection_ended(Peer& peer, DropReason reason) noexcept {
  ready_.leave(peer);
  // This one may be what a call waits for that another one would take.
  worth_trying_ = worth_trying_ || !ready_.empty();
  if (stopped_) peer.outgoing.drop_pending(reason);
  Replier* const replier = find(peer);
  if (replier == nullptr) return;
  forget_told(*replier);
  while (!replier->told.empty()) replier->owed.push(pop_told(*replier));
  peer.outgoing.keep_pending_to_resend();
  ResendQueue::RequestFields fields = peer.outgoing.request_fields();
  PendingRequest* next = replier->first;
  while (next != nullptr) {
    PendingRequest& request = *std::exchange(next, next->next);
    const bool may_repeat = request.state == PendingRequest::State::under_way && request.idempotent;
    if (!may_repeat) continue;
    fields.set(request.position, withdrawn);
    end_or_repeat(request, Outcome::in_doubt, false);
  }
  if (peer.outgoing.resends()) return;
  peer.outgoing.drop_pending(reason);
  fail_from(*replier, peer.outgoing.next_position(), Outcome::not_executed);
}

void RequestCore::given_up(Peer& peer, DropReason reason) noexcept {
  Replier* const replier = find(peer);
  if (replier == nullptr) return;
  ready_.leave(peer);
  peer.outgoing.drop_pending(reason);
  fail_from(*replier, peer.outgoing.next_position(), Outcome::not_executed);
  fail_before(*replier, UINT64_MAX, Outcome::in_doubt, false);
  while (!replier->owed.empty()) leave_owed(replier->owed.pop());
  while (!replier->told.empty()) leave_owed(pop_told(*replier));
  if (last_found_ == replier) last_found_ = nullptr;
  repliers_.erase(&peer);
  worth_trying_ = true;
}

bool RequestCore::awaits(const Peer& peer) const noexcept {
  const auto found = repliers_.find(&peer);
  return found != repliers_.end() && found->second.count != 0;
}

void RequestCore::comes_as(Peer& gone, Peer& peer) noexcept {
  auto node = repliers_.extract(&gone);
  if (node.empty()) return;
  node.key() = &peer;
  repliers_.insert(std::move(node)).position->second.peer = &peer;
}

void RequestCore::wire_idle(Peer& peer) noexcept { peer.outgoing.flush(); }

void RequestCore::tell_writable() noexcept {
  if (!std::exchange(worth_trying_, false) || !wanted_ || stopped_) return;
  wanted_ = false;
  if (on_writable) on_writable();
}

bool RequestCore::end_turn() noexcept { return socket_.end_turn_of_streams(); }

void RequestCore::flush() noexcept {
  if (!stopped_) socket_.flush_streams();
}

void RequestCore::withdraw_all(Peer& peer) noexcept {
  const SendBooks& books = peer.outgoing.books();
  ResendQueue::RequestFields fields = peer.outgoing.request_fields();
  for (std::uint64_t position = books.expected; position != books.next_sequence; ++position) {
    fields.set(position, withdrawn);
  }
}

// Closing: nobody waits for an answer any more. What is kept for a peer that is away is sent again,
// and marked.
void RequestCore::stop() noexcept {
  if (stopped_) return;
  stopped_ = true;
  for (auto& [key, replier] : repliers_) {
    if (!replier.peer->up()) withdraw_all(*replier.peer);
  }
  ready_.clear();
  deadline_timer_.stop();
  books_.ended[static_cast<std::size_t>(Outcome::cancelled)] += std::exchange(books_.under_way, 0);
  last_found_ = nullptr;
  repliers_.clear();
  told_ = 0;
  wants_acknowledgements_ = false;
  failed_.clear();
  repeating_.clear();
  pending_.clear();
}

// Of the peer with the most room.
double RequestCore::fill() const noexcept {
  double least = 1.0;
  for (const Peer* const peer : ready_) least = std::min(least, peer->outgoing.link_fill());
  return least;
}

RequestBooks RequestCore::books() const noexcept { return books_; }

void RequestCore::add_to(Counters& counters) const noexcept {
  counters.bytes_sent += bytes_sent_;
  counters.agains += agains_;
}

}  // namespace netio::detail
