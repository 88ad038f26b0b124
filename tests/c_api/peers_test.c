// Who is slow: the list of peers, the call-backs of a publisher, and a peer that is paused alone.
#include "check.h"

static struct netio_context here, there;
static uint64_t received[4];  // by the sender's id
static int behind, caught_up;
static uint64_t behind_id;

static void count_by_sender(struct netio_socket* socket, const struct netio_message* message) {
  (void)message;
  CHECK(netio_sender_id(socket) < 4);
  ++received[netio_sender_id(socket)];
}

static void count_to_all(struct netio_socket* socket, const struct netio_message* message) {
  CHECK(message->tag == 42 && message->size == 13);
  CHECK(memcmp(message->data, "run 42 starts", 13) == 0);
  ++*(uint64_t*)socket->data;
}

// The peers of a socket together are its books.
static size_t sum_up(struct netio_socket* socket, const struct netio_peer_snapshot** peers) {
  struct netio_books books;
  uint64_t sent = 0, acknowledged = 0, dropped = 0, delivered = 0;
  size_t count = 0;
  CHECK_OK(netio_get_peers(socket, peers, &count));
  for (size_t i = 0; i < count; ++i) {
    const struct netio_peer_snapshot* const peer = &(*peers)[i];
    sent += peer->books.sent;
    acknowledged += peer->books.acknowledged;
    dropped += peer->books.dropped;
    delivered += peer->books.delivered;
    CHECK(i == 0 || peer->id > (*peers)[i - 1].id);
    CHECK(peer->up && strlen(peer->address) > 5 && peer->up_for_ns >= peer->silent_for_ns);
  }
  CHECK_OK(netio_get_books(socket, &books));
  CHECK(sent == books.sent && acknowledged == books.acknowledged && dropped == books.dropped);
  CHECK(delivered == books.delivered);
  return count;
}

// Two receivers that are there, and one that never comes.
static void a_message_reaches_every_receiver(const char* address) {
  static struct netio_listen_socket in[2];
  static struct netio_buffered_send_socket out;
  size_t peers = 7, away = 7;
  make_context(&here);
  make_context(&there);
  memset(received, 0, sizeof received);
  CHECK_OK(netio_buffered_send_socket_init(&here, &out, NULL));
  CHECK_FAILS(netio_send_to_all(&out.socket, 1, "x", 1, &peers, &away), NETIO_NOT_CONNECTED);
  CHECK(peers == 0 && away == 0);
  for (size_t i = 0; i < 2; ++i) {
    CHECK_OK(netio_listen_socket_init(&there, &in[i], NULL));
    in[i].socket.data = &received[i];
    in[i].socket.cb_msg_received = count_to_all;
    CHECK_OK(netio_listen(&in[i].socket, address));
    CHECK_OK(netio_connect(&out.socket, netio_address(&in[i].socket)));
    TURN_UNTIL(here, there, netio_connections(&out.socket) == i + 1);
  }
  CHECK_OK(netio_connect(&out.socket, "tcp://127.0.0.1:1"));
  CHECK_OK(netio_send_to_all(&out.socket, 42, "run 42 starts", 13, &peers, &away));
  CHECK(peers == 2 && away == 1);
  TURN_UNTIL(here, there, received[0] + received[1] == 2);
  CHECK(received[0] == 1 && received[1] == 1);
  for (size_t i = 0; i < 2; ++i) CHECK_OK(netio_socket_free(&in[i].socket));
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

static void one_sender_of_two_is_paused(const char* address) {
  static struct netio_listen_socket in;
  static struct netio_send_socket out[2];
  const struct netio_peer_snapshot* peers = NULL;
  size_t count = 1;
  struct netio_socket_options named[2];
  make_context(&here);
  make_context(&there);
  memset(received, 0, sizeof received);
  CHECK_OK(netio_listen_socket_init(&there, &in, NULL));
  in.socket.cb_msg_received = count_by_sender;
  CHECK_OK(netio_get_peers(&in.socket, &peers, &count));
  CHECK(count == 0);
  CHECK_OK(netio_listen(&in.socket, address));
  for (size_t i = 0; i < 2; ++i) {
    netio_socket_defaults(&named[i]);
    CHECK(named[i].name == NULL);
    named[i].name = "unit\n";
    CHECK_FAILS(netio_send_socket_init(&here, &out[i], &named[i]), NETIO_ERROR);
    named[i].name = i == 0 ? "unit 7" : "";
    CHECK_OK(netio_send_socket_init(&here, &out[i], &named[i]));
    CHECK_OK(netio_connect(&out[i].socket, netio_address(&in.socket)));
    TURN_UNTIL(here, there, netio_connections(&in.socket) == i + 1);
    TURN_UNTIL(here, there, netio_connections(&out[i].socket) == 1);
  }
  CHECK(netio_pause_peer(&in.socket, 3) == NETIO_NOT_CONNECTED);
  CHECK(strstr(netio_last_error(), "netio_pause_peer: there is no peer of this id") != NULL);
  CHECK(netio_resume_peer(&in.socket, 3) == NETIO_NOT_CONNECTED);
  CHECK(strstr(netio_last_error(), "netio_resume_peer: there is no peer of this id") != NULL);
  CHECK_FAILS(netio_pause_peer(&out[0].socket, 1), NETIO_INVALID);
  CHECK_FAILS(netio_get_peers(&in.socket, NULL, &count), NETIO_INVALID);
  CHECK_FAILS(netio_get_peers(&in.socket, &peers, NULL), NETIO_INVALID);
  CHECK_OK(netio_pause_peer(&in.socket, 1));
  for (int i = 0; i < 10; ++i) {
    CHECK_OK(netio_send(&out[0].socket, "one", 3));
    CHECK_OK(netio_send(&out[1].socket, "two", 3));
  }
  TURN_UNTIL(here, there, received[2] == 10);
  TURN_A_WHILE(here, there);
  CHECK(received[1] == 0);
  CHECK(sum_up(&in.socket, &peers) == 2);
  CHECK(peers[0].paused && !peers[1].paused && !peers[0].dialed && peers[0].policy == -1);
  CHECK(peers[1].books.delivered == 10);
  CHECK(strcmp(peers[0].name, "unit 7") == 0 && strcmp(peers[1].name, "") == 0);
  CHECK(memcmp(peers[0].run, peers[1].run, sizeof peers[0].run) != 0);
  CHECK_OK(netio_resume_peer(&in.socket, 1));
  TURN_UNTIL(here, there, received[1] == 10);
  CHECK(sum_up(&out[0].socket, &peers) == 1);
  CHECK(peers[0].dialed && peers[0].books.sent == 10);
  const char* const wire = strncmp(address, "netio", 5) == 0 ? "shm" : address;
  CHECK(strncmp(peers[0].wire, wire, strlen(peers[0].wire)) == 0 && peers[0].wire[0] != '\0');
  CHECK(strcmp(peers[0].wire_reason, "") == 0);
  for (size_t i = 0; i < 2; ++i) CHECK_OK(netio_socket_free(&out[i].socket));
  CHECK_OK(netio_socket_free(&in.socket));
  CHECK_FAILS(netio_get_peers(&in.socket, &peers, &count), NETIO_INVALID);
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

static void on_behind(struct netio_publish_socket* socket, const struct netio_peer_snapshot* peer) {
  (void)socket;
  CHECK(peer->behind && peer->up && peer->policy == NETIO_POLICY_DROP_OLD);
  CHECK(peer->waiting_messages > 0 && peer->waiting_bytes > 0);
  behind_id = peer->id;
  ++behind;
}
static void on_caught_up(struct netio_publish_socket* socket,
                         const struct netio_peer_snapshot* peer) {
  (void)socket;
  CHECK(!peer->behind && peer->id == behind_id && peer->behind_for_ns == 0);
  ++caught_up;
}

static int closed_here, closed_there;

static void note_end(struct netio_socket* socket, const struct netio_peer* peer,
                     const struct netio_down* why) {
  (void)socket, (void)peer;
  if (why->reason == NETIO_DOWN_CLOSED_HERE) ++closed_here;
  if (why->reason == NETIO_DOWN_CLOSED_BY_PEER) ++closed_there;
}

static void a_peer_is_let_go_and_an_address_is_free_again(void) {
  static struct netio_listen_socket in, successor;
  static struct netio_buffered_send_socket out;
  const struct netio_peer_snapshot* peers = NULL;
  size_t count = 0;
  char address[128];
  make_context(&here);
  make_context(&there);
  memset(received, 0, sizeof received);
  CHECK_OK(netio_listen_socket_init(&there, &in, NULL));
  in.socket.cb_msg_received = count_by_sender;
  in.socket.cb_connection_closed = note_end;
  CHECK_OK(netio_listen(&in.socket, "tcp://127.0.0.1:0"));
  (void)snprintf(address, sizeof address, "%s", netio_address(&in.socket));
  CHECK_OK(netio_buffered_send_socket_init(&here, &out, NULL));
  out.socket.cb_connection_closed = note_end;
  out.socket.cb_connection_failed = note_end;
  CHECK_OK(netio_connect(&out.socket, address));
  TURN_UNTIL(here, there, netio_connections(&out.socket) == 1);
  CHECK_OK(netio_unlisten(&in.socket, address));
  CHECK_FAILS(netio_unlisten(&in.socket, address), NETIO_INVALID);
  CHECK_FAILS(netio_unlisten(&in.socket, "nonsense"), NETIO_BAD_ADDRESS);
  CHECK_FAILS(netio_unlisten(&in.socket, NULL), NETIO_INVALID);
  CHECK_OK(netio_listen_socket_init(&there, &successor, NULL));
  CHECK_OK(netio_listen(&successor.socket, address));
  for (int i = 0; i < 10; ++i) CHECK_OK(netio_send(&out.socket, "one", 3));
  CHECK_OK(netio_get_peers(&out.socket, &peers, &count));
  CHECK(count == 1);
  CHECK(netio_disconnect(&out.socket, 99, 1000) == NETIO_NOT_CONNECTED);
  CHECK(strstr(netio_last_error(), "netio_disconnect: there is no peer of this id") != NULL);
  CHECK_OK(netio_disconnect(&out.socket, peers[0].id, 60000));
  CHECK(closed_here == 0);
  TURN_UNTIL(here, there, closed_here == 1 && closed_there == 1);
  CHECK(received[1] == 10);
  CHECK_OK(netio_get_peers(&out.socket, &peers, &count));
  CHECK(count == 0 && netio_connections(&successor.socket) == 0);
  CHECK_OK(netio_connect(&out.socket, "tcp://127.0.0.1:1"));
  CHECK_FAILS(netio_disconnect_address(&out.socket, "nonsense", 0), NETIO_BAD_ADDRESS);
  CHECK_FAILS(netio_disconnect_address(&out.socket, NULL, 0), NETIO_INVALID);
  CHECK_OK(netio_disconnect_address(&out.socket, "tcp://127.0.0.1:1", 0));
  TURN_UNTIL(here, there, closed_here == 2);
  CHECK(netio_disconnect_address(&out.socket, "tcp://127.0.0.1:1", 0) == NETIO_NOT_CONNECTED);
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_socket_free(&in.socket));
  CHECK_OK(netio_socket_free(&successor.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

static void ignore(struct netio_socket* socket, const struct netio_message* message) {
  (void)socket, (void)message;
}

static void a_slow_subscriber_is_named(void) {
  static const char filler[32768];
  static struct netio_publish_socket publisher;
  static struct netio_subscribe_socket slow, good;
  struct netio_subscribe_socket* const both[] = {&slow, &good};
  struct netio_socket_options options;
  const struct netio_peer_snapshot* peers = NULL;
  uint64_t dropped = 0;
  make_context(&here);
  make_context(&there);
  CHECK_OK(netio_publish_socket_init(&here, &publisher, NULL));
  publisher.cb_behind = on_behind;
  publisher.cb_caught_up = on_caught_up;
  CHECK_OK(netio_listen(&publisher.socket, "tcp://127.0.0.1:0"));
  netio_socket_defaults(&options);
  for (size_t i = 0; i < 2; ++i) {
    options.policy = i == 0 ? NETIO_POLICY_DROP_OLD : NETIO_POLICY_BLOCK;
    options.behind_bytes_max = 1U << 20U;
    CHECK_OK(netio_subscribe_socket_init(&there, both[i], &options));
    both[i]->socket.cb_msg_received = ignore;
    CHECK_OK(netio_subscribe(both[i], 5));
    CHECK_OK(netio_connect(&both[i]->socket, netio_address(&publisher.socket)));
    TURN_UNTIL(here, there, netio_connections(&publisher.socket) == i + 1);
  }
  TURN_UNTIL(here, there,
             sum_up(&publisher.socket, &peers) == 2 && peers[0].policy == NETIO_POLICY_DROP_OLD &&
                 peers[1].policy == NETIO_POLICY_BLOCK);
  CHECK_OK(netio_pause(&slow.socket));
  while (behind == 0 || dropped == 0) {
    const int result = netio_publish(&publisher, 5, filler, sizeof filler, NULL);
    CHECK(result == NETIO_OK || result == NETIO_AGAIN);
    CHECK_OK(netio_run_once(&here.evloop, 0));
    CHECK_OK(netio_run_once(&there.evloop, 0));
    CHECK(sum_up(&publisher.socket, &peers) == 2);
    dropped = peers[0].books.dropped_by[NETIO_DROP_OLD_ONES];
  }
  CHECK(behind == 1 && behind_id == peers[0].id && peers[0].behind && peers[0].behind_for_ns != 0);
  CHECK(peers[1].books.dropped == 0);
  CHECK_OK(netio_resume(&slow.socket));
  TURN_UNTIL(here, there, caught_up == 1);
  CHECK(behind == 1);
  CHECK_OK(netio_socket_free(&publisher.socket));
  for (size_t i = 0; i < 2; ++i) CHECK_OK(netio_socket_free(&both[i]->socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

int main(void) {
  begin_tests();
  one_sender_of_two_is_paused("tcp://127.0.0.1:0");
  one_sender_of_two_is_paused("shm://*");
  one_sender_of_two_is_paused("netio://127.0.0.1:0");
  one_sender_of_two_is_paused("inproc://peers_test");
  a_message_reaches_every_receiver("tcp://127.0.0.1:0");
  a_message_reaches_every_receiver("shm://*");
  a_slow_subscriber_is_named();
  a_peer_is_let_go_and_an_address_is_free_again();
  return 0;
}
