// How requests go out and answers come in. How requests end without one is in
// request_core_ends.cpp.
#include "pattern/request/request_core.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/message_to_all.hpp"
#include "socket/option_bounds.hpp"
#include "socket/own_copy.hpp"
#include "socket/socket_core.hpp"
#include "wire/request.hpp"

namespace netio::detail {

std::uint16_t RequestCore::field_of(const PendingRequest& request) const noexcept {
  if (!request.limited) return 0;
  return time_left_field_of_ns(request.deadline_ns - socket_.context().loop.now().count());
}

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
  if (!segments.make_sense()) return Status::invalid;
  const Status status = begin(segments, id, ask);
  if (status == Status::ok) segments.take_messages();
  return status;
}

namespace {

// Copies to be sent again. Throw std::bad_alloc.
Message copy_of(std::span<const std::byte> bytes) { return Message::copy_of(bytes); }
Message copy_of(const Message& message) {
  Message copy = own_copy(message);
  if (!copy) throw std::bad_alloc();
  return copy;
}
Message copy_of(const SegmentList& segments) { return segments.copied(0); }

}  // namespace

template <typename Payload>
inline Status RequestCore::ask_any(Payload& payload, Label label, Peer*& asked) noexcept {
  std::size_t too_small = 0;
  while (!ready_.empty() && too_small != ready_.size()) {
    Peer& peer = ready_.next();
    const Status status = peer.outgoing.put(payload, label, socket_.options().mode);
    if (status == Status::ok) [[likely]] {
      ready_.next_turn();
      asked = &peer;
      return status;
    }
    if (!pass_over(peer, status, too_small)) return status;
  }
  const bool all = !ready_.empty() && ready_.size() == socket_.peers_connected();
  return all ? Status::too_big : Status::again;
}

inline void RequestCore::begun(PendingRequest& request, Peer& peer, std::size_t bytes) noexcept {
  pending_.take(request);
  ++books_.asked;
  ++books_.under_way;
  bytes_sent_ += bytes;
  under_way(request, peer);
}

inline void RequestCore::under_way(PendingRequest& request, Peer& peer) noexcept {
  Replier& replier = *find(peer);
  request.position = peer.outgoing.next_position() - 1;
  replier.append(request);
  const bool fills_up = replier.count >= options_.pending_max;
  if (fills_up) ready_.leave(peer);
  if (fills_up || socket_.options().mode != Mode::buffered) socket_.fill_changed();
}

template <typename Payload>
Status RequestCore::begin(Payload& payload, std::uint64_t& id, const Ask& ask) noexcept {
  if (ask.within.count() != 0 || ask.peer != 0 || ask.idempotent || stopped_) [[unlikely]]
    return begin_with_more(payload, id, ask);
  const std::size_t bytes = payload_bytes(payload);
  PendingRequest* const request = pending_.next_free();
  if (request == nullptr) [[unlikely]]
    return refused(bytes);
  Peer* asked = nullptr;
  const Status status = ask_any(payload, request_label(request->id, 0), asked);
  if (status != Status::ok) [[unlikely]]
    return not_begun(status, bytes, ask);
  id = request->id;
  begun(*request, *asked, bytes);
  return status;
}

// With a limit, to a given peer, or idempotent.
template <typename Payload>
Status RequestCore::begin_with_more(Payload& payload, std::uint64_t& id, const Ask& ask) noexcept {
  if (stopped_) return Status::closed;
  if (ask.within.count() < 0 || ask.within > time_most) return Status::invalid;
  const std::size_t bytes = payload_bytes(payload);
  PendingRequest* const request = pending_.next_free();
  Message copy;
  if (request == nullptr || !prepare(ask, payload, copy)) return refused(bytes);
  const std::int64_t within_ns = ask.within.count();
  const Label label =
      request_label(request->id, within_ns == 0 ? 0 : time_left_field_of_ns(within_ns));
  Peer* asked = nullptr;
  const Status status = put(ask.peer, payload, label, asked);
  if (status != Status::ok) return not_begun(status, bytes, ask);
  id = request->id;
  begun(*request, *asked, bytes);
  limit(*request, std::move(copy), ask);
  return status;
}

void RequestCore::limit(PendingRequest& request, Message copy, const Ask& ask) noexcept {
  if (ask.idempotent) {
    request.idempotent = true;
    request.only_peer = ask.peer;
    request.copy = std::move(copy);
  }
  if (ask.within.count() == 0) return;
  request.limited = true;
  request.deadline_ns = socket_.context().loop.now().count() + ask.within.count();
  deadlines_.add(request.deadline_ns, request.user_id);
  look_at_deadlines();
}

// Here, where begun() is compiled. Cannot fail: see send_to_all().
std::uint64_t RequestCore::put_to_all(Peer& peer, const MessageToAll& request, Lease memory,
                                      Message copy, const Ask& ask) noexcept {
  PendingRequest& record = *pending_.next_free();
  const std::uint64_t id = record.id;
  peer.outgoing.put_to_all(request, request_label(id, request_field(request.label())),
                           std::move(memory));
  begun(record, peer, request.bytes().size());
  limit(record, std::move(copy), ask);
  return id;
}

Status RequestCore::not_begun(Status status, std::size_t bytes, const Ask& ask) noexcept {
  if (status != Status::again && status != Status::not_connected) return status;
  const Status refusal = refused(bytes);
  return refusal == Status::too_big || ask.peer == 0 ? refusal : status;
}

// What is needed once it was sent, while it may still be refused.
template <typename Payload>
bool RequestCore::prepare(const Ask& ask, const Payload& payload, Message& copy) noexcept {
  if (ask.within.count() == 0 && !ask.idempotent) return true;
  bool prepared = ask.within.count() == 0 || make_room_for_deadlines();
  if (!prepared || !ask.idempotent) return prepared;
  guard_memory([&] { copy = copy_of(payload); }, [&]() noexcept { prepared = false; });
  return prepared;
}

template <typename Payload>
Status RequestCore::put(std::uint64_t peer, Payload& payload, Label label, Peer*& asked) noexcept {
  return peer == 0 ? ask_any(payload, label, asked) : ask_one(peer, payload, label, asked);
}

// The peer whose turn it is did not take it: whether another one may.
bool RequestCore::pass_over(Peer& peer, Status status, std::size_t& too_small) noexcept {
  if (status == Status::too_big) {
    ready_.next_turn();
    ++too_small;
    return true;
  }
  if (status != Status::again && status != Status::not_connected) return false;
  ready_.leave(peer);
  peer.behind_since_ns = socket_.context().loop.now().count();
  return true;
}

template <typename Payload>
Status RequestCore::ask_one(std::uint64_t id, Payload& payload, Label label,
                            Peer*& asked) noexcept {
  Peer* const peer = socket_.find_peer(id);
  if (peer == nullptr || !may_ask(*peer)) return Status::not_connected;
  // One that refused something says when it has room: it is not asked again before.
  if (full(*find(*peer)) || peer->behind_since_ns != 0) return Status::again;
  const Status status = peer->outgoing.put(payload, label, socket_.options().mode);
  if (status == Status::ok) {
    asked = peer;
  } else if (status == Status::again || status == Status::not_connected) {
    ready_.leave(*peer);
    peer->behind_since_ns = socket_.context().loop.now().count();
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

// Whatever a peer sends, an answer ends a request that this peer was asked, and nothing else.
const RequestTaker::Breach* RequestCore::take(const MessageView& message, Label label) noexcept {
  static constexpr Breach no_answer{"a message that is no answer"};
  static constexpr Breach no_status{"an answer with a status that is not known"};
  if (!is_request(label)) [[unlikely]]
    return &no_answer;
  const std::uint16_t status = request_field(label);
  if (status > static_cast<std::uint16_t>(AnswerStatus::not_answered)) [[unlikely]]
    return &no_status;
  PendingRequest* const request = pending_.find(label.number);
  if (request == nullptr || request->state != PendingRequest::State::under_way ||
      request->to->peer != page_peer_) [[unlikely]] {
    ++books_.late;
    return nullptr;
  }
  const std::uint64_t id = request->user_id;
  --books_.under_way;
  leave_list(*request);
  pending_.free(*request);
  if (status == static_cast<std::uint16_t>(AnswerStatus::answered)) [[likely]] {
    ++books_.ended[static_cast<std::size_t>(Outcome::answered)];
    if (on_reply_) tell_answer(id, message);
    return nullptr;
  }
  ++books_.ended[static_cast<std::size_t>(Outcome::not_answered)];
  if (on_failed) on_failed(id, Outcome::not_answered);
  return nullptr;
}

void RequestCore::tell_answer(std::uint64_t id, const MessageView& message) noexcept {
  calling_ = true;
  on_reply_(id, message);
  calling_ = false;
  if (next_on_reply_) [[unlikely]] {
    on_reply_ = std::move(*next_on_reply_);
    next_on_reply_.reset();
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
    PendingRequests::renew_id(request);
    Label label = request_label(request.id, field_of(request));
    label.flags |= label_of(request.copy).flags & ~frame_flag::tagged;
    const std::span<const std::byte> bytes = payload_of(request.copy);
    Peer* asked = nullptr;
    const Status status = put(request.only_peer, bytes, label, asked);
    if (status == Status::ok) {
      ++books_.repeated;
      request.state = PendingRequest::State::under_way;
      ++request.attempts;
      if (!request.limited) request.deadline_ns = 0;
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

}  // namespace netio::detail
