// How requests go out, and how each one ends. The coming and going of repliers is in
// request_core_peers.cpp.
#include "pattern/request/request_core.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/option_bounds.hpp"
#include "socket/socket_core.hpp"
#include "wire/request.hpp"

namespace netio::detail {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::uint8_t attempts_max = 8;

std::uint16_t field_of(std::int64_t left_ns) noexcept {
  return time_left_field(
      static_cast<std::uint64_t>(std::max<std::int64_t>(left_ns + ns_per_ms - 1, 0) / ns_per_ms));
}

}  // namespace

RequestCore::RequestCore(SocketCore& socket, const RequestOptions& options)
    : socket_(socket),
      options_(checked(options)),
      deadline_timer_(socket.context().loop, [this] { expire(); }) {
  socket_.receiving.delivery.offered |= ability::requests;
  socket_.receiving.take_requests(this);
}

Status RequestCore::send(std::span<const std::byte> request, std::uint64_t& id,
                         const Ask& ask) noexcept {
  return begin(request, id, ask);
}

Status RequestCore::send(Message& request, std::uint64_t& id, const Ask& ask) noexcept {
  return request ? begin(request, id, ask) : Status::invalid;
}

Status RequestCore::send(const SegmentList& segments, std::uint64_t& id, const Ask& ask) noexcept {
  if (segments.count() > segments_max) return Status::invalid;
  const Status status = begin(segments, id, ask);
  if (status == Status::ok) segments.take_messages();
  return status;
}

namespace {

// What goes over the wire.
std::size_t size_of(std::span<const std::byte> bytes) noexcept { return bytes.size(); }
std::size_t size_of(const Message& message) noexcept { return payload_of(message).size(); }
std::size_t size_of(const SegmentList& segments) noexcept { return segments.bytes(); }

// Copies to be sent again. Throw std::bad_alloc.
Message copy_of(std::span<const std::byte> bytes) { return Message::copy_of(bytes); }
Message copy_of(const Message& message) {
  const std::span<const std::byte> payload = payload_of(message);
  Message copy = Message::copy_of(payload);
  const std::size_t table = payload.size() - message.size();
  copy = Message(copy.release_block(), copy.bytes().subspan(table), 0);
  copy.set_segmented(message.segmented());
  return copy;
}
Message copy_of(const SegmentList& segments) { return segments.copied(0); }

}  // namespace

template <typename Payload>
Status RequestCore::begin(Payload& payload, std::uint64_t& id, const Ask& ask) noexcept {
  if (stopped_) return Status::closed;
  if (ask.within.count() < 0 || ask.within > time_most) return Status::invalid;
  const std::size_t bytes = size_of(payload);
  PendingRequest* const request = pending_.next_free();
  Message copy;
  if (request == nullptr || !prepare(ask, payload, copy)) return refused(bytes);
  const std::int64_t within_ns = ask.within.count();
  const Label label = request_label(request->id, within_ns == 0 ? 0 : field_of(within_ns));
  Peer* asked = nullptr;
  const Status status =
      ask.peer == 0 ? ask_any(payload, label, asked) : ask_one(ask.peer, payload, label, asked);
  if (status != Status::ok) return status;
  pending_.take(*request);
  id = request->user_id;
  request->idempotent = ask.idempotent;
  if (ask.idempotent) {
    request->only_peer = ask.peer;
    request->copy = std::move(copy);
  }
  request->deadline_ns = within_ns == 0 ? 0 : socket_.context().loop.now().count() + within_ns;
  if (within_ns != 0) {
    deadlines_.add(request->deadline_ns, id);
    look_at_deadlines();
  }
  ++books_.asked;
  ++books_.under_way;
  bytes_sent_ += bytes;
  under_way(*request, *asked);
  return status;
}

// What is needed once it was sent, while it may still be refused.
template <typename Payload>
bool RequestCore::prepare(const Ask& ask, const Payload& payload, Message& copy) noexcept {
  if (ask.within.count() == 0 && !ask.idempotent) return true;
  bool prepared = true;
  guard_memory(
      [&] {
        if (ask.within.count() != 0) {
          deadlines_.make_room([this](std::uint64_t id) {
            const PendingRequest* const request = pending_.find_of_user(id);
            return request != nullptr && (request->state == PendingRequest::State::under_way ||
                                          request->state == PendingRequest::State::repeating);
          });
        }
        if (ask.idempotent) copy = copy_of(payload);
      },
      [&]() noexcept { prepared = false; });
  return prepared;
}

void RequestCore::under_way(PendingRequest& request, Peer& peer) noexcept {
  Replier& replier = *find(peer);
  request.state = PendingRequest::State::under_way;
  request.position = peer.outgoing.next_position() - 1;
  ++request.attempts;
  request.to = &replier;
  request.previous = std::exchange(replier.last, &request);
  request.next = nullptr;
  (request.previous != nullptr ? request.previous->next : replier.first) = &request;
  ++replier.under_way;
  if (++replier.count >= options_.pending_max) ready_.leave(peer);
  if (socket_.options().mode != Mode::buffered) socket_.fill_changed();
}

template <typename Payload>
Status RequestCore::ask_any(Payload& payload, Label label, Peer*& asked) noexcept {
  for (std::size_t too_small = 0; too_small < ready_.size();) {
    Peer& peer = ready_.next();
    const Status status = post(peer, payload, label);
    if (status == Status::ok) {
      ready_.next_turn();
      asked = &peer;
      return status;
    }
    if (status == Status::too_big) {
      ready_.next_turn();
      ++too_small;
    } else if (status == Status::again || status == Status::not_connected) {
      ready_.leave(peer);
      peer.behind_since_ns = socket_.context().loop.now().count();
    } else {
      return status;
    }
  }
  if (!ready_.empty() && ready_.size() == socket_.peers_connected()) return Status::too_big;
  return refused(size_of(payload));
}

template <typename Payload>
Status RequestCore::ask_one(std::uint64_t id, Payload& payload, Label label,
                            Peer*& asked) noexcept {
  Peer* const peer = socket_.find_peer(id);
  const std::size_t bytes = size_of(payload);
  if (peer == nullptr || !may_ask(*peer)) {
    const Status status = refused(bytes);
    return status == Status::again ? Status::not_connected : status;
  }
  if (full(*find(*peer))) return refused(bytes);
  const Status status = post(*peer, payload, label);
  if (status == Status::ok) {
    asked = peer;
  } else if (status == Status::again || status == Status::not_connected) {
    ready_.leave(*peer);
    peer->behind_since_ns = socket_.context().loop.now().count();
    return refused(bytes);
  }
  return status;
}

// No peer takes it now.
Status RequestCore::refused(std::size_t bytes) noexcept {
  if (bytes > socket_.options().message_bytes_max) return Status::too_big;
  wanted_ = true;
  ++agains_;
  socket_.touch();
  return socket_.peers_connected() != 0 ? Status::again : Status::not_connected;
}

Status RequestCore::post(Peer& peer, std::span<const std::byte> bytes, Label label) noexcept {
  return peer.outgoing.put(bytes, label, socket_.options().mode);
}

Status RequestCore::post(Peer& peer, Message& message, Label label) noexcept {
  return peer.outgoing.put(message, label, socket_.options().mode);
}

Status RequestCore::post(Peer& peer, const SegmentList& segments, Label label) noexcept {
  return peer.outgoing.put(segments, label, socket_.options().mode);
}

Message RequestCore::allocate(std::size_t bytes, Status& status, std::size_t head_bytes) noexcept {
  status = Status::closed;
  if (stopped_) return {};
  if (ready_.empty()) {
    status = refused(bytes);
    return {};
  }
  Message message = ready_.next().outgoing.allocate_message(bytes, 0, status, head_bytes);
  if (status == Status::again) {
    wanted_ = true;
    ++agains_;
  }
  return message;
}

RequestTaker::Breach RequestCore::admit(Label label) noexcept {
  if (!is_request(label)) return {"a message that is no answer"};
  if (request_field(label) > static_cast<std::uint16_t>(AnswerStatus::not_answered)) {
    return {"an answer with a status that is not known"};
  }
  return {};
}

void RequestCore::begin_page(Peer& peer, bool) noexcept { at_hand_ = &peer; }

// Whatever a peer sends, an answer ends a request that this peer was asked, and nothing else.
void RequestCore::take(const MessageView& message, Label label) noexcept {
  PendingRequest* const request = pending_.find(label.number);
  if (request == nullptr || request->state != PendingRequest::State::under_way ||
      request->to->peer != at_hand_) {
    ++books_.late;
    return;
  }
  const bool answered = request_field(label) == static_cast<std::uint16_t>(AnswerStatus::answered);
  const Outcome outcome = answered ? Outcome::answered : Outcome::not_answered;
  const std::uint64_t id = request->user_id;
  ++books_.ended[static_cast<std::size_t>(outcome)];
  --books_.under_way;
  leave_list(*request);
  pending_.free(*request);
  if (answered) {
    if (!on_reply_) return;
    calling_ = true;
    on_reply_(id, message);
    calling_ = false;
    if (next_on_reply_) {
      on_reply_ = std::move(*next_on_reply_);
      next_on_reply_.reset();
    }
  } else if (on_failed) {
    on_failed(id, outcome);
  }
}

// Not from inside the call-back that is replaced: then it is replaced behind that.
void RequestCore::on_reply(std::function<void(std::uint64_t, const MessageView&)> call) {
  if (calling_) {
    next_on_reply_ = std::move(call);
  } else {
    on_reply_ = std::move(call);
  }
}

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
  ++books_.ended[static_cast<std::size_t>(outcome)];
  --books_.under_way;
  const bool repeating = request.state == PendingRequest::State::repeating;
  request.outcome = outcome;
  if (request.to != nullptr) {
    --request.to->under_way;
    if (owes_cancel) {
      request.owes_cancel = request.in_owed = true;
      request.to->owed.push(request);
      cancels_owed_ = true;
    }
  }
  const bool told = outcome == Outcome::cancelled;
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
  --request.to->under_way;
  leave_list(request);
  request.state = PendingRequest::State::repeating;
  repeating_.push(request);
  socket_.context().loop.defer(*this);
}

// It does not count for its peer any more.
void RequestCore::leave_list(PendingRequest& request) noexcept {
  Replier* const replier = std::exchange(request.to, nullptr);
  if (replier == nullptr) return;
  if (request.state == PendingRequest::State::under_way) --replier->under_way;
  (request.previous != nullptr ? request.previous->next : replier->first) = request.next;
  (request.next != nullptr ? request.next->previous : replier->last) = request.previous;
  if (replier->count-- == options_.pending_max) has_room(*replier);
}

void RequestCore::has_room(Replier& replier) noexcept {
  Peer& peer = *replier.peer;
  if (stopped_ || !may_ask(peer)) return;
  guard_memory([&] { ready_.join(peer); }, []() noexcept {});
  worth_trying_ = true;
  if (wanted_) socket_.context().loop.defer(*this);
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

// Those that may be sent again, to whoever is ready.
void RequestCore::repeat() noexcept {
  ToDoQueue later;
  while (!repeating_.empty()) {
    PendingRequest& request = repeating_.pop();
    if (request.state != PendingRequest::State::repeating) {  // it ended meanwhile
      if (request.state == PendingRequest::State::failed) {
        failed_.push(request);
        socket_.context().loop.defer(*this);
      } else {
        pending_.free(request);
      }
      continue;
    }
    pending_.renew_id(request);
    const std::int64_t left_ns =
        request.deadline_ns == 0 ? 0 : request.deadline_ns - socket_.context().loop.now().count();
    Label label = request_label(request.id, request.deadline_ns == 0 ? 0 : field_of(left_ns));
    label.flags |= label_of(request.copy).flags;
    const std::span<const std::byte> bytes = payload_of(request.copy);
    Peer* asked = nullptr;
    const Status status = request.only_peer == 0 ? ask_any(bytes, label, asked)
                                                 : ask_one(request.only_peer, bytes, label, asked);
    if (status == Status::ok) {
      ++books_.repeated;
      under_way(request, *asked);
    } else if (status == Status::again || status == Status::not_connected) {
      later.push(request);
    } else {
      request.state = PendingRequest::State::under_way;  // of nobody
      end(request, Outcome::not_executed, false);
    }
  }
  repeating_ = later;
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
    for (; looked_at != 0; --looked_at) leave_owed(replier.owed.pop());
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
    if (request->state == PendingRequest::State::under_way ||
        request->state == PendingRequest::State::repeating) {
      end(*request, Outcome::timed_out, true);
    }
  }
  look_at_deadlines();
}

}  // namespace netio::detail
