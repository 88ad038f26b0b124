// What must not be done is answered in words, and neither crashes nor leaks.
#include "check.h"

static struct netio_context ctx;
static struct netio_timer timer;
static struct netio_send_socket out;
static struct netio_buffered_send_socket gathering;
static struct netio_recv_socket in;
static struct netio_publish_socket publisher;
static struct netio_subscribe_socket subscriber;

static void clear(void) {
  memset(&timer, 0, sizeof timer);
  memset(&out, 0, sizeof out);
  memset(&gathering, 0, sizeof gathering);
  memset(&in, 0, sizeof in);
  memset(&publisher, 0, sizeof publisher);
  memset(&subscriber, 0, sizeof subscriber);
}

// All that takes a timer, a context or a socket, with one that is null, was never made, or is a
// copy.
static void refuse_events(struct netio_context* context, struct netio_timer* its_timer,
                          struct netio_signal* signal, struct netio_fd* watch) {
  struct netio_eventloop* loop = context == NULL ? NULL : &context->evloop;
  struct netio_timer fresh;
  int fd = 0;
  memset(&fresh, 0, sizeof fresh);
  CHECK_FAILS(netio_run(loop), NETIO_INVALID);
  CHECK_FAILS(netio_run_once(loop, 0), NETIO_INVALID);
  CHECK_FAILS(netio_terminate(loop), NETIO_INVALID);
  CHECK_FAILS(netio_eventloop_fd(loop, &fd), NETIO_INVALID);
  CHECK_FAILS(netio_post(loop, free, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_context_free(context), NETIO_INVALID);
  CHECK_FAILS(netio_timer_init(loop, &fresh), NETIO_INVALID);
  CHECK_FAILS(netio_timer_start_s(its_timer, 1), NETIO_INVALID);
  CHECK_FAILS(netio_timer_start_once_ns(its_timer, 1), NETIO_INVALID);
  CHECK_FAILS(netio_timer_stop(its_timer), NETIO_INVALID);
  CHECK_FAILS(netio_timer_free(its_timer), NETIO_INVALID);
  CHECK_FAILS(netio_signal_fire(signal), NETIO_INVALID);
  CHECK_FAILS(netio_signal_free(signal), NETIO_INVALID);
  CHECK_FAILS(netio_posix_signal_free(NULL), NETIO_INVALID);
  CHECK_FAILS(netio_fd_set_events(watch, 0), NETIO_INVALID);
  CHECK_FAILS(netio_fd_free(watch), NETIO_INVALID);
  CHECK_FAILS(netio_send_socket_init(context, &out, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_subscribe_socket_init(context, &subscriber, NULL), NETIO_INVALID);
}

static void refuse_sockets(struct netio_socket* socket, struct netio_publish_socket* its_publisher,
                           struct netio_subscribe_socket* its_subscriber) {
  struct netio_books books;
  struct netio_counters counters;
  struct netio_message message;
  size_t peers = 1, away = 1;
  void* room = &books;
  CHECK_FAILS(netio_listen(socket, "tcp://127.0.0.1:0"), NETIO_INVALID);
  CHECK_FAILS(netio_connect(socket, "tcp://127.0.0.1:1"), NETIO_INVALID);
  CHECK_FAILS(netio_disconnect(socket, 1, 1), NETIO_INVALID);
  CHECK_FAILS(netio_disconnect_address(socket, "tcp://127.0.0.1:1", 1), NETIO_INVALID);
  CHECK_FAILS(netio_unlisten(socket, "tcp://127.0.0.1:1"), NETIO_INVALID);
  CHECK_FAILS(netio_close(socket, 1), NETIO_INVALID);
  CHECK_FAILS(netio_send(socket, "x", 1), NETIO_INVALID);
  CHECK_FAILS(netio_send_tagged(socket, 1, "x", 1), NETIO_INVALID);
  CHECK_FAILS(netio_send_to_all(socket, 1, "x", 1, &peers, &away), NETIO_INVALID);
  CHECK_FAILS(netio_lend(socket, 1, "x", 1, 1), NETIO_INVALID);
  CHECK_FAILS(netio_allocate(socket, 1, 1, &message, &room), NETIO_INVALID);
  CHECK_FAILS(netio_reserve(socket, 1, &room), NETIO_INVALID);
  CHECK(room == NULL);
  CHECK_FAILS(netio_commit(socket, 1, 1), NETIO_INVALID);
  CHECK_FAILS(netio_flush(socket), NETIO_INVALID);
  CHECK_FAILS(netio_pause(socket), NETIO_INVALID);
  CHECK_FAILS(netio_resume(socket), NETIO_INVALID);
  CHECK_FAILS(netio_get_books(socket, &books), NETIO_INVALID);
  CHECK_FAILS(netio_get_counters(socket, &counters), NETIO_INVALID);
  CHECK(netio_fill(socket) == 0 && netio_connections(socket) == 0 && netio_sender_id(socket) == 0);
  CHECK(netio_kept_bytes(socket) == 0);
  CHECK(strcmp(netio_address(socket), "") == 0);
  CHECK_FAILS(netio_socket_free(socket), NETIO_INVALID);
  CHECK_FAILS(netio_publish(its_publisher, 1, "x", 1, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_subscribe(its_subscriber, 1), NETIO_INVALID);
  CHECK_FAILS(netio_unsubscribe(its_subscriber, 1), NETIO_INVALID);
  CHECK_FAILS(netio_subscribe_range(its_subscriber, 1, 2), NETIO_INVALID);
  CHECK_FAILS(netio_unsubscribe_range(its_subscriber, 1, 2), NETIO_INVALID);
}

static void a_null_pointer_is_refused(void) {
  struct netio_message message;
  memset(&message, 0, sizeof message);
  refuse_events(NULL, NULL, NULL, NULL);
  refuse_sockets(NULL, NULL, NULL);
  CHECK_FAILS(netio_init(NULL), NETIO_INVALID);
  CHECK_FAILS(netio_init_with(&ctx, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_keep(NULL, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_keep(&message, &message), NETIO_INVALID);
  CHECK_FAILS(netio_release(NULL), NETIO_INVALID);
  CHECK_FAILS(netio_release(&message), NETIO_INVALID);
  netio_socket_defaults(NULL);
  netio_context_defaults(NULL);
}

static void what_was_never_made_is_refused(void) {
  struct netio_signal signal;
  struct netio_fd watch;
  memset(&signal, 0, sizeof signal);
  memset(&watch, 0, sizeof watch);
  refuse_events(&ctx, &timer, &signal, &watch);
  refuse_sockets(&out.socket, &publisher, &subscriber);
  memset(&timer, 0x77, sizeof timer);  // as memory that was something else before
  CHECK_FAILS(netio_timer_stop(&timer), NETIO_INVALID);
  clear();
}

static void what_was_copied_or_freed_is_refused(void) {
  struct netio_context copy;
  struct netio_timer copied_timer;
  struct netio_send_socket copied_out;
  struct netio_publish_socket copied_publisher;
  struct netio_subscribe_socket copied_subscriber;
  struct netio_signal signal;
  struct netio_fd watch;
  memset(&signal, 0, sizeof signal);
  memset(&watch, 0, sizeof watch);
  make_context(&ctx);
  CHECK_OK(netio_timer_init(&ctx.evloop, &timer));
  CHECK_OK(netio_send_socket_init(&ctx, &out, NULL));
  CHECK_OK(netio_publish_socket_init(&ctx, &publisher, NULL));
  CHECK_OK(netio_subscribe_socket_init(&ctx, &subscriber, NULL));
  copy = ctx;
  copied_timer = timer;
  copied_out = out;
  copied_publisher = publisher;
  copied_subscriber = subscriber;
  refuse_events(&copy, &copied_timer, &signal, &watch);
  refuse_sockets(&copied_out.socket, &copied_publisher, &copied_subscriber);
  CHECK_FAILS(netio_timer_init(&ctx.evloop, &timer), NETIO_INVALID);  // in use
  CHECK_FAILS(netio_send_socket_init(&ctx, &out, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_init(&ctx), NETIO_INVALID);
  CHECK_FAILS(netio_context_free(&ctx), NETIO_BUSY);
  CHECK(strstr(netio_last_error(), "4 sockets") != NULL);
  CHECK_OK(netio_timer_free(&timer));
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_socket_free(&publisher.socket));
  CHECK_OK(netio_socket_free(&subscriber.socket));
  CHECK_OK(netio_context_free(&ctx));
  refuse_events(&ctx, &timer, &signal, &watch);
  refuse_sockets(&out.socket, &publisher, &subscriber);
  clear();
}

static void the_wrong_call_is_refused(void) {
  struct netio_message message;
  struct netio_context_options options;
  struct netio_context other;
  struct netio_posix_signal signal;
  struct netio_fd watch;
  struct netio_socket_options zeros;
  size_t peers = 1, away = 1;
  void* room = NULL;
  memset(&other, 0, sizeof other);
  memset(&signal, 0, sizeof signal);
  memset(&watch, 0, sizeof watch);
  memset(&zeros, 0, sizeof zeros);
  make_context(&ctx);
  CHECK_OK(netio_timer_init(&ctx.evloop, &timer));
  CHECK_FAILS(netio_timer_start_s(&timer, 1), NETIO_INVALID);  // no cb
  CHECK_FAILS(netio_posix_signal_init(&ctx.evloop, &signal, -3), NETIO_ERROR);
  CHECK_FAILS(netio_posix_signal_free(&signal), NETIO_INVALID);  // a failed init made nothing
  CHECK_FAILS(netio_fd_init(&ctx.evloop, &watch, -1, 1), NETIO_ERROR);
  CHECK_FAILS(netio_post(&ctx.evloop, NULL, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_eventloop_fd(&ctx.evloop, NULL), NETIO_INVALID);
  netio_context_defaults(&options);
  options.page_bytes = 4097;
  CHECK_FAILS(netio_init_with(&other, &options), NETIO_ERROR);
  netio_context_defaults(&options);
  options.idle = 77;
  CHECK_FAILS(netio_init_with(&other, &options), NETIO_ERROR);
  CHECK_FAILS(netio_recv_socket_init(&ctx, &in, &zeros), NETIO_ERROR);
  CHECK(strstr(netio_last_error(), "netio_socket_defaults") != NULL);
  netio_socket_defaults(&zeros);
  zeros.policy = 9;
  CHECK_FAILS(netio_subscribe_socket_init(&ctx, &subscriber, &zeros), NETIO_ERROR);
  netio_socket_defaults(&zeros);
  CHECK(zeros.acknowledge == NETIO_DELIVERED);
  zeros.acknowledge = 2;
  CHECK_FAILS(netio_recv_socket_init(&ctx, &in, &zeros), NETIO_ERROR);
  CHECK(strstr(netio_last_error(), "netio_acknowledge") != NULL);
  CHECK_OK(netio_recv_socket_init(&ctx, &in, NULL));
  CHECK_FAILS(netio_send(&in.socket, "x", 1), NETIO_INVALID);  // it only receives
  CHECK_FAILS(netio_send_to_all(&in.socket, 0, "x", 1, &peers, &away), NETIO_INVALID);
  CHECK_FAILS(netio_reserve(&in.socket, 1, &room), NETIO_INVALID);
  CHECK_FAILS(netio_connect(&in.socket, "localhost:5555"), NETIO_BAD_ADDRESS);
  CHECK(strstr(netio_last_error(), "localhost:5555") != NULL);
  CHECK_FAILS(netio_connect(&in.socket, "pigeon://roof"), NETIO_BAD_ADDRESS);
  CHECK_FAILS(netio_connect(&in.socket, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_listen(&in.socket, NULL), NETIO_INVALID);
  // Nobody's address (RFC 5737), and a folder that is missing: both may be there later.
  CHECK_FAILS(netio_listen(&in.socket, "tcp://192.0.2.1:80"), NETIO_NOT_THERE_YET);
  CHECK(strstr(netio_last_error(), "192.0.2.1") != NULL);
  CHECK_FAILS(netio_listen(&in.socket, "shm:///no/such/folder/socket"), NETIO_NOT_THERE_YET);
  CHECK(strcmp(netio_result_name(NETIO_NOT_THERE_YET), "not there yet") == 0);
  CHECK(strcmp(netio_result_name(NETIO_BAD_ADDRESS), "bad address") == 0);
  CHECK(strcmp(netio_result_name(4711), "unknown") == 0);
  CHECK_OK(netio_buffered_send_socket_init(&ctx, &gathering, NULL));
  CHECK_FAILS(netio_commit(&gathering.socket, 0, 1), NETIO_INVALID);  // nothing is reserved
  CHECK_FAILS(netio_send(&gathering.socket, NULL, 1), NETIO_INVALID);
  CHECK_FAILS(netio_send_to_all(&gathering.socket, 0, NULL, 1, &peers, &away), NETIO_INVALID);
  CHECK_FAILS(netio_send_to_all(&gathering.socket, 0, "x", 1, NULL, &away), NETIO_INVALID);
  CHECK_FAILS(netio_send_to_all(&gathering.socket, 0, "x", 1, &peers, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_send_to_all(&gathering.socket, 0, "x", 1, &peers, &away), NETIO_NOT_CONNECTED);
  CHECK(peers == 0 && away == 0);
  CHECK_FAILS(netio_lend(&gathering.socket, 0, NULL, 1, 0), NETIO_INVALID);
  CHECK_FAILS(netio_reserve(&gathering.socket, 1, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_allocate(&gathering.socket, 0, 1, NULL, &room), NETIO_INVALID);
  CHECK_FAILS(netio_allocate(&gathering.socket, 0, 1, &message, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_send(&gathering.socket, "x", SIZE_MAX), NETIO_TOO_BIG);
  CHECK_FAILS(netio_pause(&gathering.socket), NETIO_INVALID);  // it only sends
  memset(&message, 0, sizeof message);
  CHECK_FAILS(netio_pass_on(&gathering.socket, &message), NETIO_INVALID);
  CHECK_FAILS(netio_pass_on(&gathering.socket, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_get_books(&gathering.socket, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_get_counters(&gathering.socket, NULL), NETIO_INVALID);
  CHECK_OK(netio_close(&in.socket, 0));
  CHECK_FAILS(netio_connect(&in.socket, "tcp://127.0.0.1:1"), NETIO_ERROR);  // closed
  CHECK_OK(netio_timer_free(&timer));
  CHECK_OK(netio_socket_free(&in.socket));
  CHECK_OK(netio_socket_free(&gathering.socket));
  CHECK_OK(netio_context_free(&ctx));
  clear();
}

int main(void) {
  begin_tests();
  CHECK(strcmp(netio_last_error(), "") == 0);
  a_null_pointer_is_refused();
  what_was_never_made_is_refused();
  what_was_copied_or_freed_is_refused();
  the_wrong_call_is_refused();
  return 0;
}
