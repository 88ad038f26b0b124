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

constexpr std::int64_t ns_per_ms = 1'000'000;

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

void ReplyCore::begin_page(Peer& peer, std::int64_t came_ns) noexcept {
  at_hand_ = find(peer);
  page_came_ns_ = came_ns;
}

RequestTaker::Breach ReplyCore::admit(Label label) noexcept {
  admitted_ = nullptr;
  if (at_hand_ == nullptr) return {"a request on a connection that was given up here"};
  if (!is_request(label)) return {"a message that is no request"};
  const std::uint16_t field = request_field(label);
  if (field == withdrawn) {
    ++books_.withdrawn;
    return {};
  }
  const std::uint64_t left_ms = time_left(field);
  if (field != 0 && left_ms == 0) return {"a request with a time that makes no sense"};
  const std::int64_t until_ns =
      left_ms == 0 ? 0 : page_came_ns_ + static_cast<std::int64_t>(left_ms) * ns_per_ms;
  if (until_ns != 0 && monotonic_ns() >= until_ns) {
    ++books_.expired;
    return {};
  }
  Breach breach = {"a request with the id of another that is open"};
  guard_memory(
      [&] {
        admitted_ = hub_->open(*at_hand_, label.number);
        if (admitted_ != nullptr) breach = {};
      },
      [&]() noexcept {
        breach = {"a request, and there is no memory here to remember it", DownReason::resources};
      });
  if (admitted_ != nullptr) admitted_->until_ns = until_ns;
  return breach;
}

void ReplyCore::take(const MessageView& message, Label) noexcept {
  if (admitted_ == nullptr) return;
  ++books_.requests;
  look_whether_held(*at_hand_);
  calling_ = true;
  on_request_(message, ReplyTo(std::exchange(admitted_, nullptr)));
  calling_ = false;
  if (next_on_request_) {
    on_request_ = std::move(*next_on_request_);
    next_on_request_.reset();
  }
}

Status ReplyCore::answer(ReplyTicket& ticket, std::span<const std::byte> bytes) noexcept {
  return finish(ticket, bytes);
}

Status ReplyCore::answer(ReplyTicket& ticket, Message& message) noexcept {
  return message ? finish(ticket, message) : Status::invalid;
}

Status ReplyCore::answer(ReplyTicket& ticket, const SegmentList& segments) noexcept {
  if (segments.count() > segments_max) return Status::invalid;
  const Status status = finish(ticket, segments);
  if (status == Status::ok) segments.take_messages();
  return status;
}

template <typename Answer>
Status ReplyCore::finish(ReplyTicket& ticket, Answer& answer) noexcept {
  if (stopped_) return Status::closed;
  if (ticket.from == nullptr) return Status::not_connected;
  Requester& requester = *ticket.from;
  const std::size_t bytes = payload_bytes(answer);
  if (bytes > socket_.options().message_bytes_max) return Status::too_big;
  if (requester.waiting.bytes() >= waiting_bytes_max()) {
    wanted_ = true;
    ++agains_;
    return Status::again;
  }
  const Status status = give(requester, answer, answer_label(ticket.id, AnswerStatus::answered));
  if (status != Status::ok) return status;
  bytes_sent_ += bytes;
  ++books_.answered;
  leave(ticket);
  hub_->recycle(ticket);
  return status;
}

// To the stream, or behind what waits for it already.
template <typename Answer>
Status ReplyCore::give(Requester& requester, Answer& answer, Label label) noexcept {
  Peer& peer = *requester.peer;
  if (requester.waiting.empty() && peer.up() && !peer.leaving()) {
    const Status status = post(peer.outgoing, answer, label);
    if (status == Status::ok || status == Status::too_big) {
      socket_.fill_changed();
      return status;
    }
    peer.behind_since_ns = socket_.context().loop.now().count();
  }
  const Status status = wait(requester, answer, label);
  look_whether_held(requester);
  socket_.fill_changed();
  return status;
}

Status ReplyCore::wait(Requester& requester, std::span<const std::byte> bytes,
                       Label label) noexcept {
  Message copy;
  guard_memory([&] { copy = Message::copy_of(bytes); }, []() noexcept {});
  return copy ? wait(requester, copy, label) : Status::again;
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

// One that says "not answered" has no memory.
Status ReplyCore::post(OutgoingStream& stream, Message& message, Label label) noexcept {
  if (!message) return post(stream, std::span<const std::byte>(), label);
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
  if (ticket.from != nullptr && !stopped_) refuse_to_answer(ticket);
  hub_->recycle(ticket);
}

// Whatever waits already: it takes no memory but the record of it.
void ReplyCore::refuse_to_answer(ReplyTicket& ticket) noexcept {
  Message nothing;
  const Label label = answer_label(ticket.id, AnswerStatus::not_answered);
  Peer& peer = *ticket.from->peer;
  const bool given = give(*ticket.from, nothing, label) == Status::ok;
  if (!given && peer.up()) peer.fail(out_of_memory());
  ++books_.not_answered;
  leave(ticket);
}

ReplyBooks ReplyCore::books() const noexcept {
  ReplyBooks books = books_;
  for (const auto& [peer, requester] : requesters_) books.open += requester.open_count;
  return books;
}

}  // namespace netio::detail
