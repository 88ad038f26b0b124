// netio_subscribe_socket: its set of tags is kept by the C++ socket.
#include <cstdint>
#include <memory>

#include <netio/subscribe.hpp>

#include "c_api/call_backs.hpp"
#include "c_api/error.hpp"
#include "c_api/socket.hpp"

namespace netio::c_api {
namespace {

using Subscriber = SocketOf<Subscribe>;

void set_call_backs(Subscribe& subscribe, netio_subscribe_socket* own) {
  subscribe.on_subscribed([own](const PeerInfo& info, const Subscribed& answer) {
    const netio_subscription c{answer.revision,         answer.from,
                               answer.behind_bytes_max, static_cast<std::int32_t>(answer.policy),
                               answer.refused ? 1 : 0,  answer.detail.c_str(),
                               answer.goes_on ? 1 : 0};
    call_back_about(info, own, own->cb_subscribed, &c);
  });
  subscribe.on_gap([own](const PeerInfo& info, const Gap& gap) {
    const netio_gap c{gap.first, gap.count, static_cast<int>(gap.reason)};
    call_back_about(info, own, own->cb_gap, &c);
  });
}

int change(const char* call, netio_subscribe_socket* socket, TagRange tags, bool add) noexcept {
  return with<SocketObject>(call, socket, [=](SocketObject& object) -> int {
    auto* const own = dynamic_cast<Subscriber*>(&object);
    if (own == nullptr) return fail(NETIO_INVALID, call, "this is no subscribe socket");
    add ? own->kind.subscribe(tags) : own->kind.unsubscribe(tags);
    return NETIO_OK;
  });
}

}  // namespace

extern "C" {

NETIO_API int netio_subscribe_socket_init(netio_context* context, netio_subscribe_socket* socket,
                                          const netio_socket_options* options) {
  return init_in(__func__, context, socket, [=](ContextObject& home) {
    const netio_socket_options c = checked(options);
    const auto mode = c.unbuffered != 0 ? Mode::unbuffered : Mode::buffered;
    auto object =
        make_socket<Subscribe>(home, socket, subscribe_options(c), socket_options(c, mode));
    set_call_backs(static_cast<Subscriber&>(*object).kind, socket);
    return object;
  });
}

NETIO_API int netio_subscribe(netio_subscribe_socket* socket, uint64_t tag) {
  return change(__func__, socket, {tag, tag}, true);
}
NETIO_API int netio_unsubscribe(netio_subscribe_socket* socket, uint64_t tag) {
  return change(__func__, socket, {tag, tag}, false);
}
NETIO_API int netio_subscribe_range(netio_subscribe_socket* socket, uint64_t first, uint64_t last) {
  return change(__func__, socket, {first, last}, true);
}
NETIO_API int netio_unsubscribe_range(netio_subscribe_socket* socket, uint64_t first,
                                      uint64_t last) {
  return change(__func__, socket, {first, last}, false);
}

}  // extern "C"
}  // namespace netio::c_api
