// Send sockets and receive sockets on every wire: each payload is checked, and the books.
#include "check.h"

enum { count_small = 3000, count_large = 6, large_bytes = 300000, sizes = 257 };

static struct netio_context here, there;
static const char* wire;
static uint64_t sent, received, completed, refusals, available;
static unsigned completed_keys;
static struct netio_books final_books;
static int established, closed_peer, closed_own;
static unsigned char pattern[large_bytes + 512];
static struct netio_message kept[8];
static size_t kept_count;

static size_t size_of(uint64_t n) {
  return n >= count_small ? (size_t)(large_bytes + n - count_small) : (size_t)(n * 31 % sizes);
}
static const unsigned char* bytes_of(uint64_t n) { return pattern + n % 200; }

static void check_message(const struct netio_message* message, uint64_t n) {
  CHECK(message->tag == n);
  CHECK(message->size == size_of(n));
  CHECK((uintptr_t)message->data % 8 == 0);
  CHECK(message->size == 0 || memcmp(message->data, bytes_of(n), message->size) == 0);
}

static void on_message(struct netio_socket* socket, const struct netio_message* message) {
  CHECK(socket->data == &received);
  CHECK(netio_sender_id(socket) != 0);
  check_message(message, received);
  if (received % 1000 == 7 && kept_count < 8) CHECK_OK(netio_keep(message, &kept[kept_count++]));
  ++received;
}
static void on_established(struct netio_socket* socket, const struct netio_peer* peer) {
  CHECK(netio_connections(socket) == 1);
  CHECK(peer->id != 0 && strncmp(peer->address, wire, 3) == 0 && peer->message_bytes_max != 0);
  ++established;
}
static void on_peer_closed(struct netio_socket* socket, const struct netio_peer* peer,
                           const struct netio_down* down) {
  (void)socket;
  CHECK(down->reason == NETIO_DOWN_CLOSED_BY_PEER);
  CHECK(strcmp(netio_down_reason_name(down->reason), "closed by the peer") == 0);
  CHECK(*down->detail != '\0' && peer->books.delivered == received);
  ++closed_peer;
}
static void on_closed(struct netio_socket* socket, const struct netio_books* books) {
  (void)socket;
  final_books = *books;
  ++closed_own;
}
static void on_completed(struct netio_socket* socket, uint64_t key) {
  (void)socket;
  CHECK(key >= count_small && key < count_small + count_large);
  CHECK((completed_keys >> (key - count_small) & 1) == 0);  // once for each, in any order
  completed_keys |= 1U << (key - count_small);
  ++completed;
}
static void on_room(struct netio_socket* socket) {
  (void)socket;
  ++available;
}

// One message in each of the ways to send one. Whether it is done.
static int send_next(struct netio_socket* out, int buffered) {
  const uint64_t n = sent;
  const size_t bytes = size_of(n);
  struct netio_message message;
  void* room = NULL;
  int result = NETIO_OK;
  if (n >= count_small) {
    result = netio_lend(out, n, bytes_of(n), bytes, n);
  } else if (n == 0) {
    result = netio_send(out, bytes_of(n), bytes);
  } else if (n % 7 == 0) {
    result = netio_allocate(out, n, bytes, &message, &room);
    if (result == NETIO_OK) {
      if (bytes != 0) memcpy(room, bytes_of(n), bytes);
      result = netio_pass_on(out, &message);
      CHECK((message.memory == NULL) == (result == NETIO_OK));
      if (result != NETIO_OK) CHECK_OK(netio_release(&message));
    }
  } else if (buffered && n % 5 == 0) {
    result = netio_reserve(out, bytes, &room);
    if (result == NETIO_OK) {
      if (bytes != 0) memcpy(room, bytes_of(n), bytes);
      result = netio_commit(out, n, bytes);
    }
  } else {
    result = netio_send_tagged(out, n, bytes_of(n), bytes);
  }
  if (result == NETIO_OK) {
    ++sent;
    return 1;
  }
  CHECK(result == NETIO_AGAIN || result == NETIO_NOT_CONNECTED);
  ++refusals;
  return 0;
}

static void begin(void) {
  sent = received = completed = refusals = available = 0;
  established = closed_peer = closed_own = 0;
  completed_keys = 0;
  kept_count = 0;
  make_context(&here);
  make_context(&there);
}

static void check_books(struct netio_socket* in, uint64_t messages) {
  struct netio_books books;
  struct netio_counters counters;
  CHECK(final_books.sent == messages && final_books.acknowledged == messages);
  CHECK(final_books.dropped == 0 && final_books.unacknowledged == 0);
  CHECK_OK(netio_get_books(in, &books));
  CHECK(books.delivered == messages && books.missed == 0 && books.sent == 0);
  CHECK_OK(netio_get_counters(in, &counters));
  CHECK(counters.connects == 1 && counters.disconnects == 1 && counters.bytes_received > 0);
  CHECK(netio_connections(in) == 0);
}

static void every_message_arrives_as_it_was_sent(int buffered) {
  struct netio_send_socket plain;
  struct netio_buffered_send_socket gathering;
  struct netio_listen_socket in;
  struct netio_socket* out = buffered ? &gathering.socket : &plain.socket;
  char address[64];
  memset(&plain, 0, sizeof plain);
  memset(&gathering, 0, sizeof gathering);
  memset(&in, 0, sizeof in);
  begin();
  CHECK_OK(netio_listen_socket_init(&there, &in, NULL));
  in.socket.data = &received;
  in.socket.cb_msg_received = on_message;
  in.socket.cb_connection_established = on_established;
  in.socket.cb_connection_closed = on_peer_closed;
  CHECK(strcmp(netio_address(&in.socket), "") == 0);
  snprintf(address, sizeof address, "%s",
           strcmp(wire, "tcp") == 0   ? "tcp://127.0.0.1:0"
           : strcmp(wire, "shm") == 0 ? "shm://*"
                                      : "inproc://c_api_push");
  CHECK_OK(netio_listen(&in.socket, address));
  CHECK(buffered ? netio_buffered_send_socket_init(&here, &gathering, NULL) == NETIO_OK
                 : netio_send_socket_init(&here, &plain, NULL) == NETIO_OK);
  out->cb_closed = on_closed;
  out->cb_send_completed = on_completed;
  out->cb_buffer_available = on_room;
  CHECK_FAILS(netio_send(out, "early", 5), NETIO_NOT_CONNECTED);
  CHECK(netio_fill(out) == 1);
  CHECK_OK(netio_connect(out, netio_address(&in.socket)));
  TURN_UNTIL(here, there, available == 1 && established == 1);
  while (sent < count_small + count_large) {
    if (!send_next(out, buffered)) TURN_UNTIL(here, there, available == refusals + 1);
  }
  CHECK_OK(netio_flush(out));
  CHECK_OK(netio_close(out, 60000));
  TURN_UNTIL(here, there, closed_own == 1 && closed_peer == 1);
  CHECK(received == sent && completed == count_large);
  check_books(&in.socket, sent);
  CHECK(netio_kept_bytes(&in.socket) >= kept_count && netio_kept_bytes(out) == 0);
  CHECK_FAILS(netio_send(out, "late", 4), NETIO_CLOSED);
  CHECK_OK(netio_socket_free(out));
  CHECK_OK(netio_socket_free(&in.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
  CHECK(kept_count == 3);
  for (size_t i = 0; i < kept_count; ++i) {  // they outlive their context
    check_message(&kept[i], 7 + 1000 * i);
    CHECK_FAILS(netio_keep(&kept[i], &kept[i]), NETIO_INVALID);  // they are no views
    CHECK_OK(netio_release(&kept[i]));
    CHECK_FAILS(netio_release(&kept[i]), NETIO_INVALID);  // once is enough
  }
}

// Messages wait in memory of a fixed size until the receiver goes on: refused, told, resumed.
static void back_pressure_is_an_answer_and_an_event(void) {
  struct netio_buffered_send_socket out;
  struct netio_recv_socket in;
  uint64_t before = 0;
  memset(&out, 0, sizeof out);
  memset(&in, 0, sizeof in);
  begin();
  CHECK_OK(netio_buffered_send_socket_init(&here, &out, NULL));  // this time the sender listens
  out.socket.cb_buffer_available = on_room;
  CHECK_OK(netio_listen(&out.socket, "tcp://127.0.0.1:0"));
  CHECK_OK(netio_recv_socket_init(&there, &in, NULL));
  in.socket.data = &received;
  in.socket.cb_msg_received = on_message;
  CHECK_OK(netio_pause(&in.socket));
  CHECK_OK(netio_connect(&in.socket, netio_address(&out.socket)));
  TURN_UNTIL(here, there, netio_connections(&out.socket) == 1);
  for (;;) {  // until the kernel's buffers and ours are full
    const int result = netio_send_tagged(&out.socket, sent % count_small, pattern, 0);
    if (result == NETIO_OK) break;
    CHECK(result == NETIO_AGAIN || result == NETIO_NOT_CONNECTED);
    TURN_UNTIL(here, there, available > before);
    before = available;
  }
  ++sent;
  int result = NETIO_OK;
  while (result == NETIO_OK) {
    static const char filler[4096];
    result = netio_send_tagged(&out.socket, 1, filler, sizeof filler);
    if (result == NETIO_AGAIN) {  // in earnest only when turning does not help
      before = available;
      TURN_A_WHILE(here, there);
      if (available != before) result = NETIO_OK;
    }
  }
  CHECK(result == NETIO_AGAIN && netio_fill(&out.socket) > 0.5 && received == 0);
  in.socket.cb_msg_received = NULL;  // not of interest here
  before = available;
  CHECK_OK(netio_resume(&in.socket));
  TURN_UNTIL(here, there, available == before + 1);
  CHECK_OK(netio_socket_free(&in.socket));
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

int main(void) {
  static const char* const wires[] = {"tcp", "shm", "inproc"};
  begin_tests();
  for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = (unsigned char)(i * 167 + i / 251);
  for (size_t i = 0; i < 3; ++i) {
    wire = wires[i];
    every_message_arrives_as_it_was_sent(0);
    every_message_arrives_as_it_was_sent(1);
  }
  back_pressure_is_an_answer_and_an_event();
  return 0;
}
