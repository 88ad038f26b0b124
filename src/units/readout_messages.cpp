// See readout_core.hpp. Here: fragments that are messages of their own.
#include <cstring>
#include <utility>

#include "units/readout_core.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

// In memory that the builder reads too, if the wire has such memory, and plenty of it. A receiver
// in the same context needs the memory for large messages more.
Message ReadoutCore::allocate_large(Builder& builder, std::size_t bytes, std::uint64_t tag,
                                    std::size_t head_bytes) noexcept {
  const Link* const link = link_of(builder);
  if (builder.up && link != nullptr && link->fit().loans != nullptr &&
      link->fit().loans->plenty()) {
    Status answer = Status::ok;
    Message message = builder.socket->allocate(bytes, answer, tag, head_bytes);
    if (message) return message;
  }
  return store_.message(bytes, tag, head_room(head_bytes));
}

Message ReadoutCore::allocate(EventId event, std::size_t bytes, Status& status,
                              std::size_t head_bytes) noexcept {
  status = Status::ok;
  if (finishing_) {
    status = Status::closed;
  } else if (bytes > options_.message_bytes_max || window_cost(bytes) > store_bytes_max_ ||
             head_room(head_bytes) > UINT32_MAX) {
    status = Status::too_big;
  }
  if (status != Status::ok) return {};
  Builder& builder = lender(protocol().builder_of(event));
  Message message = allocate_large(builder, bytes, event.number, head_bytes);
  if (!message) status = without_memory();
  return message;
}

Status ReadoutCore::hold_large(EventId event, std::span<const std::byte> fragment,
                               FragmentStatus status) noexcept {
  Builder& builder = lender(protocol().builder_of(event));
  Message message = allocate_large(builder, fragment.size(), event.number);
  if (!message) return without_memory();
  std::memcpy(message.writable_bytes().data(), fragment.data(), fragment.size());
  return send(event, message, status);
}

Status ReadoutCore::send(EventId event, Message& fragment, FragmentStatus status) noexcept {
  if (finishing_) return Status::closed;
  if (!fragment) return Status::invalid;
  const std::size_t bytes = payload_bytes(fragment);
  if (bytes > options_.message_bytes_max) return Status::too_big;
  // Its tag is the number of the event in the store. Only the memory goes there, so that `fragment`
  // is what it was if the store does not take it.
  const std::span<const std::byte> payload = fragment.bytes();
  Message held(fragment.release_block(), payload, event.number);
  if (fragment.segmented()) held.set_segments(fragment.segments_count());
  const UnitStore::Name name = store_.add(held);
  Status answer = Status::again;
  if (name == 0) {
    answer = without_memory();
  } else {
    answer = answered(protocol().send(event, bytes, name, status), bytes);
    if (answer == Status::ok) {
      fragment = Message();
      note_change();
      return answer;
    }
    held = store_.take_back(name);
  }
  fragment.take_back(held.release_block());
  return answer;
}

Status ReadoutCore::send_segments(EventId event, std::span<const Segment> segments,
                                  FragmentStatus status) noexcept {
  if (finishing_) return Status::closed;
  const SegmentList list(segments);
  if (!list.make_sense()) return Status::invalid;
  if (list.bytes() > options_.message_bytes_max) return Status::too_big;
  Message message = list.joined(event.number);
  if (!message) return without_memory();
  const Status answer = send(event, message, status);
  if (answer == Status::ok) {
    list.take_messages();
  } else {
    list.part(message);
  }
  return answer;
}

Status ReadoutCore::lend(EventId event, std::span<const std::byte> fragment, std::uint64_t token,
                         FragmentStatus status) noexcept {
  Lease lease = lent_.lend(fragment, token);
  if (!lease) return without_memory();
  Message message(lease.release(), fragment, event.number);
  const Status answer = send(event, message, status);
  if (answer != Status::ok) lent_.take_back(Lease::adopt(message.release_block()));
  return answer;
}

}  // namespace netio::detail
