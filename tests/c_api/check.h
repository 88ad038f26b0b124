// What the C programs share: a check that ends the program and says where, and two contexts in one
// thread, turned by turns until something has happened. C99 with POSIX.
#ifndef CHECK_H
#define CHECK_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netio.h>

#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
#define CHECK_OK(call) check_result((call), NETIO_OK, #call, __FILE__, __LINE__)
// The call answers so, and has said in words why.
#define CHECK_FAILS(call, result) check_result((call), (result), #call, __FILE__, __LINE__)

static inline void check(int holds, const char* what, const char* file, int line) {
  if (holds) return;
  fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", file, line, what, netio_last_error());
  exit(1);
}

static inline void check_result(int got, int wanted, const char* what, const char* file, int line) {
  if (got != wanted) {
    fprintf(stderr, "%s:%d: %s answered \"%s\" instead of \"%s\": %s\n", file, line, what,
            netio_result_name(got), netio_result_name(wanted), netio_last_error());
    exit(1);
  }
  if (wanted == NETIO_OK || wanted == NETIO_AGAIN || wanted == NETIO_NOT_CONNECTED) return;
  check(strlen(netio_last_error()) > 10, "the last error has words", file, line);
}

// What a test waits for comes, or the program ends here: no test waits for ever.
static inline void begin_tests(void) { alarm(120); }

// A context that takes little memory: tests make many.
static inline void make_context(struct netio_context* context) {
  struct netio_context_options options;
  netio_context_defaults(&options);
  options.send_pool_bytes = 4U << 20U;
  options.receive_pool_bytes = 4U << 20U;
  options.large_bytes_max = 256U << 20U;
  memset(context, 0, sizeof *context);
  CHECK_OK(netio_init_with(context, &options));
}

// Two contexts are turned until `condition` holds.
#define TURN_UNTIL(one, other, condition)               \
  while (!(condition)) {                                \
    CHECK_OK(netio_run_once(&(one).evloop, 0));         \
    CHECK_OK(netio_run_once(&(other).evloop, 1000000)); \
  }
// For what must not happen: it is given some turns to do so.
#define TURN_A_WHILE(one, other)                        \
  for (int turn_ = 0; turn_ < 20; ++turn_) {            \
    CHECK_OK(netio_run_once(&(one).evloop, 0));         \
    CHECK_OK(netio_run_once(&(other).evloop, 1000000)); \
  }

#endif
