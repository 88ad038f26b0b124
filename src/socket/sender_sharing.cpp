// What a Sender does with what many peers share: posts it at once, or when the link has room.
#include <algorithm>
#include <array>
#include <utility>

#include "socket/sender.hpp"
#include "wire/control.hpp"

namespace netio::detail {

namespace {

GapReason wire_reason(DropReason reason) noexcept {
  switch (reason) {
    case DropReason::dropped_new:
      return GapReason::dropped_new;
    case DropReason::dropped_old:
      return GapReason::dropped_old;
    case DropReason::superseded:
      return GapReason::superseded;
    default:
      return GapReason::not_sent;
  }
}

}  // namespace

void Sender::share(const Parcel& parcel) noexcept {
  if (link_ == nullptr) return books.drop_unposted(DropReason::not_sent, parcel.messages);
  if (!pending() && !held_up(parcel.lease) && post_parcel(parcel) == Status::ok) {
    shared_bytes_posted_ += static_cast<std::int64_t>(parcel.bytes);
    return;
  }
  backlog.add(parcel, supplies(), body_max());
}

double Sender::sharing_fill() const noexcept {
  if (link_ == nullptr || backlog.policy() != Policy::block) return 0;
  const std::size_t most = link_->limits().queue_bytes_max;
  return backlog.fill(std::min(link_->queued_bytes(), most), most, link_->pool());
}

double Sender::link_fill() const noexcept {
  if (link_ == nullptr || starved()) return 1;
  const std::size_t most = link_->limits().queue_bytes_max;
  return static_cast<double>(std::min(link_->queued_bytes(), most)) / static_cast<double>(most);
}

std::int64_t Sender::sharing_progress() const noexcept {
  const std::uint64_t on_their_way =
      large_.total - large_.done + (link_ != nullptr ? link_->queued_bytes() : 0);
  return shared_bytes_posted_ - static_cast<std::int64_t>(on_their_way);
}

void Sender::drop_backlog(DropReason reason) noexcept {
  books.drop_unposted(reason, backlog.messages());
  backlog.clear();
}

// The link would take more, but what waits in it is best kept short: for who samples, because it
// is to have the latest; where pages are few, because small ones can be packed up here; and where
// other memory is, if it can be dropped up here.
bool Sender::held_up(const Lease& next) noexcept {
  const bool plenty =
      link_->pool().plenty() && (backlog.policy() == Policy::block || supplies().plenty(next));
  if (backlog.policy() != Policy::sample && plenty) return false;
  if (link_->backed_up()) link_->flush();
  return link_->backed_up();
}

void Sender::skip(std::uint64_t messages) noexcept {
  books.drop_unposted(DropReason::not_sent, messages);
  backlog.add_gap(messages, DropReason::not_sent);
}

void Sender::begin_sharing() noexcept {
  if (books.dropped_unposted != 0) {
    backlog.add_gap(books.dropped_unposted, DropReason::not_sent);
  }
}

void Sender::tell(ControlKind kind, std::span<const std::byte> payload) noexcept {
  if (link_ == nullptr) return;
  if (!pending() && post_control(kind, payload) == Status::ok) return;
  backlog.add_control(kind, payload, link_->pool(), body_max());
}

Post Sender::control_post(ControlKind kind, std::span<const std::byte> payload,
                          std::uint64_t sequence) noexcept {
  Post post{.sequence = sequence, .flags = page_flag::control};
  const auto number = static_cast<std::uint32_t>(kind);
  post.prepend(frame_word(static_cast<std::uint32_t>(payload.size()),
                          frame_flag::control | (number << frame_flag::control_shift)));
  post.body.data = payload.data();
  post.body.bytes = payload.size();
  return post;
}

Status Sender::post_control(ControlKind kind, std::span<const std::byte> payload) noexcept {
  Post post = control_post(kind, payload, books.next_sequence);
  return link_->post(post);
}

Status Sender::post_parcel(const Parcel& parcel) noexcept {
  const std::span bytes(parcel.data, parcel.bytes);
  if (!parcel.framed) {
    if (!parcel.lease) return post_borrowed(bytes, parcel.tag);
    Lease lease = parcel.lease;
    return pass_now(lease, bytes, parcel.tag);
  }
  Post post{.sequence = books.next_sequence, .messages = parcel.messages};
  post.body = {parcel.lease, parcel.data, parcel.bytes};
  return post_counted(post);
}

// Of a gap, the first of its reasons.
Status Sender::post_item(const Backlog::Item& item) noexcept {
  if (item.kind == Backlog::Item::Kind::parcel) return post_parcel(item.parcel);
  if (item.kind == Backlog::Item::Kind::control) {
    return post_control(item.control, std::span(item.payload).first(item.payload_bytes));
  }
  std::array<std::byte, gap_bytes> payload;
  const Drops::Part& part = item.drops.front();
  encode(GapFrame{dropped_told_ + part.messages, wire_reason(part.reason)}, payload);
  const Status status = post_control(ControlKind::gap, payload);
  if (status == Status::ok) dropped_told_ += part.messages;
  return status;
}

// on_writable, on_sent or on_idle tell of the link's room, on_sender_memory of the pool's.
Status Sender::post_backlog() noexcept {
  while (!backlog.empty()) {
    if (held_up(Lease())) return Status::again;
    const Backlog::Item* const item = backlog.front(link_->pool(), body_max());
    if (item == nullptr) return wait_for(link_->pool());
    if (held_up(item->parcel.lease)) return Status::again;
    if (const Status status = post_item(*item); status != Status::ok) return status;
    shared_bytes_posted_ += static_cast<std::int64_t>(item->parcel.bytes);
    backlog.pop_posted();
    if (const Status status = post_parts(); status != Status::ok) return status;
  }
  return Status::ok;
}

}  // namespace netio::detail
