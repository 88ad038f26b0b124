// Timers, signals, descriptors and posted functions are events of one loop.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>

#include "check.h"

struct netio_context ctx;
static int count;

static void count_up(void* data) { ++*(int*)data; }
static void count_to_three_then_end(void* data) {
  if (++*(int*)data == 3) CHECK_OK(netio_terminate(&ctx.evloop));
}
static void end(void* data) {
  ++*(int*)data;
  CHECK_OK(netio_terminate(&ctx.evloop));
}

static void timers_expire_once_or_periodically(void) {
  struct netio_timer periodic;
  struct netio_timer once;
  struct netio_timer stopped;
  int once_count = 0;
  int stopped_count = 0;
  memset(&periodic, 0x5a, sizeof periodic);  // what was never cleared may be given to init
  memset(&once, 0, sizeof once);
  memset(&stopped, 0, sizeof stopped);
  CHECK_OK(netio_timer_init(&ctx.evloop, &periodic));
  CHECK_OK(netio_timer_init(&ctx.evloop, &once));
  CHECK_OK(netio_timer_init(&ctx.evloop, &stopped));
  count = 0;
  periodic.cb = count_to_three_then_end;
  periodic.data = &count;
  once.cb = count_up;
  once.data = &once_count;
  stopped.cb = count_up;
  stopped.data = &stopped_count;
  CHECK_OK(netio_timer_start_once_ns(&once, 1000));
  CHECK_OK(netio_timer_start_ns(&stopped, 1000));
  CHECK_OK(netio_timer_stop(&stopped));
  CHECK_OK(netio_timer_start_us(&periodic, 500));
  CHECK_OK(netio_run(&ctx.evloop));
  CHECK(count == 3 && once_count == 1 && stopped_count == 0);
  CHECK_OK(netio_timer_start_s(&periodic, UINT64_MAX));  // for ever, and no overflow
  CHECK_OK(netio_timer_start_ms(&periodic, 1));
  CHECK_OK(netio_run_once(&ctx.evloop, -1));
  CHECK(count == 4);
  CHECK_OK(netio_timer_free(&periodic));
  CHECK_OK(netio_timer_free(&once));
  CHECK_OK(netio_timer_free(&stopped));
}

static struct netio_signal waking;
static void* fire(void* unused) {
  (void)unused;
  for (int i = 0; i < 100; ++i) CHECK_OK(netio_signal_fire(&waking));
  return NULL;
}
static void fire_from_handler(int number) {
  (void)number;
  netio_signal_fire(&waking);
}

static void a_signal_wakes_the_loop_from_a_thread_and_from_a_handler(void) {
  pthread_t thread;
  CHECK_OK(netio_signal_init(&ctx.evloop, &waking));
  count = 0;
  waking.cb = end;
  waking.data = &count;
  CHECK(pthread_create(&thread, NULL, fire, NULL) == 0);
  CHECK_OK(netio_run(&ctx.evloop));
  pthread_join(thread, NULL);
  CHECK_OK(netio_run_once(&ctx.evloop, 0));  // at most one call for what came since
  CHECK(count >= 1 && count <= 2);
  signal(SIGUSR2, fire_from_handler);
  netio_run_once(&ctx.evloop, 0);
  count = 0;
  CHECK(kill(getpid(), SIGUSR2) == 0);
  while (count == 0) CHECK_OK(netio_run_once(&ctx.evloop, -1));
  CHECK_OK(netio_signal_free(&waking));
}

static int raised;
static void on_raised(void* data, int number) {
  raised = number;
  CHECK_OK(netio_terminate((struct netio_eventloop*)data));
}

static void a_signal_of_the_system_is_an_event(void) {
  struct netio_context own;  // the one above may have been told to stop
  struct netio_posix_signal signals[2];
  make_context(&own);
  memset(signals, 0, sizeof signals);
  CHECK_OK(netio_posix_signal_init(&own.evloop, &signals[0], SIGUSR1));
  CHECK_OK(netio_posix_signal_init(&own.evloop, &signals[1], SIGTERM));
  for (int i = 0; i < 2; ++i) {
    signals[i].cb = on_raised;
    signals[i].data = &own.evloop;
    CHECK(kill(getpid(), i == 0 ? SIGUSR1 : SIGTERM) == 0);
    CHECK_OK(netio_run(&own.evloop));
    CHECK(raised == (i == 0 ? SIGUSR1 : SIGTERM));
  }
  CHECK_OK(netio_posix_signal_free(&signals[0]));
  CHECK_OK(netio_posix_signal_free(&signals[1]));
  CHECK_OK(netio_context_free(&own));
}

static char heard[16];
static void on_readable(void* data, int fd, uint32_t events) {
  CHECK((events & EPOLLIN) != 0);
  CHECK(read(fd, heard, sizeof heard) == 5);
  ++*(int*)data;
}

static void a_descriptor_is_an_event(void) {
  struct netio_fd watch;
  int ends[2];
  memset(&watch, 0, sizeof watch);
  CHECK(pipe(ends) == 0);
  CHECK_OK(netio_fd_init(&ctx.evloop, &watch, ends[0], 0));
  count = 0;
  watch.cb = on_readable;
  watch.data = &count;
  CHECK(write(ends[1], "hello", 5) == 5);
  for (int i = 0; i < 5; ++i) CHECK_OK(netio_run_once(&ctx.evloop, 0));
  CHECK(count == 0);
  CHECK_OK(netio_fd_set_events(&watch, EPOLLIN));
  while (count == 0) CHECK_OK(netio_run_once(&ctx.evloop, -1));
  CHECK(memcmp(heard, "hello", 5) == 0);
  CHECK_FAILS(netio_fd_set_events(&watch, EPOLLIN | EPOLLONESHOT), NETIO_INVALID);
  CHECK_OK(netio_fd_free(&watch));
  CHECK(write(ends[1], "again", 5) == 5);
  for (int i = 0; i < 5; ++i) CHECK_OK(netio_run_once(&ctx.evloop, 0));
  CHECK(count == 1);
  close(ends[0]);
  close(ends[1]);
}

static pthread_t loop_thread;
static void end_on_loop_thread(void* data) {
  CHECK(pthread_equal(loop_thread, pthread_self()));
  end(data);
}
static void* post(void* data) {
  CHECK_OK(netio_post(&ctx.evloop, end_on_loop_thread, data));
  return NULL;
}

static void a_posted_function_runs_on_the_loops_thread(void) {
  pthread_t thread;
  count = 0;
  loop_thread = pthread_self();
  CHECK(pthread_create(&thread, NULL, post, &count) == 0);
  CHECK_OK(netio_run(&ctx.evloop));
  CHECK(count == 1);
  pthread_join(thread, NULL);
}

static void a_foreign_loop_sees_when_there_is_work(void) {
  struct netio_timer timer;
  struct pollfd waiting = {0, POLLIN, 0};
  memset(&timer, 0, sizeof timer);
  CHECK_OK(netio_eventloop_fd(&ctx.evloop, &waiting.fd));
  CHECK_OK(netio_timer_init(&ctx.evloop, &timer));
  count = 0;
  timer.cb = count_up;
  timer.data = &count;
  CHECK_OK(netio_timer_start_once_ns(&timer, 2000000));
  while (count == 0) {
    CHECK(poll(&waiting, 1, -1) == 1);
    CHECK_OK(netio_run_once(&ctx.evloop, 0));
  }
  CHECK_OK(netio_timer_free(&timer));
}

int main(void) {
  begin_tests();
  CHECK_OK(netio_init(&ctx));
  timers_expire_once_or_periodically();
  a_signal_wakes_the_loop_from_a_thread_and_from_a_handler();
  a_signal_of_the_system_is_an_event();
  a_descriptor_is_an_event();
  CHECK_OK(netio_context_free(&ctx));
  make_context(&ctx);
  a_posted_function_runs_on_the_loops_thread();
  a_foreign_loop_sees_when_there_is_work();
  CHECK_OK(netio_context_free(&ctx));
  return 0;
}
