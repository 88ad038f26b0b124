// netio_forward: passes on from one socket to another.
#include <netio/forward.hpp>
#include <netio/subscribe.hpp>

#include "c_api/error.hpp"
#include "c_api/message.hpp"
#include "c_api/socket.hpp"

namespace netio::c_api {
namespace {

struct ForwardObject : Resident {
  ForwardObject(SocketObject& input, SocketObject& output, Forward made)
      : Resident(input.home()), forward(std::move(made)), from(input), to(output) {
    ++from.forwards;
    ++to.forwards;
  }
  ~ForwardObject() {
    --from.forwards;
    --to.forwards;
  }
  ForwardObject(const ForwardObject&) = delete;
  ForwardObject& operator=(const ForwardObject&) = delete;

  Forward forward;
  SocketObject& from;
  SocketObject& to;
};

// Throws Error if the two do not fit.
Forward forward_between(SocketObject& from, SocketObject& to) {
  if (from.replying != nullptr && to.requesting != nullptr) {
    return forward(*from.replying, *to.requesting);
  }
  if (from.receiving != nullptr && to.publishing != nullptr) {
    auto* const subscriber = dynamic_cast<SocketOf<Subscribe>*>(&from);
    return subscriber != nullptr ? forward(subscriber->kind, *to.publishing)
                                 : forward(*from.receiving, *to.publishing);
  }
  if (from.receiving != nullptr && to.sender != nullptr) {
    return forward(*from.receiving, *to.sender);
  }
  throw Error("cannot forward from this socket to that", "the two do not fit",
              "from a pull, pair or subscribe socket to a send, pair or publish socket, or from a "
              "reply to a request socket");
}

}  // namespace

extern "C" {

NETIO_API int netio_forward_init(netio_forward* forward, netio_socket* from, netio_socket* to) {
  return with<SocketObject>(__func__, from, [=](SocketObject& input) {
    return with<SocketObject>("netio_forward_init", to, [&](SocketObject& output) {
      return init("netio_forward_init", forward, [&] {
        auto object =
            std::make_unique<ForwardObject>(input, output, forward_between(input, output));
        object->forward.on_dropped([forward](const MessageView& message) {
          if (forward->cb_dropped != nullptr) forward->cb_dropped(forward, to_c(message));
        });
        return object;
      });
    });
  });
}

NETIO_API int netio_forward_finish(netio_forward* forward, uint64_t linger_ms,
                                   void (*call)(void* data), void* data) {
  return with<ForwardObject>(__func__, forward, [=](ForwardObject& object) {
    object.forward.finish(linger_of(linger_ms), [call, data] {
      if (call != nullptr) call(data);
    });
  });
}

NETIO_API int netio_forward_get_books(netio_forward* forward, netio_forward_books* books) {
  return with<ForwardObject>(__func__, forward, [=](ForwardObject& object) -> int {
    if (books == nullptr) {
      return fail(NETIO_INVALID, "netio_forward_get_books", "a null pointer was given");
    }
    const ForwardBooks from = object.forward.books();
    *books = {};
    books->passed = from.passed;
    books->bytes = from.bytes;
    books->dropped = from.dropped;
    books->held = from.held;
    books->unsettled = from.unsettled;
    return NETIO_OK;
  });
}

NETIO_API int netio_forward_free(netio_forward* forward) {
  return free_object<ForwardObject>(__func__, forward);
}

}  // extern "C"
}  // namespace netio::c_api
