// netio_message: a view of a MessageView, or a Message taken apart.
#pragma once

#include <netio.h>
#include <netio/message.hpp>

namespace netio::c_api {

// For the time of the call-back.
inline netio_message view_of(const MessageView& view) noexcept {
  return {view.data(), view.size(), view.tag(), nullptr, const_cast<MessageView*>(&view), nullptr};
}
// Hands over what is owned, one way and the other. A Message must not die where `owned` still
// holds it: release_block() it then.
netio_message to_c(Message&& message) noexcept;
Message from_c(const netio_message& owned) noexcept;

}  // namespace netio::c_api
