// Sockets that send: unbuffered, buffered, and what a pair or publish socket sends by the same
// calls. The data path: nothing here allocates.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <netio/push.hpp>

#include "c_api/error.hpp"
#include "c_api/message.hpp"
#include "c_api/segments.hpp"
#include "c_api/socket.hpp"

namespace netio::c_api {
namespace {

int init_push(const char* call, netio_context* context, auto* own,
              const netio_socket_options* options, Mode mode) noexcept {
  return init_in(call, context, own, [=](ContextObject& home) {
    return make_socket<Push>(home, own, socket_options(checked(options), mode));
  });
}

// What `sent` answers for the role that the socket has: SendCore or Publish.
template <typename Sent>
int by_role(const char* call, netio_socket* socket, Sent&& sent) noexcept {
  if (!usable(call, socket)) [[unlikely]]
    return last_code();
  const SocketObject& object = object_in(*socket);
  if (object.sending != nullptr) [[likely]]
    return result(call, sent(*object.sending));
  if (object.publishing != nullptr) return result(call, sent(*object.publishing));
  if (object.requesting != nullptr || object.replying != nullptr) {
    return fail(NETIO_INVALID, call, "this socket sends requests or answers only",
                "use netio_request_send() or netio_reply_to_send(), and their like");
  }
  return fail(NETIO_INVALID, call, "this socket only receives",
              "send through a send, pair or publish socket");
}

inline int send(const char* call, netio_socket* socket, std::uint64_t tag, const void* data,
                std::size_t bytes) noexcept {
  if (data == nullptr) [[unlikely]] {
    if (bytes != 0) return fail(NETIO_INVALID, call, "data is a null pointer");
  }
  return by_role(call, socket, [=](auto& role) { return role.send(bytes_of(data, bytes), tag); });
}

int allocate(const char* call, netio_socket* socket, std::uint64_t tag, std::size_t head_bytes,
             std::size_t bytes, netio_message* message, void** room) noexcept {
  if (message == nullptr || room == nullptr) {
    return fail_null(call);
  }
  return by_role(call, socket, [=](auto& role) {
    Status status = Status::ok;
    Message made;
    if constexpr (requires { role.allocate(bytes, status, tag, head_bytes); }) {
      made = role.allocate(bytes, status, tag, head_bytes);
    } else {
      made = role.allocate(bytes, tag, status, head_bytes);
    }
    give_room(std::move(made), status, message, room);
    return status;
  });
}

// Of a buffered send or pair socket.
detail::SendCore* open_page(const char* call, netio_socket* socket) noexcept {
  if (!usable(call, socket)) return nullptr;
  detail::SendCore* const sending = object_in(*socket).sending;
  if (sending == nullptr) {
    fail(NETIO_INVALID, call, "this socket has no open page", "use a buffered send or pair socket");
  }
  return sending;
}

}  // namespace

extern "C" {

NETIO_API int netio_send_socket_init(netio_context* context, netio_send_socket* socket,
                                     const netio_socket_options* options) {
  return init_push(__func__, context, socket, options, Mode::unbuffered);
}

NETIO_API int netio_buffered_send_socket_init(netio_context* context,
                                              netio_buffered_send_socket* socket,
                                              const netio_socket_options* options) {
  return init_push(__func__, context, socket, options, Mode::buffered);
}

NETIO_API int netio_send(netio_socket* socket, const void* data, size_t bytes) {
  return send(__func__, socket, 0, data, bytes);
}

NETIO_API int netio_send_tagged(netio_socket* socket, uint64_t tag, const void* data,
                                size_t bytes) {
  return send(__func__, socket, tag, data, bytes);
}

NETIO_API int netio_send_to_all(netio_socket* socket, uint64_t tag, const void* data, size_t bytes,
                                size_t* peers, size_t* away) {
  if (peers == nullptr || away == nullptr || (data == nullptr && bytes != 0)) {
    return fail_null(__func__);
  }
  *peers = *away = 0;
  if (!usable(__func__, socket)) return last_code();
  detail::SendCore* const sending = object_in(*socket).sending;
  if (sending == nullptr) {
    return fail(NETIO_INVALID, __func__, "this socket sends to no peer that it chooses",
                "use a send or pair socket; netio_publish() sends to all subscribers of a tag");
  }
  const ToAll answer = sending->send_to_all(bytes_of(data, bytes), tag);
  *peers = answer.peers;
  *away = answer.away;
  return result(__func__, answer.status);
}

NETIO_API int netio_lend(netio_socket* socket, uint64_t tag, const void* data, size_t bytes,
                         uint64_t key) {
  if (data == nullptr && bytes != 0) return fail(NETIO_INVALID, __func__, "data is a null pointer");
  return by_role(__func__, socket,
                 [=](auto& role) { return role.lend(bytes_of(data, bytes), key, tag); });
}

NETIO_API int netio_lend_segments(netio_socket* socket, uint64_t tag, const netio_segment* segments,
                                  size_t count, uint64_t key) {
  return send_segments(__func__, segments, count, [=](std::span<const Segment> sent) {
    return by_role("netio_lend_segments", socket, [=](auto& role) {
      if constexpr (requires { role.lend_segments(sent, key, tag); }) {
        return role.lend_segments(sent, key, tag);
      } else {
        return role.lend(sent, key, tag);
      }
    });
  });
}

NETIO_API int netio_pass_on(netio_socket* socket, netio_message* message) {
  return pass_on(__func__, message, [socket](Message& owned) {
    return by_role("netio_pass_on", socket, [&owned](auto& role) {
      if constexpr (requires { role.send(owned); }) {
        return role.send(owned);
      } else {
        return role.send(std::move(owned));
      }
    });
  });
}

NETIO_API int netio_send_segments(netio_socket* socket, uint64_t tag, const netio_segment* segments,
                                  size_t count) {
  return send_segments(__func__, segments, count, [=](std::span<const Segment> sent) {
    return by_role("netio_send_segments", socket, [=](auto& role) {
      if constexpr (requires { role.send_segments(sent, tag); }) {
        return role.send_segments(sent, tag);
      } else {
        return role.send(detail::SegmentList(sent), tag);
      }
    });
  });
}

NETIO_API int netio_allocate(netio_socket* socket, uint64_t tag, size_t bytes,
                             netio_message* message, void** room) {
  return allocate(__func__, socket, tag, 0, bytes, message, room);
}

NETIO_API int netio_allocate_behind(netio_socket* socket, uint64_t tag, size_t head_bytes,
                                    size_t bytes, netio_message* message, void** room) {
  return allocate(__func__, socket, tag, head_bytes, bytes, message, room);
}

NETIO_API int netio_reserve(netio_socket* socket, size_t bytes, void** room) {
  if (room == nullptr) return fail(NETIO_INVALID, __func__, "room is a null pointer");
  *room = nullptr;
  auto* const sending = open_page(__func__, socket);
  if (sending == nullptr) return last_code();
  Status status = Status::ok;
  *room = sending->reserve(bytes, status).data();
  return result(__func__, status);
}

NETIO_API int netio_commit(netio_socket* socket, uint64_t tag, size_t bytes) {
  auto* const sending = open_page(__func__, socket);
  if (sending == nullptr) return last_code();
  return result(__func__, sending->commit(bytes, tag));
}

NETIO_API int netio_flush(netio_socket* socket) {
  if (!usable(__func__, socket)) return last_code();
  const SocketObject& object = object_in(*socket);
  if (object.requesting != nullptr) return object.requesting->flush(), NETIO_OK;
  if (object.replying != nullptr) return object.replying->flush(), NETIO_OK;
  return by_role(__func__, socket, [](auto& role) {
    role.flush();
    return Status::ok;
  });
}

}  // extern "C"
}  // namespace netio::c_api
