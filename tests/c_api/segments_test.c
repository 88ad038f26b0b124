// Messages of segments through every socket that sends, on every wire.
#include "check.h"

enum { large_bytes = 300000 };

static struct netio_context here, there;
static const char* wire;
static char body[large_bytes];
static uint64_t received, room_came, answered, completed;
static struct netio_message kept;

static void on_room(struct netio_socket* socket) {
  (void)socket;
  ++room_came;
}
static int is(const struct netio_segment* segment, const void* data, size_t size) {
  return segment->size == size && segment->message == NULL && (uintptr_t)segment->data % 8 == 0 &&
         (size == 0 || memcmp(segment->data, data, size) == 0);
}
// A head, nothing, and the body.
static void check_segments(const struct netio_message* message, size_t body_bytes) {
  struct netio_segment got[4];
  memset(got, 0xff, sizeof got);
  CHECK(netio_segments(message, NULL, 0) == 3);
  CHECK(netio_segments(message, got, 1) == 3);
  CHECK(is(&got[0], "head", 4) && got[1].size == SIZE_MAX);
  CHECK(netio_segments(message, got, 4) == 3);
  CHECK(is(&got[1], "", 0) && is(&got[2], body, body_bytes) && got[3].size == SIZE_MAX);
  CHECK(message->size == 8 + body_bytes && got[0].data == message->data);
}
static void on_message(struct netio_socket* socket, const struct netio_message* message) {
  (void)socket;
  CHECK(message->tag == 7);
  check_segments(message, received % 2 == 0 ? 100 : large_bytes);
  if (kept.memory != NULL) CHECK_OK(netio_release(&kept));
  CHECK_OK(netio_keep(message, &kept));
  ++received;
}
static void listen_at(struct netio_socket* socket) {
  char address[64];
  snprintf(address, sizeof address, "%s",
           strcmp(wire, "tcp") == 0   ? "tcp://127.0.0.1:0"
           : strcmp(wire, "shm") == 0 ? "shm://*"
                                      : "inproc://c_api_segments");
  CHECK_OK(netio_listen(socket, address));
}
static void send_all(struct netio_socket* out, const struct netio_segment* segments, size_t count) {
  int result = NETIO_OK;
  while ((result = netio_send_segments(out, 7, segments, count)) != NETIO_OK) {
    CHECK(result == NETIO_AGAIN || result == NETIO_NOT_CONNECTED);
    CHECK_OK(netio_run_once(&here.evloop, 0));
    CHECK_OK(netio_run_once(&there.evloop, 1000000));
  }
}
static void wait_for(uint64_t count) { TURN_UNTIL(here, there, received == count); }

// The sizes alternate, as on_message() expects.
static void send_in_each_way(struct netio_socket* out) {
  struct netio_segment segments[] = {{"head", 4, NULL}, {NULL, 0, NULL}, {body, 100, NULL}};
  struct netio_message message = {NULL, NULL, 0, 0};
  struct netio_message again;
  void* room = NULL;
  int result = NETIO_OK;
  received = 0;
  for (int way = 0; way < 3; ++way) {
    for (int large = 0; large < 2; ++large) {
      const size_t bytes = large ? large_bytes : 100;
      segments[2].message = NULL;
      segments[2].data = body;
      segments[2].size = bytes;
      if (way != 0) {
        const size_t head_bytes = way == 1 ? 0 : 8;
        while ((result = netio_allocate_behind(out, 7, head_bytes, bytes, &message, &room)) !=
               NETIO_OK) {
          CHECK(result == NETIO_AGAIN || result == NETIO_NOT_CONNECTED);
          CHECK_OK(netio_run_once(&here.evloop, 0));
          CHECK_OK(netio_run_once(&there.evloop, 1000000));
        }
        memcpy(room, body, bytes);
        CHECK(netio_segments(&message, NULL, 0) == 1);
        segments[2].message = &message;
        segments[2].data = NULL;
        segments[2].size = SIZE_MAX;
      }
      send_all(out, segments, 3);
      CHECK(way == 0 || message.memory == NULL);
      wait_for((uint64_t)(way * 2 + large) + 1);
    }
  }
  // What was kept has them still, and is passed on with them.
  check_segments(&kept, large_bytes);
  again = kept;
  memset(&kept, 0, sizeof kept);
  ++received;  // as one of the large ones
  CHECK_OK(netio_pass_on(out, &again));
  wait_for(8);
  CHECK_OK(netio_release(&kept));
}

static void on_completed(struct netio_socket* socket, uint64_t key) {
  (void)socket;
  CHECK(key == 5);
  ++completed;
}
// The body is lent; it comes back once for each that was taken.
static void lend_all(struct netio_socket* out) {
  struct netio_segment segments[] = {{"head", 4, NULL}, {NULL, 0, NULL}, {body, 100, NULL}};
  struct netio_message message = {NULL, NULL, 0, 0};
  void* room = NULL;
  out->cb_send_completed = on_completed;
  received = completed = 0;
  CHECK(netio_lend_segments(out, 7, segments, 0, 5) == NETIO_INVALID);
  for (int large = 0; large < 2; ++large) {
    int result = NETIO_OK;
    segments[2].size = large ? large_bytes : 100;
    while ((result = netio_lend_segments(out, 7, segments, 3, 5)) != NETIO_OK) {
      CHECK(result == NETIO_AGAIN || result == NETIO_NOT_CONNECTED);
      CHECK_OK(netio_run_once(&here.evloop, 0));
      CHECK_OK(netio_run_once(&there.evloop, 1000000));
    }
    wait_for((uint64_t)large + 1);
  }
  TURN_UNTIL(here, there, completed == 2);
  CHECK_OK(netio_release(&kept));
  // What is lent is bytes.
  if (netio_allocate_behind(out, 7, 0, 100, &message, &room) == NETIO_OK) {
    segments[2].message = &message;
    CHECK(netio_lend_segments(out, 7, segments, 3, 5) == NETIO_INVALID);
    CHECK(message.memory != NULL);
    CHECK_OK(netio_release(&message));
  }
}

static void by_send_sockets(void) {
  struct netio_send_socket out;
  struct netio_buffered_send_socket buffered;
  struct netio_listen_socket in;
  memset(&in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  memset(&buffered, 0, sizeof buffered);
  CHECK_OK(netio_listen_socket_init(&there, &in, NULL));
  in.socket.cb_msg_received = on_message;
  listen_at(&in.socket);
  CHECK_OK(netio_send_socket_init(&here, &out, NULL));
  CHECK_OK(netio_connect(&out.socket, netio_address(&in.socket)));
  send_in_each_way(&out.socket);
  lend_all(&out.socket);
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_buffered_send_socket_init(&here, &buffered, NULL));
  CHECK_OK(netio_connect(&buffered.socket, netio_address(&in.socket)));
  send_in_each_way(&buffered.socket);
  lend_all(&buffered.socket);
  CHECK_OK(netio_socket_free(&buffered.socket));
  CHECK_OK(netio_socket_free(&in.socket));
}

static void by_publish_sockets(void) {
  struct netio_publish_socket out;
  struct netio_subscribe_socket in;
  memset(&in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  CHECK_OK(netio_publish_socket_init(&here, &out, NULL));
  listen_at(&out.socket);
  CHECK_OK(netio_subscribe_socket_init(&there, &in, NULL));
  in.socket.cb_msg_received = on_message;
  CHECK_OK(netio_subscribe(&in, 7));
  CHECK_OK(netio_connect(&in.socket, netio_address(&out.socket)));
  TURN_UNTIL(here, there, netio_connections(&out.socket) == 1);
  TURN_A_WHILE(here, there);
  send_in_each_way(&out.socket);
  lend_all(&out.socket);
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_socket_free(&in.socket));
}

// A request, and the answer to it, of the same segments.
static void on_request(struct netio_reply_socket* socket, const struct netio_message* message,
                       struct netio_reply_to* to) {
  struct netio_segment segments[3];
  struct netio_message made;
  void* room = NULL;
  (void)socket;
  CHECK(netio_segments(message, segments, 3) == 3);
  if (received % 2 == 1) {
    CHECK_OK(netio_reply_to_allocate_behind(to, 8, segments[2].size, &made, &room));
    memcpy(room, segments[2].data, segments[2].size);
    segments[2].message = &made;
  }
  CHECK_FAILS(netio_reply_to_send_segments(to, segments, NETIO_SEGMENTS_MAX + 1), NETIO_INVALID);
  CHECK_OK(netio_reply_to_send_segments(to, segments, 3));
  CHECK(segments[2].message == NULL || made.memory == NULL);
}
static void on_reply(struct netio_request_socket* socket, uint64_t id,
                     const struct netio_message* answer) {
  CHECK(socket->socket.data == &received);
  answered = id;
  check_segments(answer, received < 2 ? 100 : large_bytes);
  ++received;
}
static void by_requests(void) {
  struct netio_request_socket request;
  struct netio_reply_socket reply;
  memset(&request, 0, sizeof request);
  memset(&reply, 0, sizeof reply);
  CHECK_OK(netio_reply_socket_init(&there, &reply, NULL));
  reply.cb_request_received = on_request;
  listen_at(&reply.socket);
  CHECK_OK(netio_request_socket_init(&here, &request, NULL));
  request.cb_reply_received = on_reply;
  request.socket.data = &received;
  CHECK_OK(netio_connect(&request.socket, netio_address(&reply.socket)));
  TURN_UNTIL(here, there, netio_connections(&request.socket) == 1);
  received = 0;
  for (uint64_t n = 0; n < 4; ++n) {
    const size_t bytes = n < 2 ? 100 : large_bytes;
    struct netio_segment segments[] = {{"head", 4, NULL}, {"", 0, NULL}, {body, bytes, NULL}};
    struct netio_message made;
    void* room = NULL;
    uint64_t id = 0;
    if (n % 2 == 1) {
      CHECK_OK(netio_request_allocate_behind(&request, 8, bytes, &made, &room));
      memcpy(room, body, bytes);
      segments[2].message = &made;
    }
    CHECK_OK(netio_request_send_segments(&request, segments, 3, NULL, &id));
    wait_for(n + 1);
    CHECK(id != 0 && answered == id);
  }
  CHECK_OK(netio_socket_free(&request.socket));
  CHECK_OK(netio_socket_free(&reply.socket));
}

// What is refused has changed nothing.
static void what_makes_no_sense_is_refused(void) {
  struct netio_buffered_send_socket out;
  struct netio_listen_socket in;
  struct netio_message message, empty;
  struct netio_segment many[NETIO_SEGMENTS_MAX + 1];
  void* room = NULL;
  memset(&in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  memset(&empty, 0, sizeof empty);
  memset(many, 0, sizeof many);
  CHECK_OK(netio_listen_socket_init(&there, &in, NULL));
  listen_at(&in.socket);
  CHECK_OK(netio_buffered_send_socket_init(&here, &out, NULL));
  out.socket.cb_buffer_available = on_room;
  CHECK_OK(netio_connect(&out.socket, netio_address(&in.socket)));
  CHECK_FAILS(netio_send_segments(&out.socket, 0, many, 3), NETIO_NOT_CONNECTED);
  TURN_UNTIL(here, there, netio_connections(&out.socket) == 1 && room_came != 0);
  CHECK_OK(netio_allocate_behind(&out.socket, 0, 8, 1000, &message, &room));
  CHECK_FAILS(netio_send_segments(&out.socket, 0, many, NETIO_SEGMENTS_MAX + 1), NETIO_INVALID);
  CHECK_FAILS(netio_send_segments(&out.socket, 0, NULL, 1), NETIO_INVALID);
  CHECK_FAILS(netio_send_segments(NULL, 0, many, 1), NETIO_INVALID);
  CHECK_FAILS(netio_send_segments(&in.socket, 0, many, 1), NETIO_INVALID);
  CHECK_FAILS(netio_request_send_segments(NULL, many, 1, NULL, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_reply_to_send_segments(NULL, many, 1), NETIO_INVALID);
  many[0].size = 1;
  CHECK_FAILS(netio_send_segments(&out.socket, 0, many, 1), NETIO_INVALID);
  many[0].message = &empty;
  CHECK_FAILS(netio_send_segments(&out.socket, 0, many, 1), NETIO_INVALID);
  many[0] = (struct netio_segment){"x", SIZE_MAX, NULL};  // sizes whose sum wraps
  many[1].message = &message;
  CHECK_FAILS(netio_send_segments(&out.socket, 0, many, 1), NETIO_TOO_BIG);
  CHECK_FAILS(netio_send_segments(&out.socket, 0, many, 2), NETIO_TOO_BIG);
  many[0].size = SIZE_MAX / 2 + 1;
  many[2] = many[0];
  CHECK_FAILS(netio_send_segments(&out.socket, 0, many, 3), NETIO_TOO_BIG);
  many[2] = (struct netio_segment){NULL, 0, NULL};
  many[0].message = many[1].message = &message;
  CHECK_FAILS(netio_send_segments(&out.socket, 0, many, 2), NETIO_INVALID);
  CHECK_FAILS(netio_send_segments(&in.socket, 0, many, 1), NETIO_INVALID);
  CHECK(message.memory != NULL);
  CHECK_FAILS(netio_allocate_behind(&out.socket, 0, SIZE_MAX, 8, &message, &room), NETIO_TOO_BIG);
  CHECK_FAILS(netio_allocate_behind(&out.socket, 0, 8, 8, NULL, &room), NETIO_INVALID);
  CHECK(netio_segments(NULL, many, 1) == 0 && netio_segments(&message, NULL, 1) == 0);
  CHECK_OK(netio_send_segments(&out.socket, 0, many, 1));
  CHECK(message.memory == NULL && netio_segments(&message, many, 1) == 1 && many[0].size == 0);
  CHECK_OK(netio_send_segments(&out.socket, 0, NULL, 0));
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_socket_free(&in.socket));
}

int main(void) {
  static const char* const wires[] = {"tcp", "shm", "inproc"};
  begin_tests();
  for (size_t i = 0; i < sizeof body; ++i) body[i] = (char)(i * 7 + i / 251);
  for (size_t i = 0; i < 3; ++i) {
    wire = wires[i];
    room_came = 0;
    make_context(&here);
    make_context(&there);
    by_send_sockets();
    by_publish_sockets();
    by_requests();
    what_makes_no_sense_is_refused();
    CHECK_OK(netio_context_free(&here));
    CHECK_OK(netio_context_free(&there));
  }
  return 0;
}
