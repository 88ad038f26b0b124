// netio_request_socket. The data path, but for making one: nothing here allocates.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

#include <netio/request.hpp>

#include "c_api/error.hpp"
#include "c_api/message.hpp"
#include "c_api/segments.hpp"
#include "c_api/socket.hpp"
#include "socket/option_bounds.hpp"

namespace netio::c_api {
namespace {

void set_call_backs(Request& request, netio_request_socket* own) {
  request.on_reply([own](std::uint64_t id, const MessageView& answer) {
    if (own->cb_reply_received != nullptr) own->cb_reply_received(own, id, c_api::to_c(answer));
  });
  request.on_failed([own](std::uint64_t id, Outcome outcome) {
    if (own->cb_request_failed != nullptr) {
      own->cb_request_failed(own, id, static_cast<int>(outcome));
    }
  });
}

// More than a hundred years is the longest there is.
Ask from_c(const netio_ask* ask) noexcept {
  if (ask == nullptr) return {};
  constexpr std::uint64_t most = std::chrono::nanoseconds(detail::time_most).count();
  return {.within = std::chrono::nanoseconds(std::min(ask->within_ns, most)),
          .peer = ask->peer,
          .idempotent = ask->idempotent != 0};
}

// What `call_on` makes of the socket.
template <typename CallOn>
int with_request(const char* call, netio_request_socket* socket, CallOn&& call_on) noexcept {
  if (socket == nullptr) return fail_struct(call, socket);
  if (!usable(call, &socket->socket)) [[unlikely]]
    return last_code();
  Request* const request = object_in(socket->socket).requesting;
  if (request == nullptr) [[unlikely]]
    return fail(NETIO_INVALID, call, "this is no request socket");
  return result(call, call_on(*request));
}

template <typename Payload>
Status send(Request& request, Payload&& payload, const netio_ask* ask, std::uint64_t* id) noexcept {
  std::uint64_t number = 0;
  const Status status = request.send(std::forward<Payload>(payload), number, from_c(ask));
  if (status == Status::ok && id != nullptr) *id = number;
  return status;
}

int allocate(const char* call, netio_request_socket* socket, std::size_t head_bytes,
             std::size_t bytes, netio_message* message, void** room) noexcept {
  if (message == nullptr || room == nullptr) {
    return fail_null(call);
  }
  return with_request(call, socket, [=](Request& request) {
    Status status = Status::ok;
    give_room(request.allocate(bytes, status, head_bytes), status, message, room);
    return status;
  });
}

}  // namespace

extern "C" {

NETIO_API int netio_request_socket_init(netio_context* context, netio_request_socket* socket,
                                        const netio_socket_options* options) {
  return init_in(__func__, context, socket, [=](ContextObject& home) {
    const netio_socket_options c = checked(options);
    const auto mode = c.unbuffered != 0 ? Mode::unbuffered : Mode::buffered;
    auto object = make_socket<Request>(home, socket, request_options(c), socket_options(c, mode));
    set_call_backs(*object->requesting, socket);
    return object;
  });
}

NETIO_API int netio_request_send(netio_request_socket* socket, const void* data, size_t bytes,
                                 const netio_ask* ask, uint64_t* id) {
  if (data == nullptr && bytes != 0) return fail(NETIO_INVALID, __func__, "data is a null pointer");
  return with_request(__func__, socket, [=](Request& request) {
    return send(request, bytes_of(data, bytes), ask, id);
  });
}

NETIO_API int netio_request_send_message(netio_request_socket* socket, netio_message* message,
                                         const netio_ask* ask, uint64_t* id) {
  return pass_on(__func__, message, [=](Message& owned) {
    return with_request("netio_request_send_message", socket,
                        [&](Request& request) { return send(request, std::move(owned), ask, id); });
  });
}

NETIO_API int netio_request_send_segments(netio_request_socket* socket,
                                          const netio_segment* segments, size_t count,
                                          const netio_ask* ask, uint64_t* id) {
  return send_segments(__func__, segments, count, [=](std::span<const Segment> sent) {
    return with_request("netio_request_send_segments", socket, [=](Request& request) {
      std::uint64_t number = 0;
      const Status status = request.send_segments(sent, number, from_c(ask));
      if (status == Status::ok && id != nullptr) *id = number;
      return status;
    });
  });
}

NETIO_API int netio_request_allocate(netio_request_socket* socket, size_t bytes,
                                     netio_message* message, void** room) {
  return allocate(__func__, socket, 0, bytes, message, room);
}

NETIO_API int netio_request_allocate_behind(netio_request_socket* socket, size_t head_bytes,
                                            size_t bytes, netio_message* message, void** room) {
  return allocate(__func__, socket, head_bytes, bytes, message, room);
}

NETIO_API int netio_request_cancel(netio_request_socket* socket, uint64_t id) {
  return with_request(__func__, socket, [id](Request& request) { return request.cancel(id); });
}

NETIO_API int netio_get_request_books(const netio_request_socket* socket,
                                      netio_request_books* books) {
  if (books == nullptr) return fail_null(__func__);
  return with<SocketObject>(__func__, socket, [books](SocketObject& object) -> int {
    if (object.requesting == nullptr) {
      return fail(NETIO_INVALID, "netio_get_request_books", "this is no request socket");
    }
    const RequestBooks from = object.requesting->requests();
    static_assert(std::size(RequestBooks{}.ended) <= std::size(netio_request_books{}.ended));
    *books = {};
    books->asked = from.asked;
    std::copy(from.ended.begin(), from.ended.end(), books->ended);
    books->under_way = from.under_way;
    books->late = from.late;
    books->repeated = from.repeated;
    return NETIO_OK;
  });
}

}  // extern "C"
}  // namespace netio::c_api
