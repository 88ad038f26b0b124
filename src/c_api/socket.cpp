// What all sockets do in C: listening, connecting, closing, books.
#include "c_api/socket.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "c_api/call_backs.hpp"
#include "c_api/error.hpp"
#include "c_api/message.hpp"

namespace netio::c_api {

namespace {
std::atomic<std::uint64_t> sockets_made{0};
}

SocketObject::SocketObject(ContextObject& home, netio_socket* own) noexcept
    : Resident(home), number(++sockets_made), own_(own) {}

void SocketObject::set_call_backs() {
  netio_socket* const own = own_;
  socket->on_up(
      [own](const PeerInfo& info) { call_back_about(info, own, own->cb_connection_established); });
  socket->on_down([own](const PeerInfo& info, const Down& down) {
    const netio_down why{static_cast<int>(down.reason), down.detail.c_str()};
    call_back_about(info, own, info.was_up ? own->cb_connection_closed : own->cb_connection_failed,
                    &why);
  });
  socket->on_closed([own](const Books& books) {
    const netio_books last = to_c(books);
    if (own->cb_closed != nullptr) own->cb_closed(own, &last);
  });
  const auto on_writable = [own] { call_back(own, own->cb_buffer_available); };
  const auto on_released = [own](std::uint64_t key) {
    call_back(own, own->cb_send_completed, key);
  };
  if (receiving != nullptr) {
    receiving->on_gap([own](const PeerInfo& info, const Gap& gap) {
      const netio_gap c{gap.first, gap.count, static_cast<int>(gap.reason)};
      call_back_about(info, own, own->cb_gap, &c);
    });
  }
  if (publishing != nullptr) {
    publishing->on_writable(on_writable);
    publishing->on_released(on_released);
  } else if (sending != nullptr) {
    sending->writable.set(on_writable);
    sending->on_released(on_released);
  } else if (requesting != nullptr) {
    requesting->on_writable(on_writable);
  } else if (replying != nullptr) {
    replying->on_writable(on_writable);
  }
}

// Once: a call-back must not be replaced while it runs. Without one, messages wait.
void SocketObject::take_messages() {
  if (replying != nullptr) return take_requests();
  netio_socket* const own = own_;
  if (receiving == nullptr || own->cb_msg_received == nullptr) return;
  if (std::exchange(takes_messages_, true)) return;
  receiving->on_message([own](const MessageView& view) {
    if (own->cb_msg_received != nullptr) own->cb_msg_received(own, to_c(view));
  });
}

// The same.
void SocketObject::watch_fill() {
  netio_socket* const own = own_;
  if (own->cb_high_watermark == nullptr && own->cb_low_watermark == nullptr) return;
  if (std::exchange(watches_fill_, true)) return;
  socket->on_high_watermark([own] { call_back(own, own->cb_high_watermark); });
  socket->on_low_watermark([own] { call_back(own, own->cb_low_watermark); });
}

namespace {

// Of an unusable struct, or on another thread: null, with the words said.
SocketObject* asked(const char* call, const netio_socket* own) noexcept {
  auto* const object = object_of<SocketObject>(call, own);
  return object != nullptr && on_owner_thread(call, object->loop()) ? object : nullptr;
}

}  // namespace

extern "C" {

NETIO_API int netio_listen(netio_socket* socket, const char* address) {
  if (address == nullptr) return fail_null(__func__);
  return with<SocketObject>(__func__, socket, [address](SocketObject& object) {
    object.watch_fill();
    object.take_messages();
    object.address = object.socket->bind(address);
  });
}

NETIO_API const char* netio_address(const netio_socket* socket) {
  auto* const object = asked(__func__, socket);
  return object == nullptr ? "" : object->address.c_str();
}

NETIO_API int netio_connect(netio_socket* socket, const char* address) {
  if (address == nullptr) return fail_null(__func__);
  return with<SocketObject>(__func__, socket, [address](SocketObject& object) {
    object.watch_fill();
    object.take_messages();
    object.socket->connect(address);
  });
}

NETIO_API int netio_disconnect(netio_socket* socket, uint64_t id, uint64_t linger_ms) {
  return with<SocketObject>(__func__, socket, [id, linger_ms](SocketObject& object) -> int {
    if (object.socket->disconnect(id, linger_of(linger_ms))) return NETIO_OK;
    return fail(NETIO_NOT_CONNECTED, "netio_disconnect", "there is no peer of this id");
  });
}

NETIO_API int netio_disconnect_address(netio_socket* socket, const char* address,
                                       uint64_t linger_ms) {
  if (address == nullptr) return fail_null(__func__);
  return with<SocketObject>(__func__, socket, [address, linger_ms](SocketObject& object) -> int {
    if (object.socket->disconnect(address, linger_of(linger_ms)) != 0) return NETIO_OK;
    return fail(NETIO_NOT_CONNECTED, "netio_disconnect_address", "nobody is dialed there");
  });
}

NETIO_API int netio_unlisten(netio_socket* socket, const char* address) {
  if (address == nullptr) return fail_null(__func__);
  return with<SocketObject>(__func__, socket, [address](SocketObject& object) -> int {
    if (object.socket->unbind(address)) return NETIO_OK;
    return fail(NETIO_INVALID, "netio_unlisten", "this socket does not listen there");
  });
}

NETIO_API int netio_close(netio_socket* socket, uint64_t linger_ms) {
  return with<SocketObject>(__func__, socket, [linger_ms](SocketObject& object) {
    object.socket->close(linger_of(linger_ms));
  });
}

NETIO_API int netio_socket_free(netio_socket* socket) {
  return with<SocketObject>(__func__, socket, [socket](SocketObject& object) -> int {
    constexpr auto call = "netio_socket_free";
    if (object.forwards != 0) {
      return fail(NETIO_BUSY, call, "a netio_forward has it", "free that first");
    }
    return free_object<SocketObject>(call, socket);
  });
}

NETIO_API int netio_get_books(const netio_socket* socket, netio_books* books) {
  if (books == nullptr) return fail_null(__func__);
  return with<SocketObject>(
      __func__, socket, [books](SocketObject& object) { *books = to_c(object.socket->books()); });
}

NETIO_API int netio_get_counters(const netio_socket* socket, netio_counters* counters) {
  if (counters == nullptr) return fail_null(__func__);
  return with<SocketObject>(__func__, socket, [counters](SocketObject& object) {
    *counters = to_c(object.socket->counters());
  });
}

NETIO_API int netio_get_peers(netio_socket* socket, const netio_peer_snapshot** peers,
                              size_t* count) {
  if (peers == nullptr || count == nullptr) return fail_null(__func__);
  return with<SocketObject>(__func__, socket, [=](SocketObject& object) {
    object.peers.give(object.socket->peers(), to_c, peers, count);
  });
}

NETIO_API double netio_fill(const netio_socket* socket) {
  auto* const object = asked(__func__, socket);
  return object == nullptr ? 0 : object->socket->fill();
}

NETIO_API uint64_t netio_kept_bytes(const netio_socket* socket) {
  auto* const object = asked(__func__, socket);
  return object == nullptr ? 0 : object->socket->kept_bytes();
}

NETIO_API size_t netio_connections(const netio_socket* socket) {
  auto* const object = asked(__func__, socket);
  return object == nullptr ? 0 : object->socket->peers_connected();
}

}  // extern "C"
}  // namespace netio::c_api
