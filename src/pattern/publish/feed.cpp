// What is shared goes to a subscriber at once, or when its link has room.
#include "pattern/publish/feed.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

Feed::Feed(OutgoingStream& stream) : backlog(stream), stream_(stream) {
  stream_.put_below(this);
  const std::uint64_t dropped = stream_.books().dropped_unposted;
  if (dropped != 0) backlog.add_gap(dropped, DropReason::not_sent);
}

Feed::~Feed() { stream_.put_below(nullptr); }

void Feed::share(const Parcel& parcel) noexcept {
  if (stream_.link() == nullptr) {
    return stream_.drop_unposted(DropReason::not_sent, parcel.messages);
  }
  if (clear_ahead() && !has_to_wait(parcel.lease) && post_parcel(parcel) == Status::ok) {
    bytes_posted_ += static_cast<std::int64_t>(parcel.bytes);
    return;
  }
  backlog.add(parcel, stream_.supplies(), stream_.body_max());
}

bool Feed::blocked() const noexcept {
  Link* const link = stream_.link();
  return backlog.policy() == Policy::block && link != nullptr && backlog.full(link->pool());
}

double Feed::fill() const noexcept {
  Link* const link = stream_.link();
  if (link == nullptr || backlog.policy() != Policy::block) return 0;
  const std::size_t most = link->limits().queue_bytes_max;
  return backlog.fill(std::min(link->queued_bytes(), most), most, link->pool());
}

std::int64_t Feed::progress() const noexcept {
  const Link* const link = stream_.link();
  const std::uint64_t on_their_way =
      stream_.large_bytes_left() + (link != nullptr ? link->queued_bytes() : 0);
  return bytes_posted_ - static_cast<std::int64_t>(on_their_way);
}

void Feed::drop_backlog(DropReason reason) noexcept {
  stream_.drop_unposted(reason, backlog.messages());
  backlog.clear();
}

// Whether a message is to wait in the backlog although the link would take it. Little is to wait in
// the link if the peer samples, because it is to get the latest message; if few pages are left,
// because small pages can be packed together in the backlog; and if other memory is short, because
// only the backlog can be dropped from.
bool Feed::has_to_wait(const Lease& next) noexcept {
  Link& link = *stream_.link();
  const bool plenty = link.pool().plenty() &&
                      (backlog.policy() == Policy::block || stream_.supplies().plenty(next));
  if (backlog.policy() != Policy::sample && plenty) return false;
  if (link.backed_up()) link.flush();
  return link.backed_up();
}

void Feed::skip(std::uint64_t messages) noexcept {
  stream_.drop_unposted(DropReason::not_sent, messages);
  backlog.add_gap(messages, DropReason::not_sent);
}

void Feed::tell(ControlKind kind, std::span<const std::byte> payload) noexcept {
  Link* const link = stream_.link();
  if (link == nullptr) return;
  if (clear_ahead() && stream_.post_control(kind, payload) == Status::ok) return;
  backlog.add_control(kind, payload, link->pool(), stream_.body_max());
}

Status Feed::post_parcel(const Parcel& parcel) noexcept {
  const std::span bytes(parcel.data, parcel.bytes);
  if (parcel.framed) return stream_.post_frames(parcel.lease, bytes, parcel.messages);
  if (!parcel.lease) return stream_.post_borrowed(bytes, parcel.tag);
  Lease lease = parcel.lease;
  return stream_.pass_now(lease, bytes, parcel.tag);
}

// Posts the item. Of a gap, posts the first of its reasons.
Status Feed::post_item(const Backlog::Item& item) noexcept {
  if (item.kind == Backlog::Item::Kind::parcel) return post_parcel(item.parcel);
  if (item.kind == Backlog::Item::Kind::control) {
    return stream_.post_control(item.control, std::span(item.payload).first(item.payload_bytes));
  }
  std::array<std::byte, gap_bytes> payload;
  const Drops::Part& part = item.drops.front();
  encode(GapFrame{dropped_told_ + part.messages, wire_reason(part.reason)}, payload);
  const Status status = stream_.post_control(ControlKind::gap, payload);
  if (status == Status::ok) dropped_told_ += part.messages;
  return status;
}

// If this answers again, on_writable, on_sent or on_idle tell of room in the link, and
// on_stream_memory tells of memory.
Status Feed::post_waiting() noexcept {
  while (!backlog.empty()) {
    if (has_to_wait(Lease())) return Status::again;
    const Backlog::Item* const item = backlog.front(stream_.link()->pool(), stream_.body_max());
    if (item == nullptr) return stream_.wait_for_page();
    if (has_to_wait(item->parcel.lease)) return Status::again;
    if (const Status status = post_item(*item); status != Status::ok) return status;
    bytes_posted_ += static_cast<std::int64_t>(item->parcel.bytes);
    backlog.pop_posted();
    if (const Status status = stream_.post_parts(); status != Status::ok) return status;
  }
  return Status::ok;
}

}  // namespace netio::detail
