// Keeping and releasing messages. Releasing is for any thread.
#include "c_api/message.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "c_api/error.hpp"
#include "memory/block.hpp"

namespace netio::c_api {
namespace {

// Marks in the low bits of `memory`; a view has the last one at most.
constexpr std::uintptr_t owned_mark = 1;
constexpr std::uintptr_t writable_mark = 2;
constexpr std::uintptr_t segmented_mark = 4;  // as in a MessageView
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
    return Message::writable(block, {data, owned.size}, owned.tag);
  }
  Message message(block, {data, owned.size}, owned.tag);
  if ((memory & segmented_mark) != 0) message.find_segments();
  return message;
}

extern "C" {

NETIO_API int netio_keep(const netio_message* received, netio_message* kept) {
  if (received == nullptr || kept == nullptr) {
    return fail(NETIO_INVALID, __func__, "a null pointer was given");
  }
  if (received->memory == nullptr || is_owned(*received)) {
    return fail(NETIO_INVALID, __func__, "this is not the message of a call-back",
                "keep what cb_msg_received was given, before it returns");
  }
  *kept = to_c(reinterpret_cast<const MessageView*>(received)->keep());
  return NETIO_OK;
}

NETIO_API int netio_release(netio_message* kept) {
  if (kept == nullptr) return fail(NETIO_INVALID, __func__, "a null pointer was given");
  if (!is_owned(*kept)) {
    return fail(NETIO_INVALID, __func__, "this message is not owned",
                "release once what was kept or allocated, and was not passed on");
  }
  const Message last = from_c(std::exchange(*kept, {}));
  return NETIO_OK;
}

}  // extern "C"
}  // namespace netio::c_api
