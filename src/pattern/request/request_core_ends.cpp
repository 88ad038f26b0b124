// How requests end without an answer: who is told, and when. What the coming and going of repliers
// does to them is in request_core_peers.cpp.
#include <algorithm>
#include <array>
#include <utility>

#include "base/out_of_memory.hpp"
#include "pattern/request/request_core.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"
#include "wire/request.hpp"

namespace netio::detail {

namespace {

constexpr std::uint8_t attempts_max = 8;

// Another time that it was sent may have ended in doubt.
Outcome of_all_attempts(const PendingRequest& request, Outcome last) noexcept {
  return last == Outcome::not_executed ? request.outcome : last;
}

}  // namespace

Status RequestCore::cancel(std::uint64_t id) noexcept {
  PendingRequest* const request = pending_.find_of_user(id);
  if (request == nullptr) return stopped_ ? Status::closed : Status::invalid;
  if (request->state != PendingRequest::State::under_way &&
      request->state != PendingRequest::State::repeating) {
    return Status::invalid;
  }
  end(*request, Outcome::cancelled, true);
  return Status::ok;
}

// The user is told from the loop, unless he has done it. `owes_cancel`: the peer may still execute
// it, or remember it.
void RequestCore::end(PendingRequest& request, Outcome outcome, bool owes_cancel) noexcept {
  outcome = of_all_attempts(request, outcome);
  ++books_.ended[static_cast<std::size_t>(outcome)];
  --books_.under_way;
  const bool repeating = request.state == PendingRequest::State::repeating;
  request.outcome = outcome;
  if (request.to != nullptr && owes_cancel) {
    request.owes_cancel = request.in_owed = true;
    request.to->owed.push(request);
    cancels_owed_ = true;
    // The connection may be coming up, and be settled already.
    Peer& peer = *request.to->peer;
    if (!peer.up()) peer.outgoing.request_fields().set(request.position, withdrawn);
  }
  const bool told = outcome == Outcome::cancelled;
  if (request.to != nullptr) request.to->peer->expects_less();
  // One that is repeated stands in a queue, and is taken out there.
  request.state = told ? PendingRequest::State::ended : PendingRequest::State::failed;
  if (!request.owes_cancel) leave_list(request);
  if (!repeating) {
    if (!told) {
      failed_.push(request);
    } else if (!request.in_owed) {
      pending_.free(request);
    }
  }
  socket_.context().loop.defer(*this);
}

void RequestCore::end_or_repeat(PendingRequest& request, Outcome outcome,
                                bool owes_cancel) noexcept {
  if (!request.idempotent || request.attempts >= attempts_max || stopped_) {
    return end(request, outcome, owes_cancel);
  }
  // Without a limit of its own it is given up when nobody has taken it for as long as a peer may be
  // away.
  if (!request.limited && !make_room_for_deadlines()) return end(request, outcome, owes_cancel);
  leave_list(request);
  request.outcome = of_all_attempts(request, outcome);
  request.state = PendingRequest::State::repeating;
  repeating_.push(request);
  if (!request.limited) {
    request.deadline_ns =
        socket_.context().loop.now().count() + socket_.options().resume_within.count();
    deadlines_.add(request.deadline_ns, request.user_id);
    look_at_deadlines();
  }
  socket_.context().loop.defer(*this);
}

void RequestCore::has_room(Replier& replier) noexcept {
  Peer& peer = *replier.peer;
  if (stopped_ || !may_ask(peer)) return;
  guard_memory([&] { ready_.join(peer); }, []() noexcept {});
  socket_.fill_changed();
  worth_trying_ = true;
  if (wanted_ || !repeating_.empty()) socket_.context().loop.defer(*this);
}

void RequestCore::run_deferred() noexcept {
  tell_failed();
  if (stopped_) return;
  repeat();
  if (std::exchange(cancels_owed_, false)) {
    for (auto& [peer, replier] : repliers_) post_cancels(replier);
  }
  tell_writable();
}

void RequestCore::tell_failed() noexcept {
  while (!failed_.empty()) {
    PendingRequest& request = failed_.pop();
    const std::uint64_t id = request.user_id;
    const Outcome outcome = request.outcome;
    if (request.in_owed) {
      request.state = PendingRequest::State::ended;
    } else {
      pending_.free(request);
    }
    if (on_failed && !stopped_) on_failed(id, outcome);
  }
}

// Behind the requests themselves. What does not fit goes when the link has room.
void RequestCore::post_cancels(Replier& replier) noexcept {
  constexpr std::size_t together = 32;
  constexpr std::size_t frame_bytes = frame_word_bytes + cancel_bytes;
  constexpr auto kind = static_cast<std::uint32_t>(ControlKind::cancel);
  OutgoingStream& stream = replier.peer->outgoing;
  if (replier.owed.empty() || !may_ask(*replier.peer)) return;
  if (stream.post_pending() != Status::ok) return;
  std::array<std::byte, together * frame_bytes> frames;
  while (!replier.owed.empty()) {
    const std::size_t most = std::min(frames.size(), stream.body_max());
    std::size_t bytes = 0;
    std::size_t looked_at = 0;
    for (OwedQueue ahead = replier.owed; !ahead.empty() && bytes + frame_bytes <= most;) {
      const PendingRequest& request = ahead.pop();
      ++looked_at;
      if (!request.owes_cancel) continue;
      store_u64(
          frames.data() + bytes,
          frame_word(cancel_bytes, frame_flag::control | (kind << frame_flag::control_shift)));
      store_u64(frames.data() + bytes + frame_word_bytes, request.id);
      bytes += frame_bytes;
    }
    if (bytes != 0 && stream.post_control_frames({frames.data(), bytes}) != Status::ok) return;
    for (; looked_at != 0; --looked_at) was_told(replier, replier.owed.pop());
  }
}

// The connection may break before the peer has received the request and its end. Then the request,
// which is kept, is marked before it is sent again.
void RequestCore::was_told(Replier& replier, PendingRequest& request) noexcept {
  const OutgoingStream& stream = replier.peer->outgoing;
  const bool kept = stream.resends() && request.position >= stream.books().expected;
  if (!kept || !request.owes_cancel) return leave_owed(request);
  replier.told.push(request);
  ++told_;
  wants_acknowledgements_ = true;
}

void RequestCore::look_at_acknowledged(Peer& peer) noexcept {
  Replier* const replier = find(peer);
  if (replier != nullptr) forget_told(*replier);
}

// The peer has received them.
void RequestCore::forget_told(Replier& replier) noexcept {
  const std::uint64_t expected = replier.peer->outgoing.books().expected;
  while (!replier.told.empty()) {
    const PendingRequest& first = replier.told.front();
    if (first.owes_cancel && first.position >= expected) return;
    leave_owed(pop_told(replier));
  }
}

// The peer was told, or need not be.
void RequestCore::leave_owed(PendingRequest& request) noexcept {
  request.in_owed = false;
  forget_cancel(request);
  if (request.state == PendingRequest::State::ended) pending_.free(request);
}

void RequestCore::forget_cancel(PendingRequest& request) noexcept {
  if (std::exchange(request.owes_cancel, false)) leave_list(request);
}

bool RequestCore::make_room_for_deadlines(std::size_t count) noexcept {
  bool made = true;
  guard_memory(
      [&] {
        deadlines_.make_room(count, [this](std::uint64_t id) {
          const PendingRequest* const request = pending_.find_of_user(id);
          return request != nullptr && request->deadline_ns != 0 &&
                 (request->state == PendingRequest::State::under_way ||
                  request->state == PendingRequest::State::repeating);
        });
      },
      [&]() noexcept { made = false; });
  return made;
}

void RequestCore::look_at_deadlines() noexcept {
  if (deadlines_.empty()) return deadline_timer_.stop();
  const std::int64_t first_ns = deadlines_.first_ns();
  if (deadline_timer_.running() && timer_ns_ <= first_ns) return;
  timer_ns_ = first_ns;
  const std::int64_t left_ns = first_ns - socket_.context().loop.now().count();
  deadline_timer_.start_once(std::chrono::nanoseconds(std::max<std::int64_t>(left_ns, 0)));
}

void RequestCore::expire() noexcept {
  const std::int64_t now_ns = socket_.context().loop.now().count();
  while (!deadlines_.empty() && deadlines_.first_ns() <= now_ns) {
    PendingRequest* const request = pending_.find_of_user(deadlines_.pop());
    if (request == nullptr || stopped_) continue;
    const bool repeating = request->state == PendingRequest::State::repeating;
    if (!repeating && request->state != PendingRequest::State::under_way) continue;
    if (request->deadline_ns == 0 || request->deadline_ns > now_ns) continue;
    end(*request, request->limited ? Outcome::timed_out : request->outcome, true);
  }
  look_at_deadlines();
}

}  // namespace netio::detail
