// See segments.hpp.
#include "wire/segments.hpp"

#include <new>

namespace netio::detail {

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
