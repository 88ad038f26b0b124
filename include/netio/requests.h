// Requests and answers in the C API (netio.h includes it): as netio::Request and netio::Reply. All
// calls are for the thread of the context, unless they say "any thread". None blocks.
#ifndef NETIO_REQUESTS_H
#define NETIO_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include <netio.h>
#include <netio/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

// How a request ended: as netio::Outcome. Each request ends in exactly one of these ways.
enum netio_outcome {
  NETIO_OUTCOME_ANSWERED = 0,      // the answer was given to cb_reply_received
  NETIO_OUTCOME_TIMED_OUT = 1,     // its time was over
  NETIO_OUTCOME_NOT_ANSWERED = 2,  // the replier received it and dropped it
  NETIO_OUTCOME_CANCELLED = 3,     // by netio_request_cancel(), or by netio_close() of this socket
  NETIO_OUTCOME_NOT_EXECUTED = 4,  // no replier received it: the connection ended before
  NETIO_OUTCOME_IN_DOUBT = 5,      // the connection ended, and nobody knows what came of it
};
NETIO_API const char* netio_outcome_name(int outcome);  // never NULL

// --- Requests. Asks reply sockets. Any number of requests may be under way at once, and answers
// come in any order. netio_close() cancels the requests that are under way.
struct netio_request_socket {
  struct netio_socket socket;  // what calls of all sockets take
  // The answer to a request. It is valid until the call returns; netio_keep() it to have it longer.
  // If this is NULL, answers are discarded.
  void (*cb_reply_received)(struct netio_request_socket* socket, uint64_t id,
                            const struct netio_message* answer);
  // A request ended without an answer (netio_outcome). It does not come for a request that this
  // side cancels.
  void (*cb_request_failed)(struct netio_request_socket* socket, uint64_t id, int outcome);
  void* reserved[4];
};
// Makes it; `options` may be NULL, for the defaults. pending_max requests may be under way to each
// peer. A peer that has as many is passed over; if all have, sending answers NETIO_AGAIN.
NETIO_API int netio_request_socket_init(struct netio_context* context,
                                        struct netio_request_socket* socket,
                                        const struct netio_socket_options* options);
// How one request is made: as netio::Ask. All zeros are the defaults.
struct netio_ask {
  uint64_t within_ns;  // its time limit; 0: none
  uint64_t peer;       // whom to ask (netio_peer.id); 0: the next peer that is ready, in turn
  int32_t idempotent;  // it may be executed twice: it is sent again where it would be lost
  int32_t reserved_number;
  uint64_t reserved[4];
};
// Asks a peer. `ask` may be NULL, for the defaults. On NETIO_OK `id` is the number of the request:
// never 0, and never used twice by this socket; `id` may be NULL. The bytes are the caller's again
// on return. Any other answer: nothing was asked. NETIO_AGAIN and NETIO_NOT_CONNECTED are followed
// by cb_buffer_available.
NETIO_API int netio_request_send(struct netio_request_socket* socket, const void* data,
                                 size_t bytes, const struct netio_ask* ask, uint64_t* id);
// The same with a message that was kept or allocated, without a copy: emptied on NETIO_OK, else
// left as it is. Its tag is not sent.
NETIO_API int netio_request_send_message(struct netio_request_socket* socket,
                                         struct netio_message* message, const struct netio_ask* ask,
                                         uint64_t* id);
// Makes a message of `bytes` in the memory that the wire sends from, to be written at `room`. Then
// netio_request_send_message() it, or netio_release() it.
NETIO_API int netio_request_allocate(struct netio_request_socket* socket, size_t bytes,
                                     struct netio_message* message, void** room);
// Ends a request, which counts as cancelled: no call-back comes for it. The replier is told, and
// may execute it nevertheless. NETIO_INVALID: no such request is under way.
NETIO_API int netio_request_cancel(struct netio_request_socket* socket, uint64_t id);
// What became of the requests. asked == the sum of ended + under_way, always.
struct netio_request_books {
  uint64_t asked;      // a request was sent: NETIO_OK
  uint64_t ended[16];  // by netio_outcome
  uint64_t under_way;  // sent, and not ended
  uint64_t late;       // answers that came too late, twice, or from a peer that was not asked
  uint64_t repeated;   // times that an idempotent request was sent again
  uint64_t reserved[4];
};
// Takes a snapshot. netio_get_books() counts the messages that carried the requests:
NETIO_API int netio_get_request_books(const struct netio_request_socket* socket,
                                      struct netio_request_books* books);

// --- Replies. The right to answer one request, once. It names the requester, whichever connection
// it has: it may be kept while the requester is away. The user answers it or drops it; after that
// the pointer must not be used any more, which the library does not find out.
struct netio_reply_to;
// Is given the requests of any number of request sockets, and answers them in any order. Set
// cb_request_received before netio_listen() or netio_connect(), or call netio_resume() once it is
// set: until then requests wait. netio_pause() and netio_resume() are for it as well.
struct netio_reply_socket {
  struct netio_socket socket;  // what calls of all sockets take
  // A request. The message is valid until the call returns; netio_keep() it to have it longer. `to`
  // is the user's, for as long as it is needed. If this is set to NULL later, requests are dropped.
  // Inside, netio_sender_id() is the peer that asks.
  void (*cb_request_received)(struct netio_reply_socket* socket,
                              const struct netio_message* request, struct netio_reply_to* to);
  void* reserved[4];
};
// Makes it; `options` may be NULL, for the defaults. open_max requests of each peer may be open. No
// more are read from a peer that has as many, until some are answered.
NETIO_API int netio_reply_socket_init(struct netio_context* context,
                                      struct netio_reply_socket* socket,
                                      const struct netio_socket_options* options);
// Answers. NETIO_OK: the answer was taken, and `to` is gone. After any other answer `to` is still
// the user's. In the call-back that the request came with, the first answer is never refused for
// lack of room. NETIO_AGAIN: too much waits for that requester already; cb_buffer_available of the
// socket follows. NETIO_NOT_CONNECTED: nobody waits for this answer any more; drop `to`.
// NETIO_TOO_BIG: the requester does not take so much; a shorter answer may be sent. NETIO_CLOSED:
// the socket was closed or freed; drop `to`.
NETIO_API int netio_reply_to_send(struct netio_reply_to* to, const void* data, size_t bytes);
// The same with a message that was kept or allocated, without a copy where the wire reads its
// memory: emptied on NETIO_OK, else left as it is.
NETIO_API int netio_reply_to_send_message(struct netio_reply_to* to, struct netio_message* message);
// Makes a message of `bytes` for this answer in the memory that the wire sends from, to be written
// at `room`. Then netio_reply_to_send_message() it, or netio_release() it. NETIO_AGAIN: there is no
// memory now, or the requester is away; cb_buffer_available of the socket follows.
NETIO_API int netio_reply_to_allocate(struct netio_reply_to* to, size_t bytes,
                                      struct netio_message* message, void** room);
// Gives the request up: the requester is told (NETIO_OUTCOME_NOT_ANSWERED) if it still waits. `to`
// is gone. On any thread, also after the socket or its context was freed.
NETIO_API int netio_reply_to_drop(struct netio_reply_to* to);
// Tells whether somebody still waits (1, else 0): the request was not cancelled, its time is not
// over, and the requester is connected or may come back.
NETIO_API int netio_reply_to_wanted(const struct netio_reply_to* to);
// Gives the time that the requester will still wait; -1 if it has no limit.
NETIO_API int64_t netio_reply_to_time_left_ns(const struct netio_reply_to* to);
// Gives netio_peer.id of the requester; 0 if it will not come back.
NETIO_API uint64_t netio_reply_to_peer(const struct netio_reply_to* to);
// What became of the requests. requests == answered + not_answered + unwanted + open, always.
struct netio_reply_books {
  uint64_t requests;      // given to cb_request_received
  uint64_t answered;      // NETIO_OK was answered for them
  uint64_t not_answered;  // dropped, and the requester was told
  uint64_t unwanted;      // ended by the requester: cancelled, or gone for good
  uint64_t open;          // neither answered nor dropped
  uint64_t expired;       // received and not given to the call-back: their time was over
  uint64_t withdrawn;     // the same: they had ended before they were sent
  uint64_t reserved[5];
};
// Takes a snapshot. netio_get_books() counts the messages that carried the answers:
NETIO_API int netio_get_reply_books(const struct netio_reply_socket* socket,
                                    struct netio_reply_books* books);

#ifdef __cplusplus
}
#endif

#endif
