// The slow paths of an OutgoingStream: pages that are full, and messages that are posted by
// themselves. Large ones are in outgoing_stream_large.cpp.
#include "socket/outgoing_stream.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/point.hpp"
#include "memory/copy_thresholds.hpp"

namespace netio::detail {

Status OutgoingStream::sendable(std::size_t bytes) const noexcept {
  if (link_ == nullptr) return Status::not_connected;
  const std::uint64_t most = std::min(own_message_bytes_max_, link_->limits().message_bytes_max);
  return bytes > most ? Status::too_big : Status::ok;
}

Status OutgoingStream::gather(std::span<const std::byte> message, Label label) noexcept {
  reserved_at_ = nullptr;
  if (const Status status = sendable(message.size()); status != Status::ok) return status;
  const std::size_t frame = OpenPage::frame_bytes(message.size(), label);
  if (frame > page_.room()) {
    if (const Status status = post_pending(); status != Status::ok) return status;
    if (frame > body_max()) return gather_large(message, label);
    if (const Status status = open_page(); status != Status::ok) return status;
  }
  page_.append(message, label);
  return Status::ok;
}

Status OutgoingStream::open_page() noexcept {
  assert(!page_.is_open());
  Lease page;
  if (const Status status = take_page(page); status != Status::ok) return status;
  page_.open(std::move(page), body_max());
  owner_.on_page_opened();
  return Status::ok;
}

// Few pages are left for other links while this one is backed up.
Status OutgoingStream::take_page(Lease& page) noexcept {
  Pool& pool = link_->pool();
  leaves_pages_ = false;
  if (resends_) {
    if (const Status status = share_to_resend(); status != Status::ok) return status;
  }
  if (!pool.plenty()) {
    link_->flush();
    leaves_pages_ = link_->backed_up() && !pool.plenty();
    if (leaves_pages_) return Status::again;  // until the link is idle, or says that some is done
  }
  page = pool.take();
  return page ? Status::ok : wait_for(pool);
}

void OutgoingStream::close_page() noexcept {
  page_.close();
  reserved_at_ = nullptr;
}

// The wait ends when memory comes home, or when a stranger acknowledges something.
Status OutgoingStream::wait_for(Store& store, Lack lack) noexcept {
  waits_in_ = &store;
  lack_ = lack;
  store.wait(*this);
  if (gives_way()) give_way_in(store);
  owner_.on_starved();
  return Status::again;
}

Status OutgoingStream::post_now(std::span<const std::byte> message, Label label) noexcept {
  if (link_ != nullptr && message.size() <= borrowed_bytes_max_ && !pending()) [[likely]] {
    const Status status = post_borrowed(message, label);
    if (status == Status::ok) link_->flush();
    return status;
  }
  if (const Status status = sendable(message.size()); status != Status::ok) return status;
  if (pending()) {
    if (const Status status = post_pending(); status != Status::ok) return status;
  }
  if (message.size() > borrowed_bytes_max_) {
    if (link_->fit().loans != nullptr) return gather_large(message, label);
    Lease copy;
    if (const Status status = copy_large(message, copy); status != Status::ok) return status;
    return pass(copy, message, label);
  }
  const Status status = post_borrowed(message, label);
  if (status == Status::ok) link_->flush();
  return status;
}

// Posts a page with messages, or with a part of one, and counts it.
Status OutgoingStream::post_counted(Post& post) noexcept {
  NETIO_POINT(post);
  const Status status = link_->post(post);
  if (status == Status::ok) {
    posted_to_ += post.messages;
    books_.next_sequence = std::max(books_.next_sequence, posted_to_);
    ++pages_posted_;
  }
  return status;
}

Status OutgoingStream::post_borrowed(std::span<const std::byte> message, Label label) noexcept {
  if (resends_) {
    const std::size_t frame = OpenPage::frame_bytes(message.size(), label);
    if (const Status status = room_to_copy(frame); status != Status::ok) return status;
  }
  Post post{.sequence = posted_to_, .messages = 1};
  post.prepend_frame(message.size(), 0, label);
  post.body.data = message.data();
  post.body.bytes = message.size();
  const Status status = post_counted(post);
  if (status == Status::ok && resends_) resend_.copy_message(post.sequence, message, label);
  if (status == Status::again) give_way_for_copy();
  return status;
}

Status OutgoingStream::post_frames(const Lease& lease, std::span<const std::byte> frames,
                                   std::uint32_t messages) noexcept {
  Post post{.sequence = posted_to_, .messages = messages};
  post.body = {lease, frames.data(), frames.size()};
  return post_counted(post);
}

// A page that many share is kept once for all of them where each one's copy would take a page.
Status OutgoingStream::pass_frames(const Lease& lease, std::span<const std::byte> frames,
                                   std::uint32_t messages, bool alone) noexcept {
  bool copy = false;
  if (resends_) {
    if (const Status status = share_to_resend(); status != Status::ok) return status;
    const bool copies = alone || resend_.has_room_to_copy(frames.size());
    const Status status = room_to_resend(*lease.get(), copies ? frames.size() : SIZE_MAX, copy);
    if (status != Status::ok) return status;
  }
  const std::uint64_t position = posted_to_;
  const Status status = post_frames(lease, frames, messages);
  if (status != Status::ok || !resends_) return status;
  keep_page(position, messages, lease, frames, copy);
  return status;
}

Status OutgoingStream::wait_for_page() noexcept { return wait_for(link_->pool()); }

Status OutgoingStream::pass(Lease& lease, std::span<const std::byte> message,
                            Label label) noexcept {
  if (const Status status = sendable(message.size()); status != Status::ok) return status;
  if (pending()) {
    if (const Status status = post_pending(); status != Status::ok) return status;
  }
  const Status status = pass_now(lease, message, label);
  if (status == Status::ok) link_->flush();
  return status;
}

Status OutgoingStream::pass_now(Lease& lease, std::span<const std::byte> message, Label label,
                                const PostBody& front) noexcept {
  if (front.bytes + message.size() > body_max() && stranger()) [[unlikely]]
    return pass_to_stranger(lease, message, label, front);
  return post_whole(lease, message, label, front);
}

// Memory that the user allocated or kept, or that a publisher shares, is charged to the quota of
// strangers as a copy is.
Status OutgoingStream::pass_to_stranger(Lease& lease, std::span<const std::byte> message,
                                        Label label, const PostBody& front) noexcept {
  return link_->fit().with_large([&](auto& store) {
    return store.owns(*lease.get()) ? pass_charged(store, lease, message, label, front)
                                    : post_whole(lease, message, label, front);
  });
}

template <typename SizedPool>
Status OutgoingStream::pass_charged(SizedPool& pool, Lease& lease,
                                    std::span<const std::byte> message, Label label,
                                    const PostBody& front) noexcept {
  Quota& strangers = pool.strangers();
  const std::size_t bytes = lease->capacity();
  if (lease->quota == &strangers || bytes > strangers.bytes_max()) {
    return post_whole(lease, message, label, front);
  }
  if (!strangers.fits(bytes)) return keep_from_stranger(pool);
  const Lease posted = lease;
  const Status status = post_whole(lease, message, label, front);
  if (status == Status::ok) Store::charge(*posted.get(), strangers);
  return status;
}

Status OutgoingStream::post_whole(Lease& lease, std::span<const std::byte> message, Label label,
                                  const PostBody& front) noexcept {
  const Fit& fit = link_->fit();
  const std::size_t bytes = front.bytes + message.size();
  const Fit::Answer answer = fit.of(*lease.get(), message, label, front.bytes);
  if (answer.way == Fit::Way::in_parts) {
    if (const Status status = may_begin_large(); status != Status::ok) return status;
    return begin_large({std::move(lease), message.data(), bytes, 0, label, front});
  }
  if (fit.before_post(answer)) {
    const Status status = gather_large(message, label);
    if (status != Status::ok) return status;
    copies_.add(message.size());
    lease.reset();
    return status;
  }
  // So that a short message does not hold a page or a loan until it is acknowledged.
  bool copy = false;
  Lease kept;
  if (resends_) {
    if (upstream_ != nullptr) {
      if (const Status status = share_to_resend(); status != Status::ok) return status;
    }
    const std::size_t frame =
        front.bytes != 0 ? SIZE_MAX : OpenPage::frame_bytes(message.size(), label);
    const Status status = room_to_resend(*lease.get(), frame, copy);
    if (status != Status::ok) return status;
    kept = lease;
  }
  Post post{.sequence = posted_to_, .messages = 1};
  post.prepend_frame(bytes, 0, label);
  if (front.bytes != 0) post.front = &front;
  post.body = {std::move(lease), message.data(), message.size()};
  const Status status = post_counted(post);
  if (status != Status::ok) lease = std::move(post.body.lease);
  if (status != Status::ok || !resends_) return status;
  if (copy) {
    resend_.copy_message(post.sequence, message, label);
    copies_.add(message.size());
  } else {
    resend_.add_message(post.sequence, kept, message, label, front);
  }
  return status;
}

std::span<std::byte> OutgoingStream::reserve(std::size_t bytes, Status& status) noexcept {
  reserved_at_ = nullptr;
  status = sendable(bytes);
  if (status != Status::ok) return {};
  // With room for a tag: commit() decides about it.
  constexpr std::size_t prefix = frame_word_bytes + sizeof(std::uint64_t);
  if (bytes > gather_bytes_max_ || wire_padded(bytes) + prefix > body_max()) {
    status = Status::too_big;
    return {};
  }
  if (wire_padded(bytes) + prefix > page_.room()) {
    status = post_pending();
    if (status == Status::ok) status = open_page();
    if (status != Status::ok) return {};
  }
  reserved_at_ = page_.cursor();
  reserved_bytes_ = bytes;
  return {reserved_at_ + prefix, bytes};
}

Status OutgoingStream::commit(std::size_t bytes, std::uint64_t tag) noexcept {
  // Another message, or a flush, since reserve() has moved the cursor or closed the page.
  if (reserved_at_ == nullptr || reserved_at_ != page_.cursor()) return Status::invalid;
  if (bytes > reserved_bytes_) return Status::too_big;
  reserved_at_ = nullptr;
  // The payload stands behind room for a tag; without one it moves up.
  if (tag == 0) {
    std::byte* const frame = page_.cursor();
    std::memmove(frame + frame_word_bytes, frame + frame_word_bytes + sizeof tag, bytes);
  }
  page_.frame_in_place(bytes, tag);
  return Status::ok;
}

Status OutgoingStream::post_pending() noexcept {
  if (link_ == nullptr) return Status::not_connected;
  if (const Status status = post_behind(); status != Status::ok) return status;
  if (const Status status = post_parts(); status != Status::ok) return status;
  if (const Status status = post_page(); status != Status::ok) return status;
  return waits_above() ? upstream_->post_waiting() : Status::ok;
}

void OutgoingStream::keep_page(std::uint64_t position, std::uint32_t messages, const Lease& page,
                               std::span<const std::byte> frames, bool copy) noexcept {
  if (copy) {
    resend_.copy_page(position, messages, frames);
    copies_.add(frames.size());
  } else {
    resend_.add_page(position, messages, page, frames);
  }
}

Status OutgoingStream::post_page() noexcept {
  if (page_.messages() == 0) {
    if (page_.is_open()) close_page();
    return Status::ok;
  }
  const std::span<const std::byte> frames(page_.data(), page_.bytes());
  // A page that is nearly empty is copied, so that its memory is free once it is posted; but not
  // where all pages are out, because then it would wait for one that waits like itself.
  bool copy = false;
  Lease kept;
  if (resends_) {
    const Status status = room_to_resend(*page_.lease().get(), frames.size(), copy);
    if (status != Status::ok) return status;
    kept = page_.lease();
  }
  Post post{.sequence = posted_to_, .messages = page_.messages()};
  post.body = {std::move(page_.lease()), frames.data(), frames.size()};
  if (const Status status = post_counted(post); status != Status::ok) {
    page_.lease() = std::move(post.body.lease);
    return status;
  }
  if (resends_) keep_page(post.sequence, post.messages, kept, frames, copy);
  close_page();
  return Status::ok;
}

Post OutgoingStream::control_post(ControlKind kind, std::span<const std::byte> payload,
                                  std::uint64_t sequence) noexcept {
  Post post{.sequence = sequence, .flags = page_flag::control};
  const auto number = static_cast<std::uint32_t>(kind);
  post.prepend(frame_word(static_cast<std::uint32_t>(payload.size()),
                          frame_flag::control | (number << frame_flag::control_shift)));
  post.body.data = payload.data();
  post.body.bytes = payload.size();
  return post;
}

Status OutgoingStream::post_control(ControlKind kind, std::span<const std::byte> payload) noexcept {
  Post post = control_post(kind, payload, posted_to_);
  return link_->post(post);
}

Status OutgoingStream::post_control_frames(std::span<const std::byte> frames) noexcept {
  Post post{.sequence = posted_to_, .flags = page_flag::control};
  post.body.data = frames.data();
  post.body.bytes = frames.size();
  const Status status = link_->post(post);
  if (status == Status::ok) link_->flush();
  return status;
}

Status OutgoingStream::post_acknowledgement() noexcept {
  Post post{.sequence = posted_to_};
  return link_->post(post);
}

void OutgoingStream::end_turn(bool flush_when_idle) noexcept {
  if (page_.is_open() && page_.messages() == 0) close_page();  // reserved, and not committed
  if (fronts_.unused()) fronts_.close();
  if (link_ == nullptr) return;
  link_->flush();  // posts of this turn must not make the wire look busy, or a peer full
  const bool due = flush_when_idle ? pending() : waits_above();
  if (due && link_->idle()) flush();
}

void OutgoingStream::flush() noexcept {
  if (link_ == nullptr) return;
  (void)post_pending();
  link_->flush();
}

double OutgoingStream::link_fill() const noexcept {
  if (link_ == nullptr || starved() || wants_resend_room_) return 1;
  const std::size_t most = link_->limits().queue_bytes_max;
  return static_cast<double>(std::min(link_->queued_bytes(), most)) / static_cast<double>(most);
}

Holding OutgoingStream::holding(const StorePart& memory) const noexcept {
  if (link_ == nullptr) return {};
  Holding held = link_->holding(memory);
  if (memory.has(large_.lease)) held.left += large_.total - large_.done;
  if (upstream_ != nullptr) held.left += upstream_->bytes_in(memory);
  return held;
}

// A waiter of this peer does not count: the peer would be ended for what only it lacks. For a
// waiter that lacks the quota of strangers, only memory that is charged to the quota helps. The
// peer that holds such memory may have acknowledged something since.
Holding OutgoingStream::kept_from_others(const Shortage& shortage) const noexcept {
  const bool waits = starved() && waits_in_ == shortage.store;
  const std::size_t own_memory = waits && lack_ == Lack::memory ? 1 : 0;
  const std::size_t own_quota = waits && lack_ == Lack::strangers_quota ? 1 : 0;
  if (shortage.lack_memory > own_memory) return holding({shortage.store});
  if (shortage.lack_strangers_quota > own_quota) {
    return holding({shortage.store, shortage.strangers});
  }
  return {};
}

}  // namespace netio::detail
