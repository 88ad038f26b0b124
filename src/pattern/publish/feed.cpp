// What is shared goes to a subscriber at once, or when its link has room.
#include "pattern/publish/feed.hpp"

#include <algorithm>
#include <array>
#include <new>
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

Feed::Feed(OutgoingStream& stream)
    : backlog(stream),
      stream_(&stream),
      supplies_(stream.supplies()),
      body_max_(stream.body_max()),
      message_bytes_max_(stream.link()->limits().message_bytes_max),
      link_bytes_max_(stream.link()->limits().queue_bytes_max) {
  stream.put_below(this);
  stream.mark(told_);  // nothing yet: what an earlier subscriber was told, it took with it
  const std::uint64_t dropped = stream.books().dropped_unposted;
  if (dropped != 0) backlog.add_gap(dropped, DropReason::not_sent);
}

Feed::~Feed() { stream_->put_below(nullptr); }

void Feed::move_to(OutgoingStream& stream) noexcept {
  stream_->put_below(nullptr);
  bytes_posted_ += static_cast<std::int64_t>(stream_->resent_bytes() - stream.resent_bytes());
  stream_ = &stream;
  stream_->put_below(this);
  backlog.move_to(stream);
}

bool Feed::fits(const Link& link) const noexcept {
  const LinkLimits& limits = link.limits();
  return limits.page_bytes_max - page_header_bytes == body_max_ &&
         limits.message_bytes_max == message_bytes_max_;
}

void Feed::refit(const Link& link) {
  stream_->keep_pending_to_resend();
  if (stream_->large_bytes_left() != 0) throw std::bad_alloc();
  while (Backlog::Item* const item = backlog.front(supplies_.pages, body_max_)) {
    const Parcel& parcel = item->parcel;
    if (item->kind == Backlog::Item::Kind::control) {
      note_told(item->control, std::span(item->payload).first(item->payload_bytes));
    } else if (item->kind == Backlog::Item::Kind::gap) {
      told_.dropped += item->drops.front().messages;
    } else if (!stream_->post_behind_kept(parcel.lease, {parcel.data, parcel.bytes},
                                          parcel.messages, parcel.framed, parcel.label)) {
      stream_->drop_unposted(DropReason::not_sent, parcel.messages);
      told_.dropped += parcel.messages;
    }
    stream_->mark(told_);
    backlog.pop_posted();
  }
  if (!backlog.empty()) drop_backlog(DropReason::not_sent);
  // All that was dropped so far comes before what is published next.
  told_.dropped = stream_->books().dropped_unposted;
  stream_->mark(told_);
  body_max_ = link.limits().page_bytes_max - page_header_bytes;
  message_bytes_max_ = link.limits().message_bytes_max;
  link_bytes_max_ = link.limits().queue_bytes_max;
}

void Feed::share(const Parcel& parcel) noexcept {
  if (!linked() && !away) return stream_->drop_unposted(DropReason::not_sent, parcel.messages);
  if (linked() && clear_ahead() && !has_to_wait(parcel.lease) &&
      post_parcel(parcel) == Status::ok) {
    bytes_posted_ += static_cast<std::int64_t>(parcel.bytes);
    return;
  }
  backlog.add(parcel, supplies_, body_max_);
}

bool Feed::blocked() const noexcept {
  return backlog.policy() == Policy::block && backlog.full(supplies_.pages);
}

double Feed::fill() const noexcept {
  if (backlog.policy() != Policy::block) return 0;
  const Link* const link = stream_->link();
  const std::size_t queued = link != nullptr ? link->queued_bytes() : 0;
  return backlog.fill(std::min(queued, link_bytes_max_), link_bytes_max_, supplies_.pages);
}

std::int64_t Feed::progress() const noexcept {
  const Link* const link = stream_->link();
  const std::uint64_t on_their_way =
      stream_->large_bytes_left() + (link != nullptr ? link->queued_bytes() : 0);
  const auto resent = static_cast<std::int64_t>(stream_->resent_bytes());
  return bytes_posted_ + resent - static_cast<std::int64_t>(on_their_way);
}

void Feed::drop_backlog(DropReason reason) noexcept {
  stream_->drop_unposted(reason, backlog.messages());
  backlog.clear();
}

void Feed::begin_backlog_anew() noexcept {
  const bool answered = backlog.controls() != 0;
  drop_backlog(DropReason::not_sent);
  const std::uint64_t untold = stream_->books().dropped_unposted - told_.dropped;
  if (untold != 0) backlog.add_gap(untold, DropReason::not_sent);
  if (!answered) return;
  // The set that is in force by now.
  answer_.from = stream_->taken();
  std::array<std::byte, subscribed_bytes> payload;
  encode(answer_, payload);
  backlog.add_control(ControlKind::subscribed, payload, supplies_.pages, body_max_);
}

// Whether a message is to wait in the backlog although the link would take it. Little is to wait in
// the link if the peer samples, because it is to get the latest message; if few pages are left,
// because small pages can be packed together in the backlog; and if other memory is short, because
// only the backlog can be dropped from.
bool Feed::has_to_wait(const Lease& next) noexcept {
  Link& link = *stream_->link();
  const bool plenty =
      supplies_.pages.plenty() && (backlog.policy() == Policy::block || supplies_.plenty(next));
  if (backlog.policy() != Policy::sample && plenty) return false;
  if (link.backed_up()) link.flush();
  return link.backed_up();
}

void Feed::skip(std::uint64_t messages) noexcept {
  stream_->drop_unposted(DropReason::not_sent, messages);
  backlog.add_gap(messages, DropReason::not_sent);
}

void Feed::answer(const SubscribedFrame& told) noexcept {
  answer_ = told;
  std::array<std::byte, subscribed_bytes> payload;
  encode(told, payload);
  tell(ControlKind::subscribed, payload);
}

void Feed::tell(ControlKind kind, std::span<const std::byte> payload) noexcept {
  // While it is away: behind an answer that waits, which says something else. If none does, the
  // last one is said on the next connection in any case.
  if (!linked() && backlog.controls() == 0) return;
  if (linked() && clear_ahead() && post_control(kind, payload) == Status::ok) return;
  backlog.add_control(kind, payload, supplies_.pages, body_max_);
}

Status Feed::post_parcel(const Parcel& parcel) noexcept {
  const std::span bytes(parcel.data, parcel.bytes);
  if (parcel.framed)
    return stream_->pass_frames(parcel.lease, bytes, parcel.messages, !parcel.shared);
  if (!parcel.lease) return stream_->post_borrowed(bytes, parcel.label);
  Lease lease = parcel.lease;
  return stream_->pass_now(lease, bytes, parcel.label);
}

// Posts the item. Of a gap, posts the first of its reasons.
Status Feed::post_item(const Backlog::Item& item) noexcept {
  if (item.kind == Backlog::Item::Kind::parcel) return post_parcel(item.parcel);
  if (item.kind == Backlog::Item::Kind::control) {
    return post_control(item.control, std::span(item.payload).first(item.payload_bytes));
  }
  const Drops::Part& part = item.drops.front();
  const Status status = post_gap({told_.dropped + part.messages, wire_reason(part.reason)});
  if (status != Status::ok) return status;
  told_.dropped += part.messages;
  stream_->mark(told_);
  return status;
}

Status Feed::post_gap(const GapFrame& gap) noexcept {
  std::array<std::byte, gap_bytes> payload;
  encode(gap, payload);
  const Status status = stream_->post_control(ControlKind::gap, payload);
  if (status == Status::ok) told_here_.dropped = gap.dropped;
  return status;
}

Status Feed::post_control(ControlKind kind, std::span<const std::byte> payload) noexcept {
  const Status status = stream_->post_control(kind, payload);
  if (status != Status::ok) return status;
  note_told(kind, payload);
  told_here_.revision = told_.revision;
  stream_->mark(told_);
  return status;
}

void Feed::note_told(ControlKind kind, std::span<const std::byte> payload) noexcept {
  SubscribedFrame answer;
  if (kind != ControlKind::subscribed || parse(payload, answer) != nullptr) return;
  if (answer.refusal == SetRefusal::none) told_.revision = answer.revision;
}

// If this answers again, on_writable, on_sent or on_idle tell of room in the link, and
// on_stream_memory tells of memory.
Status Feed::post_waiting() noexcept {
  while (!backlog.empty()) {
    if (has_to_wait(Lease())) return Status::again;
    const Backlog::Item* const item = backlog.front(supplies_.pages, body_max_);
    if (item == nullptr) return stream_->wait_for_page();
    if (has_to_wait(item->parcel.lease)) return Status::again;
    if (const Status status = post_item(*item); status != Status::ok) return status;
    bytes_posted_ += static_cast<std::int64_t>(item->parcel.bytes);
    backlog.pop_posted();
    if (const Status status = stream_->post_parts(); status != Status::ok) return status;
  }
  return Status::ok;
}

Status Feed::tell_again(std::uint64_t position, const Told& told) noexcept {
  if (told.dropped > told_here_.dropped) {
    const Status status = post_gap({told.dropped, GapReason::not_sent});
    if (status != Status::ok) return status;
  }
  if (told.revision <= told_here_.revision) return Status::ok;
  SubscribedFrame answer = answer_;
  answer.revision = told.revision;
  answer.from = position + told.dropped;
  answer.refusal = SetRefusal::none;
  std::array<std::byte, subscribed_bytes> payload;
  encode(answer, payload);
  const Status status = stream_->post_control(ControlKind::subscribed, payload);
  if (status == Status::ok) told_here_.revision = told.revision;
  return status;
}

}  // namespace netio::detail
