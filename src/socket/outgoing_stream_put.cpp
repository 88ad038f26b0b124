// Messages of the user's memory, and of several segments: gathered, or a post of their own.
#include <utility>

#include "memory/copy_thresholds.hpp"
#include "socket/outgoing_stream.hpp"
#include "socket/own_copy.hpp"

namespace netio::detail {

Status OutgoingStream::put(Message& message, Label label, Mode mode) noexcept {
  if (link_ == nullptr) return Status::not_connected;
  if (may_change(message)) [[unlikely]]
    return put_own_copy(message, label, mode);
  const std::span<const std::byte> bytes = payload_of(message);
  if (mode == Mode::buffered && gathers(bytes.size())) return put_copy(message, label, mode);
  if (!label_segments(message, label)) return Status::too_big;
  if (copies_to_resend(*message.block(), bytes.size())) {
    const Status status = post_now(bytes, label);
    if (status == Status::ok) forget_copied(message);
    return status;
  }
  Lease lease = Lease::adopt(message.release_block());
  const Status status = pass(lease, bytes, label);
  if (status == Status::ok) {
    message = Message();
  } else {
    message.take_back(lease.release());
  }
  return status;
}

Status OutgoingStream::put_copy(Message& message, Label label, Mode mode) noexcept {
  if (!label_segments(message, label)) return Status::too_big;
  const Status status = put(payload_of(message), label, mode);
  if (status == Status::ok) forget_copied(message);
  return status;
}

// False if the peer does not take them.
bool OutgoingStream::label_segments(const Message& message, Label& label) const noexcept {
  if (!message.segmented()) return true;
  label.flags |= label_of(message).flags & ~frame_flag::tagged;
  return takes_segments_;
}

void OutgoingStream::forget_copied(Message& message) noexcept {
  copies_.add(payload_of(message).size());
  message = Message();
}

Status OutgoingStream::put_own_copy(Message& message, Label label, Mode mode) noexcept {
  Status status = Status::again;
  Message copy;
  const std::size_t bytes = payload_of(message).size();
  if (link_->fit().loans != nullptr && !(mode == Mode::buffered && gathers(bytes))) {
    // The peer reads the copy where it lies.
    Lease lease = allocate(bytes, status);
    if (lease) copy = own_copy_in(message, std::move(lease), loan_headroom);
  } else {
    copy = own_copy(message);
  }
  if (!copy) return status;
  status = put(copy, label, mode);
  if (status != Status::ok) return status;
  copies_.add(message.size());
  message = Message();
  return status;
}

bool OutgoingStream::takes_page(const FrameSums& sums, std::size_t bytes) const noexcept {
  return link_ != nullptr && sums.messages != 0 && bytes <= body_max() &&
         (takes_segments_ || !sums.segments) && sendable(sums.largest) == Status::ok;
}

Status OutgoingStream::put_page(const Lease& page, std::span<const std::byte> frames,
                                std::uint32_t messages, Mode mode, bool copies) noexcept {
  const bool gathered = mode == Mode::buffered && gathers(frames.size());
  // The link copies a short body into its own memory: a copy in front of that would be one more.
  const bool is_short = frames.size() <= link_->fit().short_body_bytes_max;
  if (copies || gathered || copies_to_resend(*page.get(), frames.size()) ||
      !(is_short || link_->fit().sends_page_from(*page.get(), frames))) {
    if (frames.size() > page_.room()) {
      if (const Status status = post_pending(); status != Status::ok) return status;
      if (const Status status = open_page(); status != Status::ok) return status;
    }
    page_.append_frames(frames.data(), frames.size(), messages);
    copies_.add(frames.size());
    if (mode != Mode::buffered) flush();
    return Status::ok;
  }
  if (pending()) {
    if (const Status status = post_pending(); status != Status::ok) return status;
  }
  const Status status = pass_frames(page, frames, messages, true);
  if (status == Status::ok && mode != Mode::buffered) link_->flush();
  return status;
}

// Those that are messages, or lent, were copied out of their memory.
void OutgoingStream::count_copies(const SegmentList& segments) noexcept {
  segments.each_message([this](std::size_t bytes) { copies_.add(bytes); });
}

Lease OutgoingStream::allocate(std::size_t bytes, Status& status) noexcept {
  status = sendable(bytes);
  if (status == Status::ok && resends_) status = share_to_resend();
  if (status != Status::ok) return {};
  Fit::Taken taken = link_->fit().take_to_write(loan_headroom + wire_padded(bytes));
  if (!taken.lease) {
    status = taken.short_of != nullptr ? wait_for(*taken.short_of) : Status::too_big;
  }
  return std::move(taken.lease);
}

// `head_bytes` more may stand in front of it, with a table of any number of segments.
Message OutgoingStream::allocate_message(std::size_t bytes, std::uint64_t tag, Status& status,
                                         std::size_t head_bytes) noexcept {
  const std::size_t room = head_room(head_bytes);
  if (room > UINT32_MAX || bytes > SIZE_MAX - room) {
    status = Status::too_big;
    return {};
  }
  Lease lease = allocate(room + bytes, status);
  if (!lease) return {};
  std::byte* const payload = lease->data() + loan_headroom + room;
  Message message = Message::writable(lease.release(), {payload, bytes}, tag);
  message.set_head_room(room);
  return message;
}

// The wire reads the last segment where it lies, which is worth a post of its own; what stands in
// front of it is put together in a page. Not on wires whose memory the peer reads: there the whole
// message lies in one piece.
bool OutgoingStream::goes_behind_front(const SegmentList& segments, Label label) const noexcept {
  const Block* const memory = segments.last_memory();
  const Fit& fit = link_->fit();
  if (memory == nullptr || fit.loans != nullptr) return false;
  const std::span<const std::byte> last = segments.last();
  const std::size_t front = segments.head_bytes();
  const std::size_t gathered_most = body_max() / gathered_page_part;
  if (last.size() <= gathered_most || front > gathered_most) return false;
  if (!segments.lends() && copies_to_resend(*memory, last.size())) return false;
  return fit.of(*memory, last, label, front).way != Fit::Way::copied;
}

Status OutgoingStream::put_behind_front(const SegmentList& segments, Label label) noexcept {
  if (pending()) {
    if (const Status status = post_pending(); status != Status::ok) return status;
  }
  const std::size_t bytes = segments.head_bytes();
  if (!fronts_.has_room(bytes)) {
    Lease page;
    if (const Status status = take_page(page); status != Status::ok) return status;
    fronts_.open(std::move(page));
  }
  const PostBody front = fronts_.add(bytes);
  segments.write_front(const_cast<std::byte*>(front.data));
  Lease lease = Lease::adopt(segments.release_last());
  const Status status = pass_now(lease, segments.last(), label, front);
  if (status == Status::ok) {
    link_->flush();
  } else {
    segments.take_back_last(lease.release());
    fronts_.take_back(bytes);
  }
  return status;
}

// Where it is copied to, it is copied once.
Status OutgoingStream::put(const SegmentList& segments, Label label, Mode mode) noexcept {
  const std::size_t bytes = segments.bytes();
  if (const Status status = sendable(bytes); status != Status::ok) return status;
  if (!takes_segments_) return Status::too_big;
  label.flags |= segments.flags();
  Message* const roomy = segments.roomy();
  const std::size_t frame = OpenPage::frame_bytes(bytes, label);
  const bool in_place = roomy != nullptr || goes_behind_front(segments, label);
  const std::size_t most = in_place ? body_max() / gathered_page_part : body_max();
  if (mode == Mode::buffered && frame <= most) {
    if (frame > page_.room()) {
      if (const Status status = post_pending(); status != Status::ok) return status;
      if (const Status status = open_page(); status != Status::ok) return status;
    }
    segments.write(page_.add(bytes, label));
    count_copies(segments);
    return Status::ok;
  }
  if (roomy != nullptr) {
    const std::span<const std::byte> whole = segments.write_head();
    Lease lease = Lease::adopt(roomy->release_block());
    const Status status = pass(lease, whole, label);
    roomy->take_back(status == Status::ok ? nullptr : lease.release());
    return status;
  }
  if (in_place) return put_behind_front(segments, label);
  Status status = Status::ok;
  Lease lease;
  if (link_->fit().loans == nullptr && loan_headroom + frame <= link_->pool().block_bytes()) {
    status = take_page(lease);
  } else {
    lease = allocate(bytes, status);
  }
  if (status != Status::ok) return status;
  std::byte* const begin = lease->data() + loan_headroom;
  segments.write(begin);
  status = pass(lease, {begin, bytes}, label);
  if (status == Status::ok) count_copies(segments);
  return status;
}

}  // namespace netio::detail
