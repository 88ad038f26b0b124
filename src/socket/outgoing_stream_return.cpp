// An OutgoingStream over its connections: what is kept for the next one and posted again there, and
// what outlives a connection in other ways.
#include <algorithm>
#include <utility>

#include "memory/copy_thresholds.hpp"
#include "socket/outgoing_stream.hpp"

namespace netio::detail {

// Before a post that is to be kept: where it lies, or copied to where others are, so that what is
// small does not hold memory that is nearly empty. If there is no page for that, it stays where it
// lies: it must not wait for a page that waits like itself. Who was refused is told when the peer
// acknowledges something, also if another message, which needs less, was taken meanwhile.
Status OutgoingStream::room_to_resend(const Block& memory, std::size_t bytes, bool& copy) noexcept {
  copy = false;
  if (bytes <= body_max() / gathered_page_part) {
    const Status status = room_to_resend([&] { return resend_.takes_copy(bytes); });
    copy = status == Status::ok && resend_.make_room_to_copy(bytes);
    if (copy || status != Status::ok) return status;
  }
  return room_to_resend([&] { return resend_.takes(memory); });
}

template <typename Takes>
Status OutgoingStream::room_to_resend(Takes&& takes) noexcept {
  if (unread_) [[unlikely]] {
    resend_.work();
    owner_.on_kept_unread();
  }
  while (!takes() && gives_way()) resend_.give_up_oldest();
  if (takes() && resend_.make_room()) return Status::ok;
  wants_resend_room_ = true;
  return Status::again;
}

// Before a page is taken for messages that are to be kept.
Status OutgoingStream::share_to_resend() noexcept {
  if (unread_) resend_.work();
  while ((resend_.full() || resend_.has_its_share()) && gives_way()) resend_.give_up_oldest();
  if (!resend_.full() && !resend_.has_its_share()) return Status::ok;
  wants_resend_room_ = true;
  return Status::again;
}

Status OutgoingStream::room_to_copy(std::size_t bytes) noexcept {
  Status status = resend_.has_room_to_copy(bytes) ? Status::ok : share_to_resend();
  if (status == Status::ok) {
    status = room_to_resend([&] { return resend_.takes_copy(bytes); });
  }
  if (status != Status::ok) return status;
  return resend_.make_room_to_copy(bytes) ? Status::ok : wait_for(link_->pool());
}

// What an earlier connection may have lost goes first. What an Upstream told the peer between
// messages is told again in its places.
Status OutgoingStream::post_behind() noexcept {
  while (posted_to_ != books_.next_sequence) {
    if (const Status status = post_next_again(); status != Status::ok) return status;
  }
  if (renews_) {
    const Status status = upstream_->tell_again(posted_to_, resend_.told());
    if (status != Status::ok) return status;
    renews_ = false;
  }
  return Status::ok;
}

Status OutgoingStream::post_next_again() noexcept {
  if (again_.active()) {
    const Status status = post_parts_of(again_);
    if (status != Status::ok) return status;
    resent_bytes_ += again_.total;
    again_ = {};
    ++resent_;
    return status;
  }
  const ResendQueue::Item& item = *resend_.find(posted_to_);
  if (renews_) {
    const Status status = upstream_->tell_again(posted_to_, item.told);
    if (status != Status::ok) return status;
  }
  return post_again(item);
}

bool OutgoingStream::post_behind_kept(const Lease& lease, std::span<const std::byte> bytes,
                                      std::uint32_t messages, bool framed, Label label) noexcept {
  if (!resends_ || !resend_.make_room()) return false;
  if (framed) {
    resend_.add_page(books_.next_sequence, messages, lease, bytes);
  } else {
    resend_.add_message(books_.next_sequence, lease, bytes, label);
  }
  books_.next_sequence += messages;
  return true;
}

// The item has the message that is next; posts as much of it as makes a page.
Status OutgoingStream::post_again(const ResendQueue::Item& item) noexcept {
  if (!item.framed) {
    return post_message_again(item.lease, {item.data, item.bytes}, item.label, item.front);
  }
  FrameWalker walker(item.data, item.bytes, ability::every_frame);
  Frame frame;
  for (std::uint64_t skip = posted_to_ - item.position; skip != 0; --skip) (void)walker.next(frame);
  const std::span<const std::byte> rest = walker.rest();
  std::size_t bytes = 0;
  std::uint32_t messages = 0;
  while (walker.next(frame)) {
    const std::size_t to_here = rest.size() - walker.rest().size();
    if (to_here > body_max()) break;
    bytes = to_here;
    ++messages;
  }
  // A page of the peer may be smaller than those of an earlier connection.
  if (messages == 0) {
    return post_message_again(item.lease, {frame.payload, frame.size}, frame.label());
  }
  const Status status = post_frames(item.lease, rest.first(bytes), messages);
  if (status != Status::ok) return status;
  resent_ += messages;
  resent_bytes_ += bytes;
  return status;
}

Status OutgoingStream::post_message_again(const Lease& lease, std::span<const std::byte> message,
                                          Label label, const PostBody& front) noexcept {
  const Fit& fit = link_->fit();
  const std::size_t bytes = front.bytes + message.size();
  const Fit::Answer answer = fit.of(*lease.get(), message, label, front.bytes);
  // A message that another wire took with a front may come to one that has none, or whose pages are
  // too small for it and for where the rest lies.
  constexpr std::size_t beside_front =
      page_header_bytes + frame_prefix_bytes_max + front_room_behind;
  const bool no_fronts =
      front.bytes != 0 &&
      (fit.loans != nullptr || beside_front + front.bytes > link_->limits().page_bytes_max);
  if (answer.way == Fit::Way::in_parts || fit.before_post(answer) || no_fronts) {
    again_ = {lease, message.data(), bytes, 0, label, front};
    return Status::ok;
  }
  Post post{.sequence = posted_to_, .messages = 1};
  post.prepend_frame(bytes, 0, label);
  if (front.bytes != 0) post.front = &front;
  post.body = {lease, message.data(), message.size()};
  const Status status = post_counted(post);
  if (status != Status::ok) return status;
  ++resent_;
  resent_bytes_ += bytes;
  return status;
}

void OutgoingStream::attach(Link& link) noexcept {
  link_ = &link;
  renews_ = upstream_ != nullptr;
  if (renews_) upstream_->begin_connection();
  gather_bytes_max_ = std::min<std::uint64_t>(
      {body_max(), own_message_bytes_max_, link.limits().message_bytes_max});
  acknowledged_before_ = books_.acknowledged;
  large_.done = 0;  // the parts on the last connection are lost: begin again with the first
  if (large_.active() && large_.total > link.limits().message_bytes_max) {
    books_.drop_unposted(DropReason::not_sent, 1);
    large_ = {};
  }
  borrowed_bytes_max_ = std::min<std::uint64_t>(
      {link.fit().borrowed_bytes_max, own_message_bytes_max_, link.limits().message_bytes_max});
  if (resends_) {  // a copy of it is kept in a page
    constexpr std::size_t prefix = frame_word_bytes + sizeof(std::uint64_t);
    borrowed_bytes_max_ = std::min(borrowed_bytes_max_, link.pool().block_bytes() - prefix);
  }
  if (!page_.is_open()) return;
  // The page was gathered for the last connection. It is sent as it is, if the new peer takes all
  // messages in it. Otherwise it is cut as what is kept is, or else its messages are dropped.
  const std::uint64_t message_max =
      std::min(own_message_bytes_max_, link.limits().message_bytes_max);
  bool taken = true;
  FrameWalker walker(page_.data(), page_.bytes(), ability::every_frame);
  for (Frame frame; walker.next(frame);) taken = taken && frame.size <= message_max;
  const bool fits = taken && page_.bytes() <= body_max();
  if (taken && !fits) keep_pending_to_resend();
  if (!fits && page_.is_open()) {
    books_.drop_unposted(DropReason::not_sent, page_.messages());
    close_page();
  }
  if (page_.is_open()) page_.seal();
}

void OutgoingStream::detach() noexcept {
  fronts_.close();
  resend_.lie_idle();
  link_ = nullptr;
  again_ = {};
  wants_resend_room_ = false;
  posted_to_ = books_.next_sequence;  // until the next connection is settled
  leaves_pages_ = false;
  stop_waiting();
  reserved_at_ = nullptr;
  page_.seal();  // no room: the fast path falls through to the check of the connection
}

// Counts it as posted.
void OutgoingStream::keep_pending_to_resend() noexcept {
  if (!resends_) return;
  if (large_.active() && resend_.make_room()) {
    resend_.add_message(books_.next_sequence++, large_.lease, large_.body(), large_.label,
                        large_.front);
    large_ = {};
  }
  if (page_.messages() != 0 && !large_.active() && resend_.make_room()) {
    resend_.add_page(books_.next_sequence, page_.messages(), page_.lease(),
                     {page_.data(), page_.bytes()});
    books_.next_sequence += page_.messages();
    close_page();
  }
  if (link_ == nullptr) resend_.lie_idle();
}

void OutgoingStream::give_way_in(const Store& store) noexcept {
  resend_.give_up_some({&store});
  fronts_.close();
}

void OutgoingStream::begin_anew() noexcept {
  resend_.clear();
  books_.begin_stream();
  posted_to_ = 0;
}

void OutgoingStream::lose_one() noexcept {
  resend_.give_up();
  posted_to_ = ++books_.next_sequence;
}

void OutgoingStream::drop_pending(DropReason reason) noexcept {
  books_.drop_unposted(reason, unposted());
  close_page();
  large_ = {};
  if (upstream_ != nullptr) upstream_->clear();
}

bool OutgoingStream::set_unread(bool unread) noexcept {
  unread_ = unread;
  if (!gives_way()) {
    resend_.work();
    return false;
  }
  if (link_->pool().waited_for() || large_pool_.waited_for()) {
    resend_.give_up();
    fronts_.close();
  } else {
    resend_.offer();
  }
  const bool refused = wants_resend_room_ || starved();
  wants_resend_room_ = false;
  return refused;
}

void OutgoingStream::settle(std::uint64_t position, std::uint64_t missed) noexcept {
  const std::uint64_t begin = std::max(oldest_kept(), position);
  (void)books_.settle(position, missed, begin);
  resend_.release(begin);
  resend_.seal();
  posted_to_ = begin;
}

}  // namespace netio::detail
