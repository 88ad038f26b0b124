// Keeping and releasing messages. Releasing is for any thread.
#include "c_api/message.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "c_api/error.hpp"
#include "memory/block.hpp"

namespace netio::c_api {
namespace {

// Marks in the low bits of `memory`; a view has none.
constexpr std::uintptr_t owned_mark = 1;
constexpr std::uintptr_t writable_mark = 2;
static_assert(alignof(detail::Block) > (owned_mark | writable_mark));

std::uintptr_t memory_of(const netio_message& message) noexcept {
  return reinterpret_cast<std::uintptr_t>(message.memory);
}

}  // namespace

bool is_owned(const netio_message& message) noexcept {
  return (memory_of(message) & owned_mark) != 0;
}

netio_message to_c(Message&& message) noexcept {
  netio_message owned{nullptr, message.data(), message.size(), message.tag()};
  const std::uintptr_t marks =
      message.writable_bytes().data() != nullptr ? owned_mark | writable_mark : owned_mark;
  const auto block = reinterpret_cast<std::uintptr_t>(message.release_block());
  if (block != 0) owned.memory = reinterpret_cast<void*>(block | marks);
  return owned;
}

Message from_c(const netio_message& owned) noexcept {
  const std::uintptr_t memory = memory_of(owned);
  auto* const block = reinterpret_cast<detail::Block*>(memory & ~(owned_mark | writable_mark));
  auto* const data = static_cast<std::byte*>(const_cast<void*>(owned.data));
  if ((memory & writable_mark) != 0) {
    return Message::writable(block, {data, owned.size}, owned.tag);
  }
  return {block, {data, owned.size}, owned.tag};
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
  const MessageView view(static_cast<detail::Block*>(received->memory),
                         {static_cast<const std::byte*>(received->data), received->size},
                         received->tag);
  *kept = to_c(view.keep());
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
