// See own_copy.hpp.
#include "socket/own_copy.hpp"

#include <cstring>
#include <new>

#include "wire/segments.hpp"

namespace netio::detail {

namespace {

// Of all of `message`, from its table on.
Message checked(Message copy, const Message& message) noexcept {
  const std::size_t count = message.segments_count();
  const bool right = has_segments(copy.data(), copy.size(), count);
  const std::size_t table = copy.size() - message.size();
  copy = Message(copy.release_block(), copy.bytes().subspan(table), message.tag());
  if (right) copy.set_segments(count);
  return copy;
}

}  // namespace

bool may_change(const Message& message) noexcept {
  return message.segmented() && message.block() != nullptr &&
         message.block()->owner()->peer_writes();
}

Message own_copy(const Message& message) noexcept try {
  return checked(Message::copy_of(payload_of(message)), message);
} catch (const std::bad_alloc&) {
  return {};
}

Message own_copy_in(const Message& message, Lease memory, std::size_t headroom) noexcept {
  const std::span<const std::byte> payload = payload_of(message);
  std::byte* const to = memory->data() + headroom;
  std::memcpy(to, payload.data(), payload.size());
  return checked(Message(memory.release(), {to, payload.size()}, message.tag()), message);
}

}  // namespace netio::detail
