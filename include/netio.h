// The C API (C99, and C++). Structs are the caller's and of fixed size. Init clears a struct; set
// its `cb` members and `data` after that. `handle` and `reserved` are the library's. Until free a
// struct stays where it is; before init it is all zeros, or at least no copy. Calls answer with a
// netio_result. netio_run and netio_run_once block, and netio_listen and netio_builder_listen do to
// look up a name. Call-backs come from the loop, never from inside a call of the user.
#ifndef NETIO_H
#define NETIO_H

#include <stddef.h>
#include <stdint.h>

#include <netio/export.hpp>
#include <netio/reasons.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- Answers. On any but NETIO_OK nothing was done and nothing taken.
enum netio_result {
  NETIO_OK = 0,              // done
  NETIO_AGAIN = 1,           // no room for now: cb_buffer_available tells when to try again
  NETIO_NOT_CONNECTED = 2,   // no peer is connected: cb_buffer_available tells when to try again
  NETIO_CLOSED = 3,          // the socket was closed; no later call will answer NETIO_OK
  NETIO_TOO_BIG = 4,         // over a limit; waiting does not change that
  NETIO_INVALID = 5,         // the call makes no sense here: mend the program
  NETIO_BAD_ADDRESS = 6,     // the address makes no sense
  NETIO_ERROR = 7,           // the machine refused
  NETIO_NO_MEMORY = 8,       // there is no memory left
  NETIO_BUSY = 9,            // other objects still use it: free them first
  NETIO_WRONG_THREAD = 10,   // another thread's loop; calls for each message check in debug builds
  NETIO_NOT_THERE_YET = 11,  // netio_listen(): the address may be there later; try again
};
NETIO_API const char* netio_result_name(int result);  // "ok", "again", ...; never NULL
// What the latest call of this thread that did not answer NETIO_OK was about, why it failed, and
// what to do: for a person. Valid until the next such call of this thread; "" before the first.
NETIO_API const char* netio_last_error(void);

// For the library: its object, and a number that fits no other address than that of this struct.
struct netio_handle {
  void* object;
  uintptr_t seal;
};

// --- Contexts. The loop of a context: what most calls of this section take.
struct netio_eventloop {
  struct netio_handle handle;
  void* reserved[4];
};
// A loop, its memory and its connections. While it runs, it belongs to the thread that runs it.
// While it does not, any thread may use it, one at a time. Use one per core. Everything below
// belongs to a context and must be freed before it.
struct netio_context {
  struct netio_eventloop evloop;  // netio_run(&context.evloop)
  void* reserved[4];
};
// What the loop does when there is nothing to do: as netio::IdlePolicy.
enum netio_idle { NETIO_IDLE_SLEEP = 0, NETIO_IDLE_SPIN = 1, NETIO_IDLE_ADAPTIVE = 2 };
// As netio::ContextOptions (netio/context.hpp). Begin with netio_context_defaults().
struct netio_context_options {
  uint64_t page_bytes;            // the size of a page, in which buffered messages are gathered
  uint64_t send_pool_bytes;       // memory for pages that are sent, taken as it is used
  uint64_t receive_pool_bytes;    // memory for blocks that messages arrive in, the same
  uint64_t large_bytes_max;       // bound for messages larger than a page, taken when they come
  uint64_t large_kept_bytes_max;  // how much of that is kept for the next large message
  int32_t idle;                   // netio_idle
  int32_t cpu;                    // pins netio_init_with() and netio_run() to this core; -1: none
  int32_t numa_node;              // -1: none preferred
  int32_t reserved_number;
  uint64_t reserved[8];
};
NETIO_API void netio_context_defaults(struct netio_context_options* options);  // fills them in
// Makes a context. In a control group with a limit on memory, sizes that are the defaults become
// smaller, and others must fit:
NETIO_API int netio_init(struct netio_context* context);
NETIO_API int netio_init_with(struct netio_context* context,
                              const struct netio_context_options* options);
// Ends it. NETIO_BUSY while anything in it is not freed; NETIO_INVALID from a call-back.
NETIO_API int netio_context_free(struct netio_context* context);
// Closes all sockets in it at once, each as netio_close() does. When all are closed it calls
// `call(data)` once, from the loop, or, if `call` is NULL, ends netio_run(). No socket can be made
// in it from now on. A second call may shorten the linger time, not prolong it, and sets a new
// `call` if there is one. Read-out units finish within the linger time, as by
// netio_readout_finish(), and builder units close when these have. For Ctrl-C.
NETIO_API int netio_context_close(struct netio_context* context, uint64_t linger_ms,
                                  void (*call)(void* data), void* data);
// Handles events until netio_terminate() is called.
NETIO_API int netio_run(struct netio_eventloop* loop);
NETIO_API int netio_terminate(struct netio_eventloop* loop);  // ends netio_run() after this turn
// Does one turn. Waits for work at most `timeout_ns`; negative: for ever.
NETIO_API int netio_run_once(struct netio_eventloop* loop, int64_t timeout_ns);
// Gives `fd`, for foreign loops: readable whenever netio_run_once(loop, 0) has something to do.
NETIO_API int netio_eventloop_fd(struct netio_eventloop* loop, int* fd);
// Calls `call` later, on the thread of the loop; never, if the context is freed before. Any thread.
NETIO_API int netio_post(struct netio_eventloop* loop, void (*call)(void* data), void* data);

// --- Timers. Call back every so often, or once. Missed periods are not made up for.
struct netio_timer {
  void (*cb)(void* data);  // the time is over; to be set before it is started
  void* data;              // the user's
  struct netio_handle handle;
  void* reserved[4];
};
// Makes it; it is not running yet.
NETIO_API int netio_timer_init(struct netio_eventloop* loop, struct netio_timer* timer);
// Calls back each period from now on; restarts a timer that runs. A period of 0 expires once a
// turn:
NETIO_API int netio_timer_start_s(struct netio_timer* timer, uint64_t period_s);
NETIO_API int netio_timer_start_ms(struct netio_timer* timer, uint64_t period_ms);
NETIO_API int netio_timer_start_us(struct netio_timer* timer, uint64_t period_us);
NETIO_API int netio_timer_start_ns(struct netio_timer* timer, uint64_t period_ns);
NETIO_API int netio_timer_start_once_ns(struct netio_timer* timer, uint64_t delay_ns);  // runs once
NETIO_API int netio_timer_stop(struct netio_timer* timer);  // stops it; it may be started again
NETIO_API int netio_timer_free(struct netio_timer* timer);  // ends it, stopped or not

// --- Signals. Wake the loop from any thread or signal handler.
struct netio_signal {
  void (*cb)(void* data);  // netio_signal_fire() was called
  void* data;              // the user's
  struct netio_handle handle;
  void* reserved[4];
};
// Makes it.
NETIO_API int netio_signal_init(struct netio_eventloop* loop, struct netio_signal* signal);
// Has `cb` called. From any thread, never blocks. Several before the loop gets to it are one call.
NETIO_API int netio_signal_fire(struct netio_signal* signal);
NETIO_API int netio_signal_free(struct netio_signal* signal);  // ends it; nobody may fire it then

// A signal of the system. From init to free a handler of netio takes it, on any thread; no mask is
// changed, and the earlier handler is back after the last free. Several may have one number: one of
// them is called each time. SIGKILL, SIGSTOP and faults (SIGSEGV, ...) are refused.
struct netio_posix_signal {
  void (*cb)(void* data, int number);  // the signal came
  void* data;                          // the user's
  struct netio_handle handle;
  void* reserved[4];
};
NETIO_API int netio_posix_signal_init(struct netio_eventloop* loop,
                                      struct netio_posix_signal* signal, int number);  // makes it
// Ends it. Signals that were not told are discarded with the last one of their number.
NETIO_API int netio_posix_signal_free(struct netio_posix_signal* signal);

// --- File descriptors. Watched level-triggered. `events` are EPOLLIN, EPOLLOUT of <sys/epoll.h>;
// EPOLLERR and EPOLLHUP are always reported, except with no events (0). `fd` stays yours.
struct netio_fd {
  void (*cb)(void* data, int fd, uint32_t events);  // `events` came
  void* data;                                       // the user's
  struct netio_handle handle;
  void* reserved[4];
};
// Begins to watch. NETIO_ERROR if it cannot be polled.
NETIO_API int netio_fd_init(struct netio_eventloop* loop, struct netio_fd* watch, int fd,
                            uint32_t events);
NETIO_API int netio_fd_set_events(struct netio_fd* watch, uint32_t events);  // watches for others
NETIO_API int netio_fd_free(struct netio_fd* watch);  // watches no more; `fd` may be closed now

// --- Messages. What was received, kept or allocated. This struct will not grow.
struct netio_message {
  void* memory;      // private: the block that it lies in
  const void* data;  // a multiple of 8
  size_t size;       // in bytes
  uint64_t tag;      // 0 where the sender gave none
};
// Makes `kept` own a message that a call-back was given, as netio::MessageView::keep() does: it
// takes no memory of its own, and is charged to receive_bytes_max.
NETIO_API int netio_keep(const struct netio_message* received, struct netio_message* kept);
NETIO_API int netio_release(struct netio_message* kept);  // empties it: on any thread, at any time

// --- Books and counters. sent == acknowledged + dropped + in_doubt + unacknowledged, always.
struct netio_books {
  uint64_t sent;            // netio_send() answered NETIO_OK
  uint64_t acknowledged;    // by the peer: see netio_socket_options.acknowledge
  uint64_t dropped;         // the sum of the next
  uint64_t dropped_by[16];  // by netio_drop_reason
  uint64_t unacknowledged;  // on their way, or kept until the connection is back
  uint64_t delivered;       // received, and given to this socket's call-back
  uint64_t missed;          // messages for this socket that will not come
  uint64_t in_doubt;        // sent on a connection that broke, and not kept: may have arrived
  uint64_t reserved[4];
};
// As netio::Counters. All only grow.
struct netio_counters {
  // See netio/books.hpp:
  uint64_t bytes_sent, bytes_received, bytes_arrived;
  uint64_t pages_sent, pages_received;
  uint64_t agains, connects, disconnects, rejected, starved;
  uint64_t published, unwanted, bodies_encoded, demoted;
  uint64_t copies, bytes_copied;
  uint64_t resent, resume_given_up;
  uint64_t ring_writes;
  uint64_t reserved[5];
};

// --- Sockets. One end of a connection. Valid during the call-back.
struct netio_peer {
  uint64_t id;                 // unique within a socket, from 1 on
  const char* address;         // of the other end
  uint64_t message_bytes_max;  // the largest message it takes
  int dialed;                  // this side connected
  int retrying;                // its connection is down, and another attempt is scheduled
  struct netio_books books;    // of the messages to and from it
  uint64_t restarts;           // how often another run was found under this id: netio::PeerInfo
  const char* name;            // netio_socket_options.name of the other end; "" if it has none
  uint8_t run[16];   // which socket object is at the other end; zeros before it first came up
  const char* wire;  // what the connection goes over: "tcp", "shm"; "" before it first is up
  const char* wire_reason;  // netio://, at the side that connected: why no better one; else ""
};
// A peer as it is now, to see who is slow: as netio::PeerSnapshot (netio/peer.hpp). Times are
// durations until now, 0 where the condition does not hold.
struct netio_peer_snapshot {
  uint64_t id;                // netio_peer.id
  const char* address;        // of the other end
  struct netio_books books;   // of the messages to and from it
  uint64_t up_for_ns;         // since its connection came up
  uint64_t behind_for_ns;     // since it began to take less than it is sent
  uint64_t silent_for_ns;     // since bytes last came from it, or its connection came up
  uint64_t waiting_messages;  // taken for it, and not posted to the wire
  uint64_t waiting_bytes;     // the bytes of these
  uint64_t wire_bytes;        // posted, and not taken by the wire; at most send_bytes_max
  int32_t dialed;             // this side connected
  int32_t retrying;           // its connection is down, and another attempt is scheduled
  int32_t up;                 // it is connected
  int32_t behind;             // it takes less than it is sent
  int32_t paused;             // by netio_pause_peer()
  int32_t policy;             // of a subscriber: netio_policy, as granted; of others -1
  int32_t demoted;            // it or its host held the publisher up too long: ..._DROP_NEW for now
  int32_t reserved_number;
  const char* name;         // netio_peer.name
  uint8_t run[16];          // netio_peer.run
  const char* wire;         // netio_peer.wire, and:
  const char* wire_reason;  // netio_peer.wire_reason
  uint64_t reserved[2];
};
// Why a connection ended, or was not made.
struct netio_down {
  int reason;          // netio_down_reason
  const char* detail;  // one sentence for a person; valid during the call-back
};
// Messages that will not come.
struct netio_gap {
  uint64_t first;  // each sender numbers what it sends here from 0 on: netio_subscription.from
  uint64_t count;  // how many
  int reason;      // netio_drop_reason
};
// The first member of each socket, and what most calls take: the address of my_send_socket.socket
// is that of my_send_socket. Call-backs may be NULL. They may do everything except block, run the
// loop, free its context, or throw. They may free their own socket.
struct netio_socket {
  // A peer is connected and greeted.
  void (*cb_connection_established)(struct netio_socket* socket, const struct netio_peer* peer);
  // The connection of a peer ended, and why.
  void (*cb_connection_closed)(struct netio_socket* socket, const struct netio_peer* peer,
                               const struct netio_down* down);
  // An attempt to connect failed, or a connection was refused. With a peer of id 0 and the address
  // listened at: no descriptor is left for new connections, which wait until there is one.
  void (*cb_connection_failed)(struct netio_socket* socket, const struct netio_peer* peer,
                               const struct netio_down* down);
  // What netio_close() began is done; these are the final books.
  void (*cb_closed)(struct netio_socket* socket, const struct netio_books* books);
  // For a socket that sends: try again. Once after NETIO_AGAIN or NETIO_NOT_CONNECTED.
  void (*cb_buffer_available)(struct netio_socket* socket);
  // For a socket that sends: what netio_lend() was given with this key is the caller's again.
  void (*cb_send_completed)(struct netio_socket* socket, uint64_t key);
  // For a socket that receives. Valid until it returns; netio_keep() it to have it longer.
  void (*cb_msg_received)(struct netio_socket* socket, const struct netio_message* message);
  // netio_fill() passed a watermark. Set these before netio_listen() or netio_connect():
  void (*cb_high_watermark)(struct netio_socket* socket);
  void (*cb_low_watermark)(struct netio_socket* socket);
  void* data;  // the user's
  struct netio_handle handle;
  // For a socket that receives, and is no subscribe socket: messages were lost with a connection.
  void (*cb_gap)(struct netio_socket* socket, const struct netio_peer* peer,
                 const struct netio_gap* gap);
  void* reserved[7];
};
// For a subscriber that is slow, as netio::Policy: docs/guide.md, "Publish and subscribe".
enum netio_policy {
  NETIO_POLICY_BLOCK = 0,
  NETIO_POLICY_DROP_NEW = 1,
  NETIO_POLICY_DROP_OLD = 2,
  NETIO_POLICY_SAMPLE = 3,
  NETIO_POLICY_DISCONNECT = 4,
};
// When a message is acknowledged: as netio::Acknowledge.
enum netio_acknowledge { NETIO_DELIVERED = 0, NETIO_RELEASED = 1 };
// As netio::SocketOptions (netio/options.hpp). Begin with netio_socket_defaults().
struct netio_socket_options {
  uint64_t flush_after_ns;     // a page that is not full is sent at the latest after this time
  uint64_t message_bytes_max;  // the largest message that is sent or received
  uint64_t send_bytes_max;     // per peer: what may wait for the wire before NETIO_AGAIN
  uint64_t receive_bytes_max;  // memory of the receive pool that kept messages may hold
  double high_watermark;       // of netio_fill(): cb_high_watermark
  double low_watermark;        // of netio_fill(): cb_low_watermark
  // The delay before another attempt to connect, which grows up to the longest:
  uint64_t reconnect_after_min_ns, reconnect_after_max_ns;
  uint64_t handshake_within_ns;   // for a connection attempt, and for the greeting after it
  uint64_t half_open_max;         // accepted and not greeted; if there are more, the oldest end
  uint64_t stall_after_ns;        // a message begun and not continued ends the connection
  uint64_t keep_alive_after_s;    // silence before the kernel probes the peer's host
  uint64_t acknowledge_after_ns;  // acknowledgements are sent at the latest after this time
  int32_t flush_when_idle;        // pages are also sent at the end of a turn, if the wire is idle
  int32_t unbuffered;             // all but send sockets, which have it by their type
  int32_t policy;                 // subscribe: what happens when it is behind (netio_policy)
  int32_t behind_for_max_ms;      // NETIO_POLICY_DISCONNECT only; 0: the amount alone decides
  uint64_t behind_bytes_max;      // subscribe: the queue at the publisher, above the wire
  uint64_t granted_bytes_max;     // publish: the largest queue that it grants
  uint64_t ranges_max;            // publish: ranges in one subscriber's set
  int32_t block_allowed;          // publish: if 0, ..._DROP_NEW is granted for NETIO_POLICY_BLOCK
  int32_t acknowledge;            // receiving sockets: when a message is (netio_acknowledge)
  uint64_t subscribers_min;   // publish: NETIO_AGAIN while fewer with NETIO_POLICY_BLOCK are there
  uint64_t block_for_max_ns;  // publish: NETIO_POLICY_BLOCK may hold it up for so long; 0: for ever
  uint64_t ranges_all_max;    // publish: ranges in the sets of all subscribers together
  uint64_t behind_bytes_all_max;  // publish: what the queues of all subscribers may copy
  uint64_t peers_max;             // how many may be connected; beyond that they are refused
  const char* name;  // for people: printable ASCII, at most 63 bytes, copied; NULL or "": none
  // push, pair, publish; tcp and fabrics: what is kept for each peer until it is acknowledged
  uint64_t resume_bytes_max;    // 0: nothing, and what is on its way is lost with a connection
  uint64_t resume_within_ns;    // if a peer is away for longer, what is kept for it is given up
  uint64_t heartbeat_after_ns;  // after three times of that without a word a peer is lost; 0: never
  // request, reply: how many requests of each peer may be under way, and how many open:
  uint64_t pending_max, open_max;
  // a newcomer takes the place of a peer that was silent for longer; 0: it is refused
  uint64_t replace_silent_after_ns;
};
NETIO_API void netio_socket_defaults(struct netio_socket_options* options);  // fills them in

// Listens at "tcp://host:port", "shm://name", "inproc://name", "verbs://host:port", ...
// (docs/guide.md), any number of times, mixed with netio_connect(). The host may be *, the port 0.
// Where the host name is not known yet, or no interface has the address, it may be called again.
NETIO_API int netio_listen(struct netio_socket* socket, const char* address);
// Gives the address of the latest netio_listen() with the real port, or "". Valid until the next.
NETIO_API const char* netio_address(const struct netio_socket* socket);
// Begins to connect; the other side need not exist yet, nor its host name.
NETIO_API int netio_connect(struct netio_socket* socket, const char* address);
// Lets the peer of this id (netio_peer.id) go, as netio::Socket::disconnect() does: what was sent
// to it before is delivered within `linger_ms`, no later message is; then it is forgotten, and the
// call-back for its end comes, with NETIO_DOWN_CLOSED_HERE. NETIO_NOT_CONNECTED: there is no such
// peer (any more), or the socket was closed:
NETIO_API int netio_disconnect(struct netio_socket* socket, uint64_t id, uint64_t linger_ms);
// The same for all that netio_connect() was told to dial at this address, connected or not:
NETIO_API int netio_disconnect_address(struct netio_socket* socket, const char* address,
                                       uint64_t linger_ms);
// Stops listening at an address, as it was given to netio_listen(), or as netio_address() gave it;
// accepted connections stay. NETIO_INVALID: this socket does not listen there.
NETIO_API int netio_unlisten(struct netio_socket* socket, const char* address);
// Takes no more messages. When all are acknowledged, or `linger_ms` has passed, cb_closed comes.
NETIO_API int netio_close(struct netio_socket* socket, uint64_t linger_ms);
// Ends it at once: connections are cut, no call-back comes any more (lent memory is the caller's
// again), and the struct may be reused as soon as this returns, also inside a call-back.
NETIO_API int netio_socket_free(struct netio_socket* socket);
// Takes a snapshot over all peers, present and gone:
NETIO_API int netio_get_books(const struct netio_socket* socket, struct netio_books* books);
NETIO_API int netio_get_counters(const struct netio_socket* socket,
                                 struct netio_counters* counters);
// Lists the peers as they are now, by rising id: those that are connected, those that are dialed,
// and subscribers that are away. The list is the socket's, and valid until the next such call for
// it, or its netio_socket_free():
NETIO_API int netio_get_peers(struct netio_socket* socket, const struct netio_peer_snapshot** peers,
                              size_t* count);
// Tells how full it is, from 0 to 1 (docs/guide.md, "Back-pressure"); 0 for what is no socket.
NETIO_API double netio_fill(const struct netio_socket* socket);
// Gives the bytes of memory that its kept messages hold: netio::Socket::kept_bytes().
NETIO_API uint64_t netio_kept_bytes(const struct netio_socket* socket);
NETIO_API size_t netio_connections(const struct netio_socket* socket);  // the number that are up

// --- Sending. Unbuffered: each message is posted by itself. For large ones, and least latency.
struct netio_send_socket {
  struct netio_socket socket;  // what calls take
  void* reserved[4];
};
// Makes it; `options` may be NULL, for the defaults.
NETIO_API int netio_send_socket_init(struct netio_context* context,
                                     struct netio_send_socket* socket,
                                     const struct netio_socket_options* options);
// Buffered: messages are gathered in pages. The most messages per second.
struct netio_buffered_send_socket {
  struct netio_socket socket;  // what calls take
  void* reserved[4];
};
// Makes it; `options` may be NULL, for the defaults.
NETIO_API int netio_buffered_send_socket_init(struct netio_context* context,
                                              struct netio_buffered_send_socket* socket,
                                              const struct netio_socket_options* options);
// Sends a message to one connection, the next that is ready. For every socket that sends; a
// publish socket publishes it. The bytes are the caller's again on return:
NETIO_API int netio_send(struct netio_socket* socket, const void* data, size_t bytes);
NETIO_API int netio_send_tagged(struct netio_socket* socket, uint64_t tag, const void* data,
                                size_t bytes);
// Sends a message to every peer that is connected to a send or pair socket, in order with the
// others: all take it, or nobody gets it, and `peers` and `away` are set in any case. They may not
// be NULL: NETIO_OK does not say that everybody was there. See netio::ToAll (netio/sending.hpp).
NETIO_API int netio_send_to_all(struct netio_socket* socket, uint64_t tag, const void* data,
                                size_t bytes, size_t* peers, size_t* away);
// Lends the bytes instead: they must stay unchanged until cb_send_completed with `key`, which comes
// once for every NETIO_OK, or until the socket is freed.
NETIO_API int netio_lend(struct netio_socket* socket, uint64_t tag, const void* data, size_t bytes,
                         uint64_t key);
// Sends a message that was kept or allocated, without a copy. On NETIO_OK it is empty afterwards.
NETIO_API int netio_pass_on(struct netio_socket* socket, struct netio_message* message);
// Makes a message of `bytes` in the memory that the wire sends from, to be written at `room`. Then
// netio_pass_on() it, after which nothing may be written any more, or netio_release() it.
NETIO_API int netio_allocate(struct netio_socket* socket, uint64_t tag, size_t bytes,
                             struct netio_message* message, void** room);
// Gives room for a message in the open page (buffered send, pair), to be written in place. It is
// the caller's until netio_commit(), the next call on this socket, or the end of the turn:
NETIO_API int netio_reserve(struct netio_socket* socket, size_t bytes, void** room);
NETIO_API int netio_commit(struct netio_socket* socket, uint64_t tag, size_t bytes);  // sends them
NETIO_API int netio_flush(struct netio_socket* socket);  // hands open pages to the wire now

// --- Receiving. From any number of senders, buffered or not. Set cb_msg_received before
// netio_listen() or netio_connect(), or call netio_resume() once it is set: until then messages
// wait, and senders are held back. If it is set to NULL later, messages are discarded. This socket
// listens.
struct netio_listen_socket {
  struct netio_socket socket;  // what calls take
  void* reserved[4];
};
// Makes it; `options` may be NULL, for the defaults.
NETIO_API int netio_listen_socket_init(struct netio_context* context,
                                       struct netio_listen_socket* socket,
                                       const struct netio_socket_options* options);
// The same as netio_listen_socket, for the side that connects.
struct netio_recv_socket {
  struct netio_socket socket;  // what calls take
  void* reserved[4];
};
// Makes it; `options` may be NULL, for the defaults.
NETIO_API int netio_recv_socket_init(struct netio_context* context,
                                     struct netio_recv_socket* socket,
                                     const struct netio_socket_options* options);
// Stops the delivery of a socket that receives: nothing is read, and senders are held back.
NETIO_API int netio_pause(struct netio_socket* socket);
NETIO_API int netio_resume(struct netio_socket* socket);  // delivers again
// The same for one peer (netio_peer.id, netio_sender_id()); the others go on. A peer that this side
// dials stays paused when it reconnects. NETIO_NOT_CONNECTED: there is no such peer (any more):
NETIO_API int netio_pause_peer(struct netio_socket* socket, uint64_t id);
NETIO_API int netio_resume_peer(struct netio_socket* socket, uint64_t id);
// Inside cb_msg_received, gives netio_peer.id of the sender. Elsewhere the result means nothing.
NETIO_API uint64_t netio_sender_id(const struct netio_socket* socket);

// --- Pair. Both directions, with one peer; a second one is refused.
struct netio_pair_socket {
  struct netio_socket socket;  // what calls take
  void* reserved[4];
};
// Makes it; `options` may be NULL, for the defaults.
NETIO_API int netio_pair_socket_init(struct netio_context* context,
                                     struct netio_pair_socket* socket,
                                     const struct netio_socket_options* options);

#ifdef __cplusplus
}
#endif
#include <netio/builder_unit.h>
#include <netio/event_building.h>
#include <netio/forward.h>
#include <netio/publish.h>
#include <netio/readout_unit.h>
#include <netio/requests.h>
#include <netio/segments.h>
#endif
