// Passing on what one socket receives through another, in the C API (netio.h includes it): as
// netio::forward(). All calls are for the thread of the context. None blocks.
#ifndef NETIO_FORWARD_H
#define NETIO_FORWARD_H

#include <stddef.h>
#include <stdint.h>

#include <netio.h>
#include <netio/export.hpp>
#include <netio/requests.h>

#ifdef __cplusplus
extern "C" {
#endif

// Passes on messages from one socket to another, in order, with their tags and segments, and
// without copying them where the second wire reads the memory of the first. While the output takes
// none, the input is paused. With the input's option `acknowledge` NETIO_RELEASED, a message is
// acknowledged once the next stage has acknowledged it.
struct netio_forward {
  // The output will never take this message, because it is larger than it allows. Valid during the
  // call. May be NULL.
  void (*cb_dropped)(struct netio_forward* forward, const struct netio_message* message);
  void* data;  // the user's
  struct netio_handle handle;
  void* reserved[4];
};
// Begins to pass on: from a pull, pair or subscribe socket to a send or pair socket; from one of
// these to a publish socket; or from a reply socket to a request socket, and the answers back. A
// subscribe socket subscribes what the subscribers of a publish socket want. Both belong to one
// context. While this lives, cb_msg_received (cb_request_received) of the input is not called, nor
// are cb_reply_received, cb_request_failed and cb_buffer_available of a request socket. Several
// inputs may go to one output. NETIO_ERROR: two sockets that do not fit, the same socket as both,
// or an input that has a netio_forward already. Free this before the sockets: netio_socket_free()
// answers NETIO_BUSY until then.
NETIO_API int netio_forward_init(struct netio_forward* forward, struct netio_socket* from,
                                 struct netio_socket* to);
// Ends in order: takes no more from the input, passes on what it has, and calls `call(data)`, once,
// from the loop, when that is with the output (and acknowledged, if the input waits for that), at
// the latest after `linger_ms`. Close the input and the output in there, in this order. `call` may
// be NULL. A second netio_forward_finish() replaces both.
NETIO_API int netio_forward_finish(struct netio_forward* forward, uint64_t linger_ms,
                                   void (*call)(void* data), void* data);
// What it has done, and what it has at this moment, as netio::ForwardBooks.
struct netio_forward_books {
  uint64_t passed;     // messages that the output took; requests that were asked
  uint64_t bytes;      // of payload in these
  uint64_t dropped;    // messages that the output will not take
  uint64_t held;       // messages that wait here because the output takes none now
  uint64_t unsettled;  // pages, or requests, that are not acknowledged, or answered
  uint64_t reserved[3];
};
// Fills `books`.
NETIO_API int netio_forward_get_books(struct netio_forward* forward,
                                      struct netio_forward_books* books);
// Passes on no more. What it holds is dropped. Allowed in cb_dropped.
NETIO_API int netio_forward_free(struct netio_forward* forward);

#ifdef __cplusplus
}
#endif

#endif
