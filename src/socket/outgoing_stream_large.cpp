// Large messages of an OutgoingStream: where they are copied to, and how they are cut into parts.
#include <algorithm>
#include <cstring>
#include <utility>

#include "socket/outgoing_stream.hpp"

namespace netio::detail {

template <typename SizedPool>
Status OutgoingStream::take_from(SizedPool& pool, std::size_t bytes, Lease& taken) noexcept {
  taken = link_->pool().take_from(pool, bytes);
  if (taken) return Status::ok;
  return pool.could_ever_take(bytes) ? wait_for(pool) : Status::too_big;
}

// Charges the memory to the quota of strangers if the peer is one. So a quarter of the pool is left
// for peers that are known to take what they are sent. A message that is larger than the quota is
// not charged: otherwise it could never be sent.
template <typename SizedPool>
Status OutgoingStream::take_for_peer(SizedPool& pool, std::size_t bytes, Lease& taken) noexcept {
  Quota& strangers = pool.strangers();
  const std::size_t charged = SizedPool::charged_bytes(bytes);
  const bool counts = stranger() && charged <= strangers.bytes_max();
  if (counts && !strangers.fits(charged)) return keep_from_stranger(pool);
  const Status status = take_from(pool, bytes, taken);
  if (status == Status::ok && counts) Store::charge(*taken.get(), strangers);
  return status;
}

Status OutgoingStream::keep_from_stranger(Store& store) noexcept {
  return wait_for(store, Lack::strangers_quota);
}

// What was begun when a connection breaks is kept too, whatever the bound. So nothing is begun
// while as much is kept already: otherwise each break would add a message.
Status OutgoingStream::may_begin_large() noexcept {
  if (!resends_) return Status::ok;
  while (resend_.full() && gives_way()) resend_.give_up_oldest();
  if (!resend_.full()) return Status::ok;
  wants_resend_room_ = true;
  return Status::again;
}

// Copies the message to where the peer reads it, or into a buffer of the large pool. `message` is
// the copy afterwards.
Status OutgoingStream::copy_large(std::span<const std::byte>& message, Lease& copy) noexcept {
  if (const Status status = may_begin_large(); status != Status::ok) return status;
  const Fit& fit = link_->fit();
  const std::size_t headroom = fit.headroom();
  const std::size_t all = headroom + wire_padded(message.size());
  const Status status =
      fit.with_large([&](auto& store) { return take_for_peer(store, all, copy); });
  if (status != Status::ok) return status;
  std::byte* const to = copy->data() + headroom;
  std::memcpy(to, message.data(), message.size());
  message = {to, message.size()};
  return Status::ok;
}

Status OutgoingStream::gather_large(std::span<const std::byte> message, Label label) noexcept {
  Lease copy;
  if (const Status status = copy_large(message, copy); status != Status::ok) return status;
  return begin_large({std::move(copy), message.data(), message.size(), 0, label, {}});
}

Status OutgoingStream::begin_large(LargeMessage message) noexcept {
  large_ = std::move(message);
  (void)post_parts();  // what is left goes on when the link has room
  link_->flush();
  owner_.on_large_begun();
  return Status::ok;
}

// Parts fill ordinary pages, so that nobody needs memory for a large page and a large message at
// once (docs/wire.md).
Status OutgoingStream::post_parts() noexcept {
  if (!large_.active()) return Status::ok;
  if (resends_ && large_.done == 0) {
    bool copy = false;  // it is too large for that
    const Status status = room_to_resend(*large_.lease.get(), SIZE_MAX, copy);
    if (status != Status::ok) return status;
  }
  const std::uint64_t position = posted_to_;
  if (const Status status = post_parts_of(large_); status != Status::ok) return status;
  if (resends_) {
    resend_.add_message(position, large_.lease, large_.body(), large_.label, large_.front);
  }
  large_ = {};
  return Status::ok;
}

// `ok` once the last part is posted.
Status OutgoingStream::post_parts_of(LargeMessage& large) noexcept {
  for (bool last = false; !last;) {
    const std::size_t part_max = (body_max() - frame_prefix_bytes_max) & ~(wire_align - 1);
    const bool whole = large.done == 0 && link_->fit().peer_reads(*large.lease.get(), large.total);
    PostBody part = large.next(whole ? large.total : part_max);
    const std::size_t bytes = part.bytes;
    const bool first = large.done == 0;
    last = bytes == large.left();
    Post post{.sequence = posted_to_, .messages = last ? 1U : 0U};
    post.prepend_frame(bytes, (last ? 0U : frame_flag::more) | (first ? 0U : frame_flag::continued),
                       large.label);
    if (first && !last) post.prepend(large.total);
    post.body = std::move(part);
    if (const Status status = post_counted(post); status != Status::ok) return status;
    large.done += bytes;
  }
  return Status::ok;
}

}  // namespace netio::detail
