// Sockets that receive, by their two names, and what every socket that receives can do.
#include <cstdint>

#include <netio/pull.hpp>

#include "c_api/error.hpp"
#include "c_api/socket.hpp"

namespace netio::c_api {
namespace {

int init_pull(const char* call, netio_context* context, auto* own,
              const netio_socket_options* options) noexcept {
  return init_in(call, context, own, [=](ContextObject& home) {
    return make_socket<Pull>(home, own, socket_options(checked(options), Mode::buffered));
  });
}

int nothing_to_hold_back(const char* call) noexcept {
  return fail(NETIO_INVALID, call, "this socket only sends, or asks or answers",
              "it has nothing to hold back");
}

// For Receiving, and for Reply.
int with_delivery(const char* call, netio_socket* socket, auto&& what) noexcept {
  return with<SocketObject>(call, socket, [=](SocketObject& object) -> int {
    if (object.replying != nullptr) return what(*object.replying), NETIO_OK;
    if (object.receiving == nullptr) return nothing_to_hold_back(call);
    return what(*object.receiving), NETIO_OK;
  });
}

int with_receiving(const char* call, netio_socket* socket, auto&& what) noexcept {
  return with<SocketObject>(call, socket, [=](SocketObject& object) -> int {
    if (object.receiving == nullptr) return nothing_to_hold_back(call);
    return what(*object.receiving);
  });
}

// Nothing comes of waiting for a peer that is not there: its id is not given again.
int about_peer(const char* call, Status status) noexcept {
  if (status != Status::not_connected) return result(call, status);
  return fail(NETIO_NOT_CONNECTED, call, "there is no peer of this id, or not any more",
              "netio_get_peers() lists those that are there");
}

}  // namespace

extern "C" {

NETIO_API int netio_listen_socket_init(netio_context* context, netio_listen_socket* socket,
                                       const netio_socket_options* options) {
  return init_pull(__func__, context, socket, options);
}

NETIO_API int netio_recv_socket_init(netio_context* context, netio_recv_socket* socket,
                                     const netio_socket_options* options) {
  return init_pull(__func__, context, socket, options);
}

NETIO_API int netio_pause(netio_socket* socket) {
  return with_delivery(__func__, socket, [](auto& receiving) { receiving.pause(); });
}
NETIO_API int netio_resume(netio_socket* socket) {
  return with_delivery(__func__, socket, [socket](auto& receiving) {
    object_in(*socket).take_messages();
    receiving.resume();
  });
}
NETIO_API int netio_pause_peer(netio_socket* socket, uint64_t id) {
  return with_receiving(__func__, socket, [id](Receiving& receiving) {
    return about_peer("netio_pause_peer", receiving.pause_peer(id));
  });
}
NETIO_API int netio_resume_peer(netio_socket* socket, uint64_t id) {
  return with_receiving(__func__, socket, [id](Receiving& receiving) {
    return about_peer("netio_resume_peer", receiving.resume_peer(id));
  });
}

NETIO_API uint64_t netio_sender_id(const netio_socket* socket) {
  if (!usable(__func__, socket)) return 0;
  const SocketObject& object = object_in(*socket);
  if (object.receiving != nullptr) return object.receiving->sender_id();
  return object.replying != nullptr ? object.replying->sender_id() : 0;
}

}  // extern "C"
}  // namespace netio::c_api
