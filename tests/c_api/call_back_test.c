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

// A socket that is freed in each of its call-backs in turn, and another one made in its place.
enum { on_up, on_message, on_room, on_down, on_failure, on_closing, on_return, kinds };
static struct netio_pair_socket* victim;
static int freed_in;

static void free_victim(struct netio_socket* socket, int where) {
  if (where != freed_in || socket != &victim->socket) return;
  CHECK_OK(netio_socket_free(socket));
  free(victim);
  victim = NULL;
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
    CHECK_OK(netio_listen(&peer.socket, address));
    CHECK_FAILS(netio_send(&victim->socket, "first", 5), NETIO_NOT_CONNECTED);
    CHECK_OK(netio_connect(&victim->socket, freed_in == on_failure ? "tcp://127.0.0.1:1"
                                                                   : netio_address(&peer.socket)));
    if (freed_in == on_closing) CHECK_OK(netio_close(&victim->socket, 60000));
    while (count == 0) {
      CHECK_OK(netio_run_once(&other.evloop, 0));
      CHECK_OK(netio_run_once(&ctx.evloop, 1000000));
      if (victim == NULL) break;
      if (freed_in == on_return && !lent)
        lent = netio_lend(&victim->socket, 0, loan, sizeof loan, 9) == 0;
      for (; sent < 3; ++sent) {  // several in one page: the second finds nobody
        if (netio_send(&peer.socket, "hello", 5) != NETIO_OK) break;
      }
      if (sent == 3 && freed_in == on_down) CHECK_OK(netio_close(&peer.socket, 60000));
    }
    TURN_A_WHILE(ctx, other);
    CHECK(count == 1);
    CHECK_OK(netio_socket_free(&peer.socket));
    CHECK_OK(netio_context_free(&other));
  }
}

static struct netio_send_socket out;
static void* call_from_here(void* loop_was_run) {
  CHECK_FAILS(netio_run(&ctx.evloop), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_terminate(&ctx.evloop), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_connect(&out.socket, "tcp://127.0.0.1:1"), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_socket_free(&out.socket), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_context_free(&ctx), NETIO_WRONG_THREAD);
  CHECK(netio_connections(&out.socket) == 0);
#ifndef NDEBUG
  CHECK_FAILS(netio_send(&out.socket, "x", 1), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_flush(&out.socket), NETIO_WRONG_THREAD);
#endif
  CHECK(strstr(netio_last_error(), "thread") != NULL);
  return loop_was_run;
}
static void another_thread_is_refused(void) {
  pthread_t thread;
  CHECK_OK(netio_send_socket_init(&ctx, &out, NULL));
  CHECK_FAILS(netio_connect(&out.socket, "tcp:"), NETIO_BAD_ADDRESS);
  CHECK(pthread_create(&thread, NULL, call_from_here, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(strstr(netio_last_error(), "tcp:") != NULL);  // each thread has its own
  CHECK_OK(netio_socket_free(&out.socket));
}

int main(void) {
  begin_tests();
  make_context(&ctx);
  the_loop_may_be_ended_and_not_run_or_freed();
  timers_signals_and_watches_may_be_freed_in_their_own();
  a_socket_may_be_freed_in_any_of_its_own("tcp://127.0.0.1:0");
  a_socket_may_be_freed_in_any_of_its_own("shm://*");
  another_thread_is_refused();
  CHECK_OK(netio_context_free(&ctx));
  return 0;
}
