// See segments.hpp.
#include "wire/segments.hpp"

#include <new>

#include "memory/block.hpp"

namespace netio::detail {

bool may_change(const Message& message) noexcept {
  return message.segmented() && message.block() != nullptr &&
         message.block()->owner()->peer_writes();
}

Message own_copy(const Message& message) noexcept try {
  const std::span<const std::byte> payload = payload_of(message);
  Message copy = Message::copy_of(payload);
  const std::size_t count = message.segments_count();
  const bool right = has_segments(copy.data(), copy.size(), count);
  const std::size_t table = payload.size() - message.size();
  copy = Message(copy.release_block(), copy.bytes().subspan(table), message.tag());
  if (right) copy.set_segments(count);
  return copy;
} catch (const std::bad_alloc&) {
  return {};
}

Message SegmentList::copied(std::uint64_t tag) const {
  const std::size_t table = segment_table_bytes(count());
  Message whole = Message::of_size(bytes_, tag);
  write(whole.writable_bytes().data());
  whole = Message(whole.release_block(), whole.bytes().subspan(table), tag);
  whole.set_segments(count());
  return whole;
}

Message SegmentList::joined(std::uint64_t tag) const noexcept try {
  if (roomy() == nullptr) return copied(tag);
  const std::size_t table = segment_table_bytes(count());
  const std::span<const std::byte> all = write_head();
  Message whole(roomy()->release_block(), all.subspan(table), tag);
  whole.set_segments(count());
  return whole;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace netio::detail
