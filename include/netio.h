// The C API (C99, and C++). Structs are the caller's and of fixed size: set `cb` members and `data`
// after init, which clears the struct; `handle` and `reserved` are the library's. From init to free
// a struct stays where it is; where it begins it is all zeros, or at least no copy. Calls answer
// with a netio_result and never throw; netio_run and netio_run_once block, and netio_listen does to
// look up a name. Call-backs come from the loop, never from within a call of the user's.
#ifndef NETIO_H
#define NETIO_H

#include <stddef.h>
#include <stdint.h>

#include <netio/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

// --- Answers. On any but NETIO_OK nothing was done and nothing taken.
enum netio_result {
  NETIO_OK = 0,
  NETIO_AGAIN = 1,          // would have to wait: cb_buffer_available tells when to try again
  NETIO_NOT_CONNECTED = 2,  // nobody is there yet: the same
  NETIO_CLOSED = 3,         // the socket was closed; it will never be NETIO_OK again
  NETIO_TOO_BIG = 4,        // over a limit that will not change by waiting
  NETIO_INVALID = 5,        // a call out of place: mend the program
  NETIO_BAD_ADDRESS = 6,    // an address that makes no sense
  NETIO_ERROR = 7,          // the machine refused
  NETIO_NO_MEMORY = 8,
  NETIO_BUSY = 9,           // others still use it: free them first
  NETIO_WRONG_THREAD = 10,  // not the thread that runs the loop. Of calls made for each message
                            // only builds with assertions find this out
};
NETIO_API const char* netio_result_name(int result);
// What this thread's latest call that failed was about, why it failed and what to do, for a person:
// netio_result_name() of an answer may be enough for NETIO_AGAIN and NETIO_NOT_CONNECTED, which do
// not change it. Valid until this thread's next failure; "" before the first.
NETIO_API const char* netio_last_error(void);

// Private: the object of the library, and a number that fits no other place than this one.
struct netio_handle {
  void* object;
  uintptr_t seal;
};

// --- A context: a loop with its memory and its connections. It belongs to the thread that first
// runs it; run one per core. Everything below lives in one and must be freed before it.
struct netio_eventloop {
  struct netio_handle handle;
  void* reserved[4];
};
struct netio_context {
  struct netio_eventloop evloop;
  void* reserved[4];
};
enum netio_idle { NETIO_IDLE_SLEEP = 0, NETIO_IDLE_SPIN = 1, NETIO_IDLE_ADAPTIVE = 2 };
// As netio::ContextOptions (netio/context.hpp). Begin with netio_context_defaults().
struct netio_context_options {
  uint64_t page_bytes;
  uint64_t send_pool_bytes;
  uint64_t receive_pool_bytes;
  uint64_t large_bytes_max;
  uint64_t large_kept_bytes_max;
  int32_t idle;       // netio_idle
  int32_t cpu;        // -1: not pinned
  int32_t numa_node;  // -1: none preferred
  int32_t reserved_number;
  uint64_t reserved[8];
};
NETIO_API void netio_context_defaults(struct netio_context_options* options);
NETIO_API int netio_init(struct netio_context* context);
NETIO_API int netio_init_with(struct netio_context* context,
                              const struct netio_context_options* options);
// NETIO_BUSY while anything in it is not freed; NETIO_INVALID from a call-back.
NETIO_API int netio_context_free(struct netio_context* context);

// Handles events until netio_terminate(), which ends it after the turn at hand.
NETIO_API int netio_run(struct netio_eventloop* loop);
NETIO_API int netio_terminate(struct netio_eventloop* loop);
// One turn. Waits for work at most so long; negative: for ever.
NETIO_API int netio_run_once(struct netio_eventloop* loop, int64_t timeout_ns);
// For foreign loops: readable whenever netio_run_once(loop, 0) has something to do.
NETIO_API int netio_eventloop_fd(struct netio_eventloop* loop, int* fd);
// Any thread: calls `call` later, on the loop's; never, if the context is freed before.
NETIO_API int netio_post(struct netio_eventloop* loop, void (*call)(void* data), void* data);

// --- Timers. Starting a running one restarts it; missed periods are not made up for.
struct netio_timer {
  void (*cb)(void* data);
  void* data;
  struct netio_handle handle;
  void* reserved[4];
};
NETIO_API int netio_timer_init(struct netio_eventloop* loop, struct netio_timer* timer);
NETIO_API int netio_timer_start_s(struct netio_timer* timer, uint64_t period_s);
NETIO_API int netio_timer_start_ms(struct netio_timer* timer, uint64_t period_ms);
NETIO_API int netio_timer_start_us(struct netio_timer* timer, uint64_t period_us);
NETIO_API int netio_timer_start_ns(struct netio_timer* timer, uint64_t period_ns);
NETIO_API int netio_timer_start_once_ns(struct netio_timer* timer, uint64_t delay_ns);
NETIO_API int netio_timer_stop(struct netio_timer* timer);
NETIO_API int netio_timer_free(struct netio_timer* timer);

// --- Signals: wake the loop from any thread or signal handler. Several netio_signal_fire() before
// the loop gets to it make one call.
struct netio_signal {
  void (*cb)(void* data);
  void* data;
  struct netio_handle handle;
  void* reserved[4];
};
NETIO_API int netio_signal_init(struct netio_eventloop* loop, struct netio_signal* signal);
NETIO_API int netio_signal_fire(struct netio_signal* signal);
NETIO_API int netio_signal_free(struct netio_signal* signal);

// A signal of the system (SIGINT, SIGTERM, ...). Blocked in the calling thread from init to free:
// init before other threads are started.
struct netio_posix_signal {
  void (*cb)(void* data, int number);
  void* data;
  struct netio_handle handle;
  void* reserved[4];
};
NETIO_API int netio_posix_signal_init(struct netio_eventloop* loop,
                                      struct netio_posix_signal* signal, int number);
NETIO_API int netio_posix_signal_free(struct netio_posix_signal* signal);

// --- File descriptors, watched level-triggered. `events` are EPOLLIN, EPOLLOUT of <sys/epoll.h>;
// EPOLLERR and EPOLLHUP are always reported, except with no events (0). The descriptor stays the
// caller's: close it after netio_fd_free().
struct netio_fd {
  void (*cb)(void* data, int fd, uint32_t events);
  void* data;
  struct netio_handle handle;
  void* reserved[4];
};
NETIO_API int netio_fd_init(struct netio_eventloop* loop, struct netio_fd* watch, int fd,
                            uint32_t events);
NETIO_API int netio_fd_set_events(struct netio_fd* watch, uint32_t events);
NETIO_API int netio_fd_free(struct netio_fd* watch);

// --- Messages: `size` bytes at `data`, which is a multiple of 8. It will not
// grow: it is what a receiver has for each message, and the next one must not wait for it.
struct netio_message {
  void* memory;  // private: whose it is
  const void* data;
  size_t size;
  uint64_t tag;  // 0 where the sender gave none
};
// Makes `kept` own what a call-back was given, beyond its return. Memory is shared where the
// message is at least 1/16 of it, else copied.
NETIO_API int netio_keep(const struct netio_message* received, struct netio_message* kept);
// Any thread, also after the context was freed. Empties it.
NETIO_API int netio_release(struct netio_message* kept);

// --- Books and counters, as netio::Books and netio::Counters (netio/books.hpp).
enum netio_drop_reason {
  NETIO_DROP_PEER_CLOSED = 0,
  NETIO_DROP_CONNECTION_LOST = 1,
  NETIO_DROP_NOT_SENT = 2,
  NETIO_DROP_LINGER_EXPIRED = 3,
  NETIO_DROP_NEW_ONES = 4,
  NETIO_DROP_OLD_ONES = 5,
  NETIO_DROP_SUPERSEDED = 6,
};
NETIO_API const char* netio_drop_reason_name(int reason);
// sent == acknowledged + dropped + unacknowledged, always.
struct netio_books {
  uint64_t sent;
  uint64_t acknowledged;
  uint64_t dropped;  // the sum of:
  uint64_t dropped_by[16];
  uint64_t unacknowledged;
  uint64_t delivered;
  uint64_t missed;
  uint64_t reserved[5];
};
struct netio_counters {
  uint64_t bytes_sent, bytes_received, bytes_arrived;
  uint64_t pages_sent, pages_received;
  uint64_t agains, connects, disconnects, rejected, starved;
  uint64_t published, unwanted, bodies_encoded;
  uint64_t reserved[11];
};

// --- What all sockets have in common.
// One end of a connection. Valid during the call-back.
struct netio_peer {
  uint64_t id;                 // unique within a socket
  const char* address;         // of the other end
  uint64_t message_bytes_max;  // the largest message it takes
  int dialed;                  // this side connected
  int retrying;                // it is gone, and another attempt is scheduled
  struct netio_books books;    // of what went to and fro with it
};
enum netio_down_reason {  // what to do about each: docs/guide.md, "When a peer goes"
  NETIO_DOWN_CLOSED_BY_PEER = 0,
  NETIO_DOWN_CLOSED_HERE = 1,
  NETIO_DOWN_LOST = 2,
  NETIO_DOWN_REFUSED = 3,
  NETIO_DOWN_UNREACHABLE = 4,
  NETIO_DOWN_NAME_UNKNOWN = 5,
  NETIO_DOWN_NAME_TEMPORARY = 6,
  NETIO_DOWN_FOREIGN_PROTOCOL = 7,
  NETIO_DOWN_VERSION_MISMATCH = 8,
  NETIO_DOWN_PATTERN_MISMATCH = 9,
  NETIO_DOWN_REJECTED = 10,
  NETIO_DOWN_HANDSHAKE_TIMEOUT = 11,
  NETIO_DOWN_PROTOCOL_ERROR = 12,
  NETIO_DOWN_MESSAGE_TOO_BIG = 13,
  NETIO_DOWN_TOO_SLOW = 14,
  NETIO_DOWN_STALLED = 15,
  NETIO_DOWN_RESOURCES = 16,
};
NETIO_API const char* netio_down_reason_name(int reason);
struct netio_down {
  int reason;          // netio_down_reason
  const char* detail;  // one sentence for a person; valid during the call-back
};

// The first member of each socket, and what most calls take: &my_send_socket.socket has the address
// of my_send_socket. Call-backs may be NULL, and may do everything but block, run the loop, free
// its context or throw; also free their own socket.
struct netio_socket {
  void (*cb_connection_established)(struct netio_socket* socket, const struct netio_peer* peer);
  void (*cb_connection_closed)(struct netio_socket* socket, const struct netio_peer* peer,
                               const struct netio_down* down);
  // An attempt to connect failed, or who came was turned away: nothing had been established.
  void (*cb_connection_failed)(struct netio_socket* socket, const struct netio_peer* peer,
                               const struct netio_down* down);
  // What netio_close() began is done; these are the final books.
  void (*cb_closed)(struct netio_socket* socket, const struct netio_books* books);
  // Who sends: after NETIO_AGAIN or NETIO_NOT_CONNECTED it is worth trying again. Once for each.
  void (*cb_buffer_available)(struct netio_socket* socket);
  // Who sends: what netio_lend() was given with this key is the caller's again.
  void (*cb_send_completed)(struct netio_socket* socket, uint64_t key);
  // Who receives. The message is valid until the call-back returns: netio_keep() it to have it
  // longer.
  void (*cb_msg_received)(struct netio_socket* socket, const struct netio_message* message);
  // netio_fill() passed a watermark of the options: time to raise "busy", or to clear it. Set
  // before netio_listen() or netio_connect().
  void (*cb_high_watermark)(struct netio_socket* socket);
  void (*cb_low_watermark)(struct netio_socket* socket);
  void* data;  // the user's
  struct netio_handle handle;
  void* reserved[8];
};

enum netio_policy {  // for a subscriber that is slow: docs/guide.md, "Publish and subscribe"
  NETIO_POLICY_BLOCK = 0,
  NETIO_POLICY_DROP_NEW = 1,
  NETIO_POLICY_DROP_OLD = 2,
  NETIO_POLICY_SAMPLE = 3,
  NETIO_POLICY_DISCONNECT = 4,
};
// As netio::SocketOptions (netio/options.hpp). Begin with netio_socket_defaults().
struct netio_socket_options {
  uint64_t flush_after_ns;
  uint64_t message_bytes_max;
  uint64_t send_bytes_max;
  uint64_t receive_bytes_max;
  double high_watermark;
  double low_watermark;
  uint64_t reconnect_after_min_ns;
  uint64_t reconnect_after_max_ns;
  uint64_t handshake_within_ns;
  uint64_t half_open_max;
  uint64_t stall_after_ns;
  uint64_t keep_alive_after_s;
  uint64_t acknowledge_after_ns;
  int32_t flush_when_idle;
  int32_t unbuffered;  // pair, and what a subscriber asks for; others are by their name
  // Subscribe asks (netio/subscription.hpp) ...
  int32_t policy;
  int32_t behind_for_max_ms;
  uint64_t behind_bytes_max;
  // ... and publish grants at most.
  uint64_t granted_bytes_max;
  uint64_t ranges_max;
  int32_t block_allowed;
  int32_t reserved_number;
  uint64_t reserved[12];
};
NETIO_API void netio_socket_defaults(struct netio_socket_options* options);

// Addresses are "tcp://host:port", "shm://name", "inproc://name", "verbs://host:port", ...
// (docs/guide.md). Any socket may listen and connect, any number of times. To listen, the host may
// be * and the port 0: netio_address() has what became of them, for the latest netio_listen();
// valid until the next one or the end of the socket, "" without one.
NETIO_API int netio_listen(struct netio_socket* socket, const char* address);
NETIO_API const char* netio_address(const struct netio_socket* socket);
// Begins to; the other side need not exist yet.
NETIO_API int netio_connect(struct netio_socket* socket, const char* address);
// Takes no more messages, delivers what was taken, and calls cb_closed when all is acknowledged or
// `linger_ms` has passed.
NETIO_API int netio_close(struct netio_socket* socket, uint64_t linger_ms);
// Ends it at once: connections are cut, no call-back comes any more (lent memory is the caller's
// again), and the struct may be reused as soon as this returns, also inside a call-back.
NETIO_API int netio_socket_free(struct netio_socket* socket);
NETIO_API int netio_get_books(const struct netio_socket* socket, struct netio_books* books);
NETIO_API int netio_get_counters(const struct netio_socket* socket,
                                 struct netio_counters* counters);
// 0 to 1: how full it is. Connections that are up. Of no socket: 0.
NETIO_API double netio_fill(const struct netio_socket* socket);
NETIO_API size_t netio_connections(const struct netio_socket* socket);

// --- Sending. `options` may be NULL here and below, for the defaults.
// Unbuffered: each message is posted by itself. Least latency, and for large messages.
struct netio_send_socket {
  struct netio_socket socket;
  void* reserved[4];
};
NETIO_API int netio_send_socket_init(struct netio_context* context,
                                     struct netio_send_socket* socket,
                                     const struct netio_socket_options* options);
// Buffered: messages are gathered in pages. Most messages per second.
struct netio_buffered_send_socket {
  struct netio_socket socket;
  void* reserved[4];
};
NETIO_API int netio_buffered_send_socket_init(struct netio_context* context,
                                              struct netio_buffered_send_socket* socket,
                                              const struct netio_socket_options* options);
// Each message goes to one connection, the next that is ready. For every socket that sends; on a
// publish socket they publish. The bytes are the caller's again on return.
NETIO_API int netio_send(struct netio_socket* socket, const void* data, size_t bytes);
NETIO_API int netio_send_tagged(struct netio_socket* socket, uint64_t tag, const void* data,
                                size_t bytes);
// Lends the bytes instead: they must stay unchanged until cb_send_completed with `key`, which comes
// once for every NETIO_OK, or until the socket is freed.
NETIO_API int netio_lend(struct netio_socket* socket, uint64_t tag, const void* data, size_t bytes,
                         uint64_t key);
// Passes on a message that was kept or allocated. Empties it on NETIO_OK, leaves it as it is
// otherwise.
NETIO_API int netio_pass_on(struct netio_socket* socket, struct netio_message* message);
// A message of `bytes` to be written at `room`, in the memory that the wire sends from; then
// netio_pass_on() it, after which nothing may be written any more, or netio_release() it.
NETIO_API int netio_allocate(struct netio_socket* socket, uint64_t tag, size_t bytes,
                             struct netio_message* message, void** room);
// Buffered send and pair: room in the open page, to be written in place. The caller's until
// netio_commit(), the next call on this socket or the end of the turn.
NETIO_API int netio_reserve(struct netio_socket* socket, size_t bytes, void** room);
NETIO_API int netio_commit(struct netio_socket* socket, uint64_t tag, size_t bytes);
// Hands open pages to the wire now.
NETIO_API int netio_flush(struct netio_socket* socket);

// --- Receiving, from any number of senders, buffered or not: one socket by two names, for the side
// that waits for connections and for the one that makes them.
struct netio_listen_socket {
  struct netio_socket socket;
  void* reserved[4];
};
NETIO_API int netio_listen_socket_init(struct netio_context* context,
                                       struct netio_listen_socket* socket,
                                       const struct netio_socket_options* options);
struct netio_recv_socket {
  struct netio_socket socket;
  void* reserved[4];
};
NETIO_API int netio_recv_socket_init(struct netio_context* context,
                                     struct netio_recv_socket* socket,
                                     const struct netio_socket_options* options);
// For every socket that receives. While paused nothing is read, and senders are held back.
NETIO_API int netio_pause(struct netio_socket* socket);
NETIO_API int netio_resume(struct netio_socket* socket);
// Inside cb_msg_received: netio_peer.id of who sent it. Elsewhere it means nothing.
NETIO_API uint64_t netio_sender_id(const struct netio_socket* socket);

// --- Both directions, with one peer; a second one is refused.
struct netio_pair_socket {
  struct netio_socket socket;
  void* reserved[4];
};
NETIO_API int netio_pair_socket_init(struct netio_context* context,
                                     struct netio_pair_socket* socket,
                                     const struct netio_socket_options* options);

// --- Publish and subscribe. Tags from `first` to `last`, both included.
struct netio_tags {
  uint64_t first;
  uint64_t last;
};
struct netio_publish_socket {
  struct netio_socket socket;
  // A subscriber's set gained or lost these tags: sorted, valid during the call-back. When a
  // subscriber goes it loses all, before cb_connection_closed.
  void (*cb_subscribed)(struct netio_publish_socket* socket, const struct netio_peer* peer,
                        const struct netio_tags* tags, size_t count);
  void (*cb_unsubscribed)(struct netio_publish_socket* socket, const struct netio_peer* peer,
                          const struct netio_tags* tags, size_t count);
  void* reserved[4];
};
// Remembers who has subscribed a tag, so that publishing it again needs no look-up: one for each
// tag that is published often. Begins as all zeros; fits itself to another tag or socket; needs no
// freeing; may be copied.
struct netio_subscription_cache {
  uint64_t tag;
  uint64_t owner;
  void* entry[2];
};
NETIO_API int netio_publish_socket_init(struct netio_context* context,
                                        struct netio_publish_socket* socket,
                                        const struct netio_socket_options* options);
// To all subscribers of the tag, or (any answer but NETIO_OK) to none; NETIO_OK also if nobody
// subscribed it. `cache` may be NULL.
NETIO_API int netio_publish(struct netio_publish_socket* socket, uint64_t tag, const void* data,
                            size_t bytes, struct netio_subscription_cache* cache);

// A publisher's answer to the set of tags as it is now.
struct netio_subscription {
  uint64_t revision;  // counts the changes of the set, from 1
  uint64_t from;      // the number of the first message that the set decides about
  uint64_t behind_bytes_max;
  int32_t policy;   // granted
  int32_t refused;  // the set before it stays in force
  const char* detail;
};
// Messages of a subscription that will not come.
struct netio_gap {
  uint64_t first;
  uint64_t count;
  int reason;  // netio_drop_reason, of the latest of them
};
struct netio_subscribe_socket {
  struct netio_socket socket;
  void (*cb_subscribed)(struct netio_subscribe_socket* socket, const struct netio_peer* peer,
                        const struct netio_subscription* subscription);
  void (*cb_gap)(struct netio_subscribe_socket* socket, const struct netio_peer* peer,
                 const struct netio_gap* gap);
  void* reserved[4];
};
NETIO_API int netio_subscribe_socket_init(struct netio_context* context,
                                          struct netio_subscribe_socket* socket,
                                          const struct netio_socket_options* options);
// Change the set of tags, at first empty: at any time, also before there is a publisher. The socket
// keeps the set, and gives it to each publisher that comes or comes back.
NETIO_API int netio_subscribe(struct netio_subscribe_socket* socket, uint64_t tag);
NETIO_API int netio_unsubscribe(struct netio_subscribe_socket* socket, uint64_t tag);
NETIO_API int netio_subscribe_range(struct netio_subscribe_socket* socket, uint64_t first,
                                    uint64_t last);
NETIO_API int netio_unsubscribe_range(struct netio_subscribe_socket* socket, uint64_t first,
                                      uint64_t last);

#ifdef __cplusplus
}
#endif

#endif
