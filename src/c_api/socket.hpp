// What all sockets are inside: the C++ socket, the roles it has, and its call-backs into C. Owner
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <netio.h>
#include <netio/options.hpp>
#include <netio/publish.hpp>
#include <netio/receiving.hpp>
#include <netio/reply.hpp>
#include <netio/request.hpp>
#include <netio/sending.hpp>
#include <netio/socket.hpp>
#include <netio/subscription.hpp>

#include "c_api/given_list.hpp"
#include "c_api/handle.hpp"
#include "socket/socket_core.hpp"

namespace netio::c_api {

// A null pointer stands for the defaults. Throws Error for what makes no sense.
netio_socket_options checked(const netio_socket_options* options);
SocketOptions socket_options(const netio_socket_options& c, Mode mode);
SubscribeOptions subscribe_options(const netio_socket_options& c) noexcept;
PublishOptions publish_options(const netio_socket_options& c) noexcept;
RequestOptions request_options(const netio_socket_options& c) noexcept;
ReplyOptions reply_options(const netio_socket_options& c) noexcept;

// A role is null where a socket does not have it. The one that sends is the core and not its front,
// so that a message passes no more calls than in C++.
class SocketObject : public Resident {
 public:
  SocketObject(ContextObject& home, netio_socket* own) noexcept;
  virtual ~SocketObject() = default;

  // Watermarks cost something for each message: they are looked at where somebody wants to know.
  void watch_fill();
  void take_messages();

  Socket* socket = nullptr;
  detail::SendCore* sending = nullptr;
  Sending* sender = nullptr;  // its front
  Publish* publishing = nullptr;
  Receiving* receiving = nullptr;
  Request* requesting = nullptr;
  Reply* replying = nullptr;
  const std::uint64_t number;  // no other socket has it; 0 is none's
  std::string address;         // of the latest listen
  std::size_t forwards = 0;    // netio_forwards that have it
  GivenList<PeerSnapshot, netio_peer_snapshot> peers;

 protected:
  void set_call_backs();

 private:
  void take_requests();

  netio_socket* own_;
  bool watches_fill_ = false;
  bool takes_messages_ = false;
};

template <typename Kind>
class SocketOf final : public SocketObject {
 public:
  template <typename... Options>
  SocketOf(ContextObject& home, netio_socket* own, const Options&... options)
      : SocketObject(home, own), kind(home.context, options...) {
    socket = &kind;
    if constexpr (std::is_base_of_v<Sending, Kind>) {
      sending = &kind.send_core();
      sender = &kind;
    }
    if constexpr (std::is_same_v<Publish, Kind>) publishing = &kind;
    if constexpr (std::is_base_of_v<Receiving, Kind>) receiving = &kind;
    if constexpr (std::is_same_v<Request, Kind>) requesting = &kind;
    if constexpr (std::is_same_v<Reply, Kind>) replying = &kind;
    set_call_backs();
  }

  Kind kind;
};

// As it is stored in a handle: all kinds of sockets are got at by their common base.
template <typename Kind, typename Struct, typename... Options>
std::unique_ptr<SocketObject> make_socket(ContextObject& home, Struct* own,
                                          const Options&... options) {
  return std::make_unique<SocketOf<Kind>>(home, &own->socket, options...);
}

// Of a usable socket.
inline SocketObject& object_in(const netio_socket& socket) noexcept {
  return *static_cast<SocketObject*>(socket.handle.object);
}
// For calls made for each message: whether the socket can be used; if not it was said why. The
// thread is looked at where there are assertions only.
inline bool usable(const char* call, const netio_socket* socket) noexcept {
  if (socket == nullptr || !sealed(socket->handle)) [[unlikely]] {
    fail_struct(call, socket);
    return false;
  }
#ifndef NDEBUG
  if (!on_owner_thread(call, object_in(*socket).loop())) return false;
#endif
  return true;
}

}  // namespace netio::c_api
