// Request and Reply: thin fronts of their cores.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <netio/reply.hpp>
#include <netio/request.hpp>

#include "base/clock.hpp"
#include "pattern/reply/reply_core.hpp"
#include "pattern/request/request_core.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio {

using detail::Pattern;
using detail::ReplyCore;
using detail::RequestCore;
using detail::SocketCore;
using detail::WirePattern;

static constexpr Pattern request_facts{WirePattern::request, WirePattern::reply, true, true,
                                       SIZE_MAX};
static constexpr Pattern reply_facts{WirePattern::reply, WirePattern::request, true, true,
                                     SIZE_MAX};

Request::Request(Context& context, const RequestOptions& asking, const SocketOptions& options)
    : Socket(std::make_unique<SocketCore>(context.core(), options, request_facts)) {
  auto core = std::make_unique<RequestCore>(*core_, asking);
  request_core_ = core.get();
  core_->distribute_by(std::move(core));
}

Status Request::send(std::span<const std::byte> request, std::uint64_t& id,
                     const Ask& ask) noexcept {
  return request_core_->send(request, id, ask);
}
Status Request::send(Message&& request, std::uint64_t& id, const Ask& ask) noexcept {
  return request_core_->send(request, id, ask);
}
Status Request::send_segments(std::span<const Segment> segments, std::uint64_t& id,
                              const Ask& ask) noexcept {
  return request_core_->send(detail::SegmentList(segments), id, ask);
}
ToAll Request::send_to_all(std::span<const std::byte> request, std::vector<PeerRequest>& asked,
                           const Ask& ask) noexcept {
  return request_core_->send_to_all(request, asked, ask);
}
Message Request::allocate(std::size_t bytes, Status& status, std::size_t head_bytes) noexcept {
  return request_core_->allocate(bytes, status, head_bytes);
}
void Request::on_reply(std::function<void(std::uint64_t, const MessageView&)> call) {
  request_core_->on_reply(std::move(call));
}
void Request::on_failed(std::function<void(std::uint64_t, Outcome)> call) {
  request_core_->on_failed = std::move(call);
}
Status Request::cancel(std::uint64_t id) noexcept { return request_core_->cancel(id); }
RequestBooks Request::requests() const noexcept { return request_core_->books(); }
void Request::flush() noexcept { request_core_->flush(); }
void Request::on_writable(std::function<void()> call) {
  request_core_->on_writable = std::move(call);
}

Reply::Reply(Context& context, const ReplyOptions& replying, const SocketOptions& options)
    : Socket(std::make_unique<SocketCore>(context.core(), options, reply_facts)) {
  auto core = std::make_unique<ReplyCore>(*core_, replying);
  reply_core_ = core.get();
  core_->distribute_by(std::move(core));
}

void Reply::on_request(std::function<void(const MessageView&, ReplyTo)> call) {
  reply_core_->on_request(std::move(call));
}
std::uint64_t Reply::sender_id() const noexcept { return core_->receiving.sender_id; }
void Reply::pause() noexcept { core_->receiving.pause(true); }
void Reply::resume() noexcept { core_->receiving.pause(false); }
bool Reply::paused() const noexcept { return core_->receiving.paused(); }
ReplyBooks Reply::requests() const noexcept { return reply_core_->books(); }
void Reply::flush() noexcept { reply_core_->flush(); }
void Reply::on_writable(std::function<void()> call) { reply_core_->on_writable = std::move(call); }

namespace {

// Calls with the core of the socket, which takes the ticket if the answer is ok. Closed if the
// socket is gone.
template <typename Call>
Status with_core(detail::ReplyTicket*& ticket, Call&& call) noexcept {
  if (ticket == nullptr) return Status::invalid;
  ReplyCore* const core = ticket->hub->is_own() ? ticket->hub->core() : nullptr;
  return core != nullptr ? call(*core) : Status::closed;
}

}  // namespace

Status ReplyTo::send(std::span<const std::byte> answer) noexcept {
  return with_core(ticket_, [&](ReplyCore& core) { return core.answer(ticket_, answer); });
}
Status ReplyTo::send(Message&& answer) noexcept {
  return with_core(ticket_, [&](ReplyCore& core) { return core.answer(ticket_, answer); });
}
Status ReplyTo::send_segments(std::span<const Segment> segments) noexcept {
  return with_core(ticket_, [&](ReplyCore& core) {
    return core.answer(ticket_, detail::SegmentList(segments));
  });
}
Message ReplyTo::allocate(std::size_t bytes, Status& status, std::size_t head_bytes) noexcept {
  status = ticket_ == nullptr ? Status::invalid : Status::closed;
  if (ticket_ == nullptr || ticket_->hub->core() == nullptr) return {};
  return ticket_->hub->core()->allocate(*ticket_, bytes, status, head_bytes);
}
bool ReplyTo::wanted() const noexcept {
  if (ticket_ == nullptr || ticket_->hub->core() == nullptr || ticket_->from == nullptr) {
    return false;
  }
  return ticket_->until_ns == 0 || detail::monotonic_ns() < ticket_->until_ns;
}
std::optional<std::chrono::nanoseconds> ReplyTo::time_left() const noexcept {
  if (ticket_ == nullptr || ticket_->until_ns == 0) return std::nullopt;
  return std::chrono::nanoseconds(
      std::max<std::int64_t>(ticket_->until_ns - detail::monotonic_ns(), 0));
}
std::uint64_t ReplyTo::peer() const noexcept {
  const bool known = ticket_ != nullptr && ticket_->from != nullptr;
  return known ? ticket_->from->peer->id() : 0;
}
void ReplyTo::drop() noexcept {
  detail::ReplyTicket& ticket = *std::exchange(ticket_, nullptr);
  ticket.hub->drop(ticket);
}

}  // namespace netio
