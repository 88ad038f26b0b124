// netio_reply_socket and netio_reply_to: the second is the ticket that a ReplyTo holds, so that it
// takes no memory of its own. The data path, but for making a socket: nothing here allocates.
#include <cstdint>
#include <type_traits>
#include <utility>

#include <netio/reply.hpp>

#include "c_api/error.hpp"
#include "c_api/message.hpp"
#include "c_api/segments.hpp"
#include "c_api/socket.hpp"

namespace netio::c_api {
namespace {

netio_reply_to* ticket_of(ReplyTo&& to) noexcept {
  return reinterpret_cast<netio_reply_to*>(to.release_ticket());
}

// A ReplyTo for the time of one call.
class Borrowed {
 public:
  explicit Borrowed(const netio_reply_to* to) noexcept
      : to_(reinterpret_cast<detail::ReplyTicket*>(const_cast<netio_reply_to*>(to))) {}
  // It is empty if the request was answered, and the user's otherwise.
  ~Borrowed() { to_.release_ticket(); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  [[nodiscard]] ReplyTo& operator*() noexcept { return to_; }
  [[nodiscard]] ReplyTo* operator->() noexcept { return &to_; }

 private:
  ReplyTo to_;
};

template <typename Answer>
int answer(const char* call, netio_reply_to* to, Answer&& answered) noexcept {
  if (to == nullptr) return fail_null(call);
  Borrowed borrowed(to);
  const Status status = answered(*borrowed);
  if (status != Status::not_connected) return result(call, status);
  return fail(NETIO_NOT_CONNECTED, call, "nobody waits for this answer any more",
              "call netio_reply_to_drop()");
}

int allocate(const char* call, netio_reply_to* to, std::size_t head_bytes, std::size_t bytes,
             netio_message* message, void** room) noexcept {
  if (message == nullptr || room == nullptr) {
    return fail_null(call);
  }
  return answer(call, to, [=](ReplyTo& own) {
    Status status = Status::ok;
    give_room(own.allocate(bytes, status, head_bytes), status, message, room);
    return status;
  });
}

static_assert(std::is_standard_layout_v<netio_reply_socket>);

}  // namespace

// As take_messages(). The struct begins with the one that all sockets have.
void SocketObject::take_requests() {
  auto* const own = reinterpret_cast<netio_reply_socket*>(own_);
  if (own->cb_request_received == nullptr || std::exchange(takes_messages_, true)) return;
  replying->on_request([own](const MessageView& request, ReplyTo to) {
    if (own->cb_request_received != nullptr) {
      own->cb_request_received(own, c_api::to_c(request), ticket_of(std::move(to)));
    }
  });
}

extern "C" {

NETIO_API int netio_reply_socket_init(netio_context* context, netio_reply_socket* socket,
                                      const netio_socket_options* options) {
  return init_in(__func__, context, socket, [=](ContextObject& home) {
    const netio_socket_options c = checked(options);
    const auto mode = c.unbuffered != 0 ? Mode::unbuffered : Mode::buffered;
    return make_socket<Reply>(home, socket, reply_options(c), socket_options(c, mode));
  });
}

NETIO_API int netio_reply_to_send(netio_reply_to* to, const void* data, size_t bytes) {
  if (data == nullptr && bytes != 0) return fail(NETIO_INVALID, __func__, "data is a null pointer");
  return answer(__func__, to, [=](ReplyTo& own) { return own.send(bytes_of(data, bytes)); });
}

NETIO_API int netio_reply_to_send_message(netio_reply_to* to, netio_message* message) {
  return pass_on(__func__, message, [to](Message& owned) {
    return answer("netio_reply_to_send_message", to,
                  [&owned](ReplyTo& own) { return own.send(std::move(owned)); });
  });
}

NETIO_API int netio_reply_to_send_segments(netio_reply_to* to, const netio_segment* segments,
                                           size_t count) {
  return send_segments(__func__, segments, count, [to](std::span<const Segment> sent) {
    return answer("netio_reply_to_send_segments", to,
                  [sent](ReplyTo& own) { return own.send_segments(sent); });
  });
}

NETIO_API int netio_reply_to_allocate(netio_reply_to* to, size_t bytes, netio_message* message,
                                      void** room) {
  return allocate(__func__, to, 0, bytes, message, room);
}

NETIO_API int netio_reply_to_allocate_behind(netio_reply_to* to, size_t head_bytes, size_t bytes,
                                             netio_message* message, void** room) {
  return allocate(__func__, to, head_bytes, bytes, message, room);
}

NETIO_API int netio_reply_to_drop(netio_reply_to* to) {
  if (to == nullptr) return fail_null(__func__);
  const ReplyTo last(reinterpret_cast<detail::ReplyTicket*>(to));
  return NETIO_OK;
}

NETIO_API int netio_reply_to_wanted(const netio_reply_to* to) {
  return to != nullptr && Borrowed(to)->wanted() ? 1 : 0;
}

NETIO_API int64_t netio_reply_to_time_left_ns(const netio_reply_to* to) {
  if (to == nullptr) return -1;
  const auto left = Borrowed(to)->time_left();
  return left ? left->count() : -1;
}

NETIO_API uint64_t netio_reply_to_peer(const netio_reply_to* to) {
  return to != nullptr ? Borrowed(to)->peer() : 0;
}

NETIO_API int netio_get_reply_books(const netio_reply_socket* socket, netio_reply_books* books) {
  if (books == nullptr) return fail_null(__func__);
  return with<SocketObject>(__func__, socket, [books](SocketObject& object) -> int {
    if (object.replying == nullptr) {
      return fail(NETIO_INVALID, "netio_get_reply_books", "this is no reply socket");
    }
    const ReplyBooks from = object.replying->requests();
    *books = {};
    books->requests = from.requests;
    books->answered = from.answered;
    books->not_answered = from.not_answered;
    books->unwanted = from.unwanted;
    books->open = from.open;
    books->expired = from.expired;
    books->withdrawn = from.withdrawn;
    return NETIO_OK;
  });
}

}  // extern "C"
}  // namespace netio::c_api
