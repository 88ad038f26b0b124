// What a call-back may do to its own loop and socket, and what another thread may not.
#include <pthread.h>
#include <sys/epoll.h>

#include "check.h"

static struct netio_context ctx;
static int count;

static void end(void* data) {
  (void)data;
  CHECK_FAILS(netio_run(&ctx.evloop), NETIO_INVALID);
  CHECK_FAILS(netio_run_once(&ctx.evloop, 0), NETIO_INVALID);
  CHECK_FAILS(netio_context_free(&ctx), NETIO_INVALID);
  CHECK_OK(netio_terminate(&ctx.evloop));
}
static void the_loop_may_be_ended_and_not_run_or_freed(void) {
  CHECK_OK(netio_post(&ctx.evloop, end, NULL));
  CHECK_OK(netio_run(&ctx.evloop));
  CHECK_OK(netio_post(&ctx.evloop, end, NULL));  // and run again
  CHECK_OK(netio_run(&ctx.evloop));
}

// Memory of their own, so that a sanitizer sees who looks at it later.
static void free_timer(void* data) {
  CHECK_OK(netio_timer_free((struct netio_timer*)data));
  free(data);
  ++count;
}
static void free_signal(void* data) {
  CHECK_OK(netio_signal_free((struct netio_signal*)data));
  free(data);
  ++count;
}
static void free_posix_signal(void* data, int number) {
  CHECK(number == SIGUSR1);
  CHECK_OK(netio_posix_signal_free((struct netio_posix_signal*)data));
  free(data);
  ++count;
}
static void free_fd(void* data, int fd, uint32_t events) {
  CHECK((events & EPOLLOUT) != 0);
  CHECK_OK(netio_fd_free((struct netio_fd*)data));
  close(fd);
  free(data);
  ++count;
}
static void timers_signals_and_watches_may_be_freed_in_their_own(void) {
  struct netio_timer* timer = calloc(1, sizeof *timer);
  struct netio_signal* signal = calloc(1, sizeof *signal);
  struct netio_posix_signal* posix = calloc(1, sizeof *posix);
  struct netio_fd* watch = calloc(1, sizeof *watch);
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK_OK(netio_timer_init(&ctx.evloop, timer));
  CHECK_OK(netio_signal_init(&ctx.evloop, signal));
  CHECK_OK(netio_posix_signal_init(&ctx.evloop, posix, SIGUSR1));
  CHECK_OK(netio_fd_init(&ctx.evloop, watch, ends[1], EPOLLOUT));
  timer->cb = free_timer;
  signal->cb = free_signal;
  posix->cb = free_posix_signal;
  watch->cb = free_fd;
  timer->data = timer;
  signal->data = signal;
  posix->data = posix;
  watch->data = watch;
  CHECK_OK(netio_timer_start_ns(timer, 1));
  CHECK_OK(netio_signal_fire(signal));
  CHECK(kill(getpid(), SIGUSR1) == 0);
  count = 0;
  while (count < 4) CHECK_OK(netio_run_once(&ctx.evloop, -1));
  close(ends[0]);
}

// A socket that is freed in each of its call-backs in turn; another one is made in its place at
// once, in the same memory, and is not called for the one before.
enum {
  on_up,
  on_message,
  on_room,
  on_down,
  on_failure,
  on_closing,
  on_return,
  on_high,
  on_low,
  kinds
};
static struct netio_pair_socket* victim;
static int freed_in;

static void not_its_own(struct netio_socket* socket) {
  CHECK(socket == NULL);  // it was of the socket that was here before
}
static void not_its_message(struct netio_socket* socket, const struct netio_message* message) {
  (void)message;
  not_its_own(socket);
}
static void not_its_end(struct netio_socket* socket, const struct netio_peer* peer,
                        const struct netio_down* why) {
  (void)peer, (void)why;
  not_its_own(socket);
}
static void free_victim(struct netio_socket* socket, int where) {
  if (where != freed_in || socket != &victim->socket || count != 0) return;
  CHECK_OK(netio_socket_free(socket));
  memset(victim, 0x5a, sizeof *victim);
  CHECK_OK(netio_pair_socket_init(&ctx, victim, NULL));
  victim->socket.cb_msg_received = not_its_message;
  victim->socket.cb_buffer_available = not_its_own;
  victim->socket.cb_connection_closed = not_its_end;
  victim->socket.cb_high_watermark = not_its_own;
  victim->socket.cb_low_watermark = not_its_own;
  ++count;
}
static void up(struct netio_socket* socket, const struct netio_peer* peer) {
  (void)peer;
  free_victim(socket, on_up);
}
static void message_came(struct netio_socket* socket, const struct netio_message* message) {
  CHECK(message->size == 5);
  free_victim(socket, on_message);
}
static void room(struct netio_socket* socket) { free_victim(socket, on_room); }
static void down(struct netio_socket* socket, const struct netio_peer* peer,
                 const struct netio_down* why) {
  (void)peer, (void)why;
  free_victim(socket, on_down);
}
static void failure(struct netio_socket* socket, const struct netio_peer* peer,
                    const struct netio_down* why) {
  CHECK(peer->retrying && why->reason == NETIO_DOWN_REFUSED);
  free_victim(socket, on_failure);
}
static void closing(struct netio_socket* socket, const struct netio_books* books) {
  (void)books;
  free_victim(socket, on_closing);
}
static void returned(struct netio_socket* socket, uint64_t key) {
  CHECK(key == 9);
  free_victim(socket, on_return);
}
static void high(struct netio_socket* socket) { free_victim(socket, on_high); }
static void low(struct netio_socket* socket) { free_victim(socket, on_low); }

static void a_socket_may_be_freed_in_any_of_its_own(const char* address) {
  static const char loan[100000];
  for (freed_in = 0; freed_in < kinds; ++freed_in) {
    struct netio_context other;
    struct netio_pair_socket peer;
    int sent = 0;
    int lent = 0;
    make_context(&other);
    memset(&peer, 0, sizeof peer);
    victim = calloc(1, sizeof *victim);
    count = 0;
    CHECK_OK(netio_pair_socket_init(&ctx, victim, NULL));
    CHECK_OK(netio_pair_socket_init(&other, &peer, NULL));
    victim->socket.cb_connection_established = up;
    victim->socket.cb_msg_received = message_came;
    victim->socket.cb_buffer_available = room;
    victim->socket.cb_connection_closed = down;
    victim->socket.cb_connection_failed = failure;
    victim->socket.cb_closed = closing;
    victim->socket.cb_send_completed = returned;
    victim->socket.cb_high_watermark = high;  // nobody is there: it is full
    victim->socket.cb_low_watermark = low;
    CHECK_OK(netio_listen(&peer.socket, address));
    CHECK_FAILS(netio_send(&victim->socket, "first", 5), NETIO_NOT_CONNECTED);
    CHECK_OK(netio_connect(&victim->socket, freed_in == on_failure ? "tcp://127.0.0.1:1"
                                                                   : netio_address(&peer.socket)));
    if (freed_in == on_closing) CHECK_OK(netio_close(&victim->socket, 60000));
    while (count == 0) {
      CHECK_OK(netio_run_once(&other.evloop, 0));
      CHECK_OK(netio_run_once(&ctx.evloop, 1000000));
      if (count != 0) break;
      if (freed_in == on_return && !lent)
        lent = netio_lend(&victim->socket, 0, loan, sizeof loan, 9) == 0;
      for (; sent < 3; ++sent) {  // several in one page: the second finds nobody
        if (netio_send(&peer.socket, "hello", 5) != NETIO_OK) break;
      }
      if (sent == 3 && freed_in == on_down) CHECK_OK(netio_close(&peer.socket, 60000));
    }
    TURN_A_WHILE(ctx, other);
    CHECK(count == 1);
    CHECK_OK(netio_socket_free(&victim->socket));
    free(victim);
    CHECK_OK(netio_socket_free(&peer.socket));
    CHECK_OK(netio_context_free(&other));
  }
}

static struct netio_send_socket out;
static struct netio_recv_socket in;
static struct netio_publish_socket publisher;
static struct netio_subscribe_socket subscriber;
static struct netio_timer ticking;
static struct netio_signal notified;
static struct netio_posix_signal raised;
static struct netio_fd watched;

static void call_events_from_here(void) {
  struct netio_timer fresh;
  int fd = 0;
  memset(&fresh, 0, sizeof fresh);
  CHECK_FAILS(netio_run(&ctx.evloop), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_run_once(&ctx.evloop, 0), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_terminate(&ctx.evloop), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_eventloop_fd(&ctx.evloop, &fd), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_context_free(&ctx), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_timer_init(&ctx.evloop, &fresh), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_timer_start_ms(&ticking, 1), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_timer_stop(&ticking), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_timer_free(&ticking), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_signal_free(&notified), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_posix_signal_free(&raised), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_fd_set_events(&watched, 0), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_fd_free(&watched), NETIO_WRONG_THREAD);
  CHECK_OK(netio_signal_fire(&notified));  // this one may be called
}
static void call_sockets_from_here(void) {
  struct netio_books books;
  struct netio_pair_socket fresh;
  memset(&fresh, 0, sizeof fresh);
  CHECK_FAILS(netio_pair_socket_init(&ctx, &fresh, NULL), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_listen(&in.socket, "tcp://127.0.0.1:0"), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_connect(&out.socket, "tcp://127.0.0.1:1"), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_close(&out.socket, 0), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_socket_free(&out.socket), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_get_books(&out.socket, &books), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_pause(&in.socket), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_resume(&in.socket), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_subscribe(&subscriber, 1), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_unsubscribe_range(&subscriber, 1, 2), NETIO_WRONG_THREAD);
  CHECK(netio_connections(&out.socket) == 0 && netio_fill(&out.socket) == 0);
  CHECK(strcmp(netio_address(&in.socket), "") == 0);
}
#ifndef NDEBUG
static void call_for_messages_from_here(void) {
  struct netio_message message;
  struct netio_subscription_cache cache;
  size_t peers = 0, away = 0;
  void* room = NULL;
  memset(&cache, 0, sizeof cache);
  CHECK_FAILS(netio_send(&out.socket, "x", 1), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_send_tagged(&out.socket, 1, "x", 1), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_send_to_all(&out.socket, 1, "x", 1, &peers, &away), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_lend(&out.socket, 1, "x", 1, 1), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_allocate(&out.socket, 1, 1, &message, &room), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_reserve(&out.socket, 1, &room), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_commit(&out.socket, 1, 1), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_flush(&out.socket), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_publish(&publisher, 1, "x", 1, NULL), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_publish(&publisher, 1, "x", 1, &cache), NETIO_WRONG_THREAD);
  CHECK(netio_sender_id(&in.socket) == 0);
  CHECK(strncmp(netio_last_error(), "netio_sender_id: called from another thread", 43) == 0);
}
#endif
static void* call_from_here(void* unused) {
  call_events_from_here();
  call_sockets_from_here();
#ifndef NDEBUG
  call_for_messages_from_here();
#endif
  CHECK(strstr(netio_last_error(), "thread") != NULL);
  return unused;
}
static void call_from_another_thread(void* calls) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, call_from_here, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  ++*(int*)calls;
}
static void* run_from_here(void* unused) {
  CHECK_OK(netio_timer_start_ms(&ticking, 0));
  CHECK_OK(netio_run(&ctx.evloop));
  return unused;
}
static void terminate(void* unused) {
  (void)unused;
  CHECK_OK(netio_terminate(&ctx.evloop));
}
static void another_thread_is_refused_while_the_loop_runs(void) {
  pthread_t thread;
  int ends[2];
  int calls = 0;
  CHECK(pipe(ends) == 0);
  CHECK_OK(netio_send_socket_init(&ctx, &out, NULL));
  CHECK_OK(netio_recv_socket_init(&ctx, &in, NULL));
  CHECK_OK(netio_publish_socket_init(&ctx, &publisher, NULL));
  CHECK_OK(netio_subscribe_socket_init(&ctx, &subscriber, NULL));
  CHECK_OK(netio_timer_init(&ctx.evloop, &ticking));
  CHECK_OK(netio_signal_init(&ctx.evloop, &notified));
  CHECK_OK(netio_posix_signal_init(&ctx.evloop, &raised, SIGUSR1));
  CHECK_OK(netio_fd_init(&ctx.evloop, &watched, ends[0], EPOLLIN));
  ticking.cb = free;
  CHECK_FAILS(netio_connect(&out.socket, "tcp:"), NETIO_BAD_ADDRESS);
  CHECK_OK(netio_post(&ctx.evloop, call_from_another_thread, &calls));
  while (calls == 0) CHECK_OK(netio_run_once(&ctx.evloop, -1));
  CHECK(strstr(netio_last_error(), "tcp:") != NULL);  // each thread has its own
  ticking.cb = terminate;
  CHECK(pthread_create(&thread, NULL, run_from_here, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_socket_free(&in.socket));
  CHECK_OK(netio_socket_free(&publisher.socket));
  CHECK_OK(netio_socket_free(&subscriber.socket));
  CHECK_OK(netio_timer_free(&ticking));
  CHECK_OK(netio_signal_free(&notified));
  CHECK_OK(netio_posix_signal_free(&raised));
  CHECK_OK(netio_fd_free(&watched));
  close(ends[0]);
  close(ends[1]);
}

int main(void) {
  begin_tests();
  make_context(&ctx);
  the_loop_may_be_ended_and_not_run_or_freed();
  timers_signals_and_watches_may_be_freed_in_their_own();
  a_socket_may_be_freed_in_any_of_its_own("tcp://127.0.0.1:0");
  a_socket_may_be_freed_in_any_of_its_own("shm://*");
  another_thread_is_refused_while_the_loop_runs();
  CHECK_OK(netio_context_free(&ctx));
  return 0;
}
