// Keeping and releasing messages. Releasing is for any thread.
#include "c_api/message.hpp"

#include "c_api/error.hpp"

namespace netio::c_api {

netio_message to_c(Message&& message) noexcept {
  netio_message owned{message.data(), message.size(), message.tag(), nullptr, nullptr, nullptr};
  owned.writable = message.writable_bytes().data();
  owned.block = message.release_block();
  return owned;
}

Message from_c(const netio_message& owned) noexcept {
  auto* const block = static_cast<detail::Block*>(owned.block);
  if (owned.writable != nullptr) {
    return Message::writable(block, {static_cast<std::byte*>(owned.writable), owned.size},
                             owned.tag);
  }
  return {block, {static_cast<const std::byte*>(owned.data), owned.size}, owned.tag};
}

}  // namespace netio::c_api

using namespace netio::c_api;

int netio_keep(const netio_message* received, netio_message* kept) {
  if (received == nullptr || kept == nullptr) {
    return fail(NETIO_INVALID, __func__, "a null pointer was given");
  }
  if (received->view == nullptr) {
    return fail(NETIO_INVALID, __func__, "this is not the message of a call-back",
                "keep what cb_msg_received was given, before it returns");
  }
  return guarded(__func__, [&] {
    *kept = to_c(static_cast<const netio::MessageView*>(received->view)->keep());
  });
}

int netio_release(netio_message* kept) {
  if (kept == nullptr) return fail(NETIO_INVALID, __func__, "a null pointer was given");
  if (kept->block == nullptr) {
    return fail(NETIO_INVALID, __func__, "this message is not owned",
                "release once what was kept or allocated, and was not passed on");
  }
  const netio::Message last = from_c(*kept);
  *kept = {};
  return NETIO_OK;
}
