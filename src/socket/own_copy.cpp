// See own_copy.hpp.
#include "socket/own_copy.hpp"

#include <new>

#include "memory/block.hpp"
#include "wire/segments.hpp"

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

}  // namespace netio::detail
