// A stage between two wires in C: what comes goes on, and it ends in order.
#include "check.h"

enum { messages = 300, bytes = 1000 };

static struct netio_context here, there;
static struct netio_recv_socket input, sink;
static struct netio_send_socket output, source;
static struct netio_forward stage;
static int came, dropped, ended, closed, frees_when_dropped;

static void on_message(struct netio_socket* socket, const struct netio_message* message) {
  (void)socket;
  CHECK(message->size == bytes && message->tag == (uint64_t)came);
  ++came;
}
static void on_dropped(struct netio_forward* forward, const struct netio_message* message) {
  CHECK(forward == &stage && message->size == 5000);
  ++dropped;
  if (frees_when_dropped) CHECK_OK(netio_forward_free(forward));
}
static void on_closed(struct netio_socket* socket, const struct netio_books* books) {
  (void)socket;
  CHECK(books->unacknowledged == 0);
  ++closed;
}
static void on_end(void* data) {
  CHECK(data == &stage);
  ++ended;
  CHECK_OK(netio_close(&input.socket, 1000));
  CHECK_OK(netio_close(&output.socket, 1000));
}

static char data[5000];

static void begin(const char* from, const char* to) {
  struct netio_socket_options options;
  struct netio_forward_books books;
  came = dropped = ended = closed = 0;
  make_context(&here);
  make_context(&there);
  memset(&input, 0, sizeof input);
  memset(&sink, 0, sizeof sink);
  memset(&output, 0, sizeof output);
  memset(&source, 0, sizeof source);
  memset(&stage, 0, sizeof stage);
  netio_socket_defaults(&options);
  CHECK_OK(netio_send_socket_init(&there, &source, &options));
  CHECK_OK(netio_recv_socket_init(&there, &sink, &options));
  options.acknowledge = NETIO_RELEASED;
  CHECK_OK(netio_recv_socket_init(&here, &input, &options));
  options.acknowledge = 0;
  options.message_bytes_max = 4000;
  CHECK_OK(netio_send_socket_init(&here, &output, &options));
  CHECK_FAILS(netio_forward_init(&stage, &output.socket, &input.socket), NETIO_ERROR);
  CHECK_FAILS(netio_forward_init(&stage, &input.socket, &source.socket), NETIO_ERROR);
  CHECK_FAILS(netio_forward_init(&stage, &input.socket, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_forward_get_books(&stage, &books), NETIO_INVALID);
  CHECK_OK(netio_forward_init(&stage, &input.socket, &output.socket));
  CHECK_FAILS(netio_forward_init(&stage, &input.socket, &output.socket), NETIO_INVALID);
  stage.cb_dropped = on_dropped;
  sink.socket.cb_msg_received = on_message;
  input.socket.cb_closed = output.socket.cb_closed = on_closed;
  CHECK_OK(netio_listen(&sink.socket, to));
  CHECK_OK(netio_listen(&input.socket, from));
  CHECK_OK(netio_connect(&output.socket, netio_address(&sink.socket)));
  CHECK_OK(netio_connect(&source.socket, netio_address(&input.socket)));
  TURN_UNTIL(here, there,
             netio_connections(&source.socket) == 1 && netio_connections(&output.socket) == 1);
}

static void end(void) {
  CHECK_OK(netio_socket_free(&input.socket));
  CHECK_OK(netio_socket_free(&output.socket));
  CHECK_OK(netio_socket_free(&source.socket));
  CHECK_OK(netio_socket_free(&sink.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

static void a_stage_passes_on_and_ends(const char* from, const char* to) {
  struct netio_forward_books books;
  begin(from, to);
  for (int i = 0; i < messages; ++i) {
    CHECK_OK(netio_send_tagged(&source.socket, (uint64_t)i, data, bytes));
  }
  CHECK_OK(netio_send_tagged(&source.socket, 1, data, 5000));
  TURN_UNTIL(here, there, came == messages && dropped == 1);
  CHECK_FAILS(netio_forward_get_books(&stage, NULL), NETIO_INVALID);
  CHECK_OK(netio_forward_get_books(&stage, &books));
  CHECK(books.passed == messages && books.bytes == (uint64_t)messages * bytes);
  CHECK(books.dropped == 1 && books.held == 0);
  CHECK_FAILS(netio_socket_free(&input.socket), NETIO_BUSY);
  CHECK_FAILS(netio_socket_free(&output.socket), NETIO_BUSY);
  CHECK_OK(netio_forward_finish(&stage, UINT64_MAX, on_end, &stage));
  TURN_UNTIL(here, there, closed == 2);
  CHECK(ended == 1);
  CHECK_OK(netio_forward_free(&stage));
  CHECK_FAILS(netio_forward_free(&stage), NETIO_INVALID);
  end();
}

static void a_stage_may_be_freed_when_it_tells_what_is_dropped(void) {
  begin("tcp://127.0.0.1:0", "shm://*");
  frees_when_dropped = 1;
  CHECK_OK(netio_send_tagged(&source.socket, 0, data, bytes));
  CHECK_OK(netio_send_tagged(&source.socket, 1, data, 5000));
  for (int i = 0; i < 3; ++i) CHECK_OK(netio_send_tagged(&source.socket, 2, data, bytes));
  TURN_UNTIL(here, there, dropped == 1 && came == 1);
  CHECK_FAILS(netio_forward_free(&stage), NETIO_INVALID);
  end();
}

int main(void) {
  begin_tests();
  a_stage_passes_on_and_ends("tcp://127.0.0.1:0", "shm://*");
  a_stage_passes_on_and_ends("inproc://c_api_forward", "tcp://127.0.0.1:0");
  a_stage_may_be_freed_when_it_tells_what_is_dropped();
  return 0;
}
