// netio_message: a MessageView as it is, or a Message taken apart.
#pragma once

#include <type_traits>

#include <netio.h>
#include <netio/message.hpp>

namespace netio::c_api {

// For the time of the call-back. The members are the same in the same order (tests/c_api checks
// what arrives): copying them would double what a small message costs to receive.
static_assert(std::is_standard_layout_v<MessageView>);
static_assert(sizeof(netio_message) == sizeof(MessageView));
inline const netio_message* to_c(const MessageView& view) noexcept {
  return reinterpret_cast<const netio_message*>(&view);
}

[[nodiscard]] bool is_owned(const netio_message& message) noexcept;
// Hand over what is owned, one way and the other. The second leaves `owned` as it is: if the
// Message is not used up, its block has to be released from it, or both would hold it.
netio_message to_c(Message&& message) noexcept;
Message from_c(const netio_message& owned) noexcept;

}  // namespace netio::c_api
