// Keeping and releasing messages. Releasing is for any thread.
#include "c_api/message.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "c_api/error.hpp"
#include "memory/block.hpp"
#include "transport/fit.hpp"

namespace netio::c_api {
namespace {

// Marks in the low bits of `memory`. Without the first one it is a MessageView with marks of its
// own. What is writable has no segments: with all marks it has room in front of it.
constexpr std::uintptr_t owned_mark = 2;
constexpr std::uintptr_t writable_mark = 1;
constexpr std::uintptr_t segmented_mark = 4;  // as in a MessageView
constexpr std::uintptr_t roomy_marks = writable_mark | segmented_mark;
constexpr std::uintptr_t marks = owned_mark | writable_mark | segmented_mark;
static_assert(alignof(detail::Block) > marks);

std::uintptr_t memory_of(const netio_message& message) noexcept {
  return reinterpret_cast<std::uintptr_t>(message.memory);
}

}  // namespace

bool is_owned(const netio_message& message) noexcept {
  return (memory_of(message) & owned_mark) != 0;
}

netio_message to_c(Message&& message) noexcept {
  netio_message owned{nullptr, message.data(), message.size(), message.tag()};
  std::uintptr_t is = owned_mark;
  if (message.writable_bytes().data() != nullptr) is |= writable_mark;
  if (message.head_room() != 0) is |= roomy_marks;
  if (message.segmented()) is |= segmented_mark;
  const auto block = reinterpret_cast<std::uintptr_t>(message.release_block());
  if (block != 0) owned.memory = reinterpret_cast<void*>(block | is);
  return owned;
}

Message from_c(const netio_message& owned) noexcept {
  const std::uintptr_t memory = memory_of(owned);
  auto* const block = reinterpret_cast<detail::Block*>(memory & ~marks);
  auto* const data = static_cast<std::byte*>(const_cast<void*>(owned.data));
  if ((memory & writable_mark) != 0) {
    Message message = Message::writable(block, {data, owned.size}, owned.tag);
    // All of what was left in front of it when it was allocated.
    if ((memory & roomy_marks) == roomy_marks) {
      message.set_head_room(static_cast<std::size_t>(data - block->data()) - detail::loan_headroom);
    }
    return message;
  }
  Message message(block, {data, owned.size}, owned.tag);
  if ((memory & segmented_mark) != 0) message.find_segments();
  return message;
}

extern "C" {

NETIO_API int netio_keep(const netio_message* received, netio_message* kept) {
  if (received == nullptr || kept == nullptr) {
    return fail_null(__func__);
  }
  if (received->memory == nullptr || is_owned(*received)) {
    return fail(NETIO_INVALID, __func__, "this is not the message of a call-back",
                "keep what a call-back was given, before it returns");
  }
  *kept = to_c(reinterpret_cast<const MessageView*>(received)->keep());
  return NETIO_OK;
}

NETIO_API int netio_release(netio_message* kept) {
  if (kept == nullptr) return fail_null(__func__);
  if (!is_owned(*kept)) {
    return fail(NETIO_INVALID, __func__, "this message is not owned",
                "release once what was kept or allocated, and was not passed on");
  }
  const Message last = from_c(std::exchange(*kept, {}));
  return NETIO_OK;
}

NETIO_API size_t netio_segments(const netio_message* message, netio_segment* to, size_t most) {
  if (message == nullptr || (to == nullptr && most != 0)) return 0;
  const auto give = [=](const Segments& segments) {
    for (std::size_t i = 0; i < std::min(most, segments.size()); ++i) {
      to[i] = {segments[i].data(), segments[i].size(), nullptr};
    }
    return segments.size();
  };
  if (!is_owned(*message)) return give(reinterpret_cast<const MessageView*>(message)->segments());
  Message owned = from_c(*message);
  const std::size_t count = give(owned.segments());
  static_cast<void>(owned.release_block());  // the caller's still
  return count;
}

}  // extern "C"
}  // namespace netio::c_api
