// netio_message: a MessageView as it is, or a Message taken apart.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <netio.h>
#include <netio/message.hpp>
#include <netio/status.hpp>

#include "c_api/error.hpp"

namespace netio::c_api {

// For the time of the call-back. The members are the same in the same order (tests/c_api checks
// what arrives): copying them would double what a small message costs to receive.
static_assert(std::is_standard_layout_v<MessageView>);
static_assert(sizeof(netio_message) == sizeof(MessageView));
inline const netio_message* to_c(const MessageView& view) noexcept {
  return reinterpret_cast<const netio_message*>(&view);
}

// Of what the user gives: `data` may be null only if there are no bytes.
inline std::span<const std::byte> bytes_of(const void* data, std::size_t bytes) noexcept {
  return {static_cast<const std::byte*>(data), bytes};
}

[[nodiscard]] bool is_owned(const netio_message& message) noexcept;
// Hand over what is owned, one way and the other. The second leaves `owned` as it is: if the
// Message is not used up, its block has to be released from it, or both would hold it.
netio_message to_c(Message&& message) noexcept;
Message from_c(const netio_message& owned) noexcept;
// Gives the caller what was allocated, if that has succeeded.
inline void give_room(Message&& made, Status status, netio_message* message, void** room) noexcept {
  if (status != Status::ok) return;
  *room = made.writable_bytes().data();
  *message = to_c(std::move(made));
}
// Has `send` take the message, and empties it if the answer is NETIO_OK.
template <typename Send>
int pass_on(const char* call, netio_message* message, Send&& send) noexcept {
  if (message == nullptr || !is_owned(*message)) {
    return fail(NETIO_INVALID, call, "there is no message that is owned",
                "pass on what was kept or allocated, once");
  }
  Message owned = from_c(*message);
  const int answer = send(owned);
  if (answer == NETIO_OK) *message = {};
  static_cast<void>(owned.release_block());  // null if it went, still the caller's if not
  return answer;
}

}  // namespace netio::c_api
