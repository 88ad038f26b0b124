// How requests come in and answers go out. The coming and going of requesters is in
// reply_core_peers.cpp.
#include "pattern/reply/reply_core.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/option_bounds.hpp"
#include "socket/socket_core.hpp"
#include "wire/request.hpp"

namespace netio::detail {

namespace {

Label answer_label(std::uint64_t id, AnswerStatus status) noexcept {
  return request_label(id, static_cast<std::uint16_t>(status));
}

}  // namespace

ReplyCore::ReplyCore(SocketCore& socket, const ReplyOptions& options)
    : socket_(socket),
      options_(checked(options)),
      hub_(new ReplyHub(*this, socket.context().loop)) {
  socket_.receiving.delivery.offered |= ability::requests;
}

ReplyCore::~ReplyCore() { hub_->retire(); }

// Not from inside the call-back that is replaced: then it is replaced behind that.
void ReplyCore::on_request(std::function<void(const MessageView&, ReplyTo)> call) {
  if (calling_) {
    next_on_request_ = std::move(call);
  } else {
    on_request_ = std::move(call);
  }
  const bool takes =
      next_on_request_ ? static_cast<bool>(*next_on_request_) : static_cast<bool>(on_request_);
  socket_.receiving.take_requests(takes ? this : nullptr);
}

const RequestTaker::Breach* ReplyCore::take(const MessageView& message, Label label) noexcept {
  static constexpr Breach given_up{"a request on a connection that was given up here"};
  static constexpr Breach no_request{"a message that is no request"};
  static constexpr Breach no_time{"a request with a time that makes no sense"};
  static constexpr Breach twice{"a request with the id of another that is open"};
  static constexpr Breach no_memory{"a request, and there is no memory here to remember it",
                                    DownReason::resources};
  Requester* const requester = find(*page_peer_);
  if (requester == nullptr) [[unlikely]]
    return &given_up;
  if (!is_request(label)) [[unlikely]]
    return &no_request;
  std::int64_t until_ns = 0;
  if (const std::uint16_t field = request_field(label); field != 0) {
    if (field == withdrawn) {
      ++books_.withdrawn;
      return nullptr;
    }
    const std::uint64_t left_ms = time_left(field);
    if (left_ms == 0) return &no_time;
    const std::int64_t came_ns =
        page_held_since_ns_ != 0 ? page_held_since_ns_ : socket_.context().loop.now().count();
    until_ns = came_ns + static_cast<std::int64_t>(left_ms) * ns_per_ms;
    if (monotonic_ns() >= until_ns) {
      ++books_.expired;
      return nullptr;
    }
  }
  if (requester->open_count != 0 && hub_->find(*requester, label.number) != nullptr) return &twice;
  ReplyTicket* const ticket = hub_->issue(*requester, label.number);
  if (ticket == nullptr) [[unlikely]]
    return &no_memory;
  ticket->until_ns = until_ns;
  ++books_.requests;
  called_with_ = ticket;
  calling_ = true;
  on_request_(message, ReplyTo(ticket));
  calling_ = false;
  if (called_with_ != nullptr) enter_open();
  if (next_on_request_) [[unlikely]] {
    on_request_ = std::move(*next_on_request_);
    next_on_request_.reset();
  }
  return nullptr;
}

// The request was not answered from inside the call-back.
void ReplyCore::enter_open() noexcept {
  ReplyTicket& open = *std::exchange(called_with_, nullptr);
  hub_->enter(open);
  look_whether_held(*open.from);
}

Status ReplyCore::answer(ReplyTicket*& ticket, std::span<const std::byte> bytes) noexcept {
  return finish(ticket, bytes);
}

Status ReplyCore::answer(ReplyTicket*& ticket, Message& message) noexcept {
  return message ? finish(ticket, message) : Status::invalid;
}

Status ReplyCore::answer(ReplyTicket*& ticket, const SegmentList& segments) noexcept {
  if (!segments.make_sense()) return Status::invalid;
  const Status status = finish(ticket, segments);
  if (status == Status::ok) segments.take_messages();
  return status;
}

template <typename Answer>
Status ReplyCore::finish(ReplyTicket*& ticket, Answer& answer) noexcept {
  if (stopped_) [[unlikely]]
    return Status::closed;
  Requester* const requester = ticket->from;
  if (requester == nullptr) [[unlikely]]
    return Status::not_connected;
  if (ticket->until_ns != 0 && monotonic_ns() >= ticket->until_ns) {
    ++books_.unwanted;
    leave(*ticket);
    return Status::not_connected;
  }
  const std::size_t bytes = payload_bytes(answer);
  if (!requester->waiting.empty()) [[unlikely]] {
    if (const Status status = may_give(*requester, bytes); status != Status::ok) return status;
  }
  const Status status = give(*requester, answer, answer_label(ticket->id, AnswerStatus::answered));
  if (status != Status::ok) [[unlikely]]
    return status;
  ReplyTicket& done = *std::exchange(ticket, nullptr);
  bytes_sent_ += bytes;
  ++books_.answered;
  leave(done);
  hub_->recycle(done);
  return status;
}

// Behind what waits already.
Status ReplyCore::may_give(const Requester& requester, std::size_t bytes) noexcept {
  if (bytes > socket_.options().message_bytes_max) return Status::too_big;
  if (requester.waiting.bytes() < waiting_bytes_max()) return Status::ok;
  wanted_ = true;
  ++agains_;
  return Status::again;
}

// To the stream, or behind what waits for it already.
template <typename Answer>
Status ReplyCore::give(Requester& requester, Answer& answer, Label label) noexcept {
  Peer& peer = *requester.peer;
  if (requester.waiting.empty() && peer.up() && !peer.leaving()) [[likely]] {
    const Status status = post(peer.outgoing, answer, label);
    if (status == Status::ok || status == Status::too_big) [[likely]] {
      socket_.fill_changed();
      return status;
    }
    peer.behind_since_ns = socket_.context().loop.now().count();
  }
  return give_later(requester, answer, label);
}

template <typename Answer>
Status ReplyCore::give_later(Requester& requester, Answer& answer, Label label) noexcept {
  if (payload_bytes(answer) > socket_.options().message_bytes_max) return Status::too_big;
  const Status status = wait(requester, answer, label);
  if (status == Status::again) {  // without memory
    wanted_ = true;
    ++agains_;
  }
  look_whether_held(requester);
  socket_.fill_changed();
  return status;
}

Status ReplyCore::wait(Requester& requester, std::span<const std::byte> bytes,
                       Label label) noexcept {
  return requester.waiting.add(bytes, label) ? Status::ok : Status::again;
}

Status ReplyCore::wait(Requester& requester, Message& message, Label label) noexcept {
  return requester.waiting.add(message, label) ? Status::ok : Status::again;
}

Status ReplyCore::wait(Requester& requester, const SegmentList& segments, Label label) noexcept {
  Message whole = segments.joined(0);
  const Status status = whole ? wait(requester, whole, label) : Status::again;
  if (status != Status::ok && whole) segments.part(whole);
  return status;
}

Status ReplyCore::post(OutgoingStream& stream, const SegmentList& segments, Label label) noexcept {
  return stream.put(segments, label, socket_.options().mode);
}

Status ReplyCore::post(OutgoingStream& stream, std::span<const std::byte> bytes,
                       Label label) noexcept {
  return stream.put(bytes, label, socket_.options().mode);
}

Status ReplyCore::post(OutgoingStream& stream, Message& message, Label label) noexcept {
  return stream.put(message, label, socket_.options().mode);
}

Message ReplyCore::allocate(const ReplyTicket& ticket, std::size_t bytes, Status& status,
                            std::size_t head_bytes) noexcept {
  status = stopped_ ? Status::closed : Status::not_connected;
  if (stopped_ || ticket.from == nullptr) return {};
  Peer& peer = *ticket.from->peer;
  status = Status::again;
  Message message;
  if (peer.up()) message = peer.outgoing.allocate_message(bytes, 0, status, head_bytes);
  wanted_ = wanted_ || status == Status::again;
  return message;
}

// From the destructor of a ReplyTo, or from the loop if that was on another thread.
void ReplyCore::dropped(ReplyTicket& ticket) noexcept {
  if (ticket.from != nullptr && !stopped_) {
    refuse_to_answer(ticket);
  } else if (ticket.from != nullptr) {
    ++books_.unwanted;
    leave(ticket);
  }
  hub_->recycle(ticket);
}

// Whatever waits already: it takes no memory but the record of it.
void ReplyCore::refuse_to_answer(ReplyTicket& ticket) noexcept {
  const std::span<const std::byte> nothing;
  const Label label = answer_label(ticket.id, AnswerStatus::not_answered);
  Peer& peer = *ticket.from->peer;
  const bool given = give(*ticket.from, nothing, label) == Status::ok;
  if (!given && peer.up()) peer.fail(out_of_memory());
  if (!given && !peer.up()) peer.outgoing.lose_one();
  ++books_.not_answered;
  leave(ticket);
}

ReplyBooks ReplyCore::books() const noexcept {
  ReplyBooks books = books_;
  books.open += hub_->open_count();
  if (called_with_ != nullptr) ++books.open;
  return books;
}

}  // namespace netio::detail
