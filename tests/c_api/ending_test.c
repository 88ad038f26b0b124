// How a program ends: all sockets of a context at once, signals that are counted, words that are
// not older than the answer, and what a child of fork() may do.
#include <sys/wait.h>

#include "check.h"

static int calls;
static void count_call(void* data) { calls += *(int*)data; }
static void count_closed(struct netio_socket* socket, const struct netio_books* books) {
  (void)socket;
  CHECK(books->sent == books->acknowledged);
  ++calls;
}

static int received;
static void count_message(struct netio_socket* socket, const struct netio_message* message) {
  (void)socket;
  (void)message;
  ++received;
}

static void connect_pair(struct netio_context* ctx, struct netio_context* other,
                         struct netio_send_socket* sender, struct netio_recv_socket* receiver) {
  memset(sender, 0, sizeof *sender);
  memset(receiver, 0, sizeof *receiver);
  CHECK_OK(netio_send_socket_init(ctx, sender, NULL));
  CHECK_OK(netio_recv_socket_init(other, receiver, NULL));
  receiver->socket.cb_msg_received = count_message;
  CHECK_OK(netio_listen(&receiver->socket, "tcp://127.0.0.1:0"));
  CHECK_OK(netio_connect(&sender->socket, netio_address(&receiver->socket)));
  TURN_UNTIL(*ctx, *other, netio_connections(&sender->socket) == 1);
}

static void a_context_closes_all_its_sockets(void) {
  struct netio_context here;
  struct netio_context there;
  struct netio_send_socket senders[2];
  struct netio_recv_socket receivers[2];
  struct netio_recv_socket late;
  int ten = 10;
  make_context(&here);
  make_context(&there);
  for (int i = 0; i < 2; ++i) {
    connect_pair(&here, &there, &senders[i], &receivers[i]);
    senders[i].socket.cb_closed = count_closed;
    CHECK_OK(netio_send(&senders[i].socket, "last words", 10));
  }
  CHECK_OK(netio_context_close(&here, 30000, count_call, &ten));
  CHECK(calls == 0);
  TURN_UNTIL(here, there, calls >= 10);
  CHECK(calls == 12);
  memset(&late, 0, sizeof late);
  CHECK_FAILS(netio_recv_socket_init(&here, &late, NULL), NETIO_ERROR);
  CHECK(strstr(netio_last_error(), "the context was closed") != NULL);
  // Without a call the loop ends.
  CHECK_OK(netio_context_close(&there, 0, NULL, NULL));
  CHECK_OK(netio_run(&there.evloop));
  CHECK_FAILS(netio_context_close(NULL, 0, NULL, NULL), NETIO_INVALID);
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(netio_socket_free(&senders[i].socket));
    CHECK_OK(netio_socket_free(&receivers[i].socket));
  }
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

static void the_last_words_are_of_the_last_call(void) {
  struct netio_context ctx;
  struct netio_buffered_send_socket socket;
  make_context(&ctx);
  memset(&socket, 0, sizeof socket);
  CHECK_OK(netio_buffered_send_socket_init(&ctx, &socket, NULL));
  CHECK_FAILS(netio_connect(&socket.socket, "nonsense"), NETIO_BAD_ADDRESS);
  CHECK(strstr(netio_last_error(), "nonsense") != NULL);
  CHECK_FAILS(netio_send(&socket.socket, "x", 1), NETIO_NOT_CONNECTED);
  CHECK(strncmp(netio_last_error(), "not connected", 13) == 0);
  CHECK_OK(netio_socket_free(&socket.socket));
  CHECK_OK(netio_context_free(&ctx));
}

static int raised;
static void count_signal(void* data, int number) {
  (void)data;
  CHECK(number == SIGUSR1);
  ++raised;
}
static void signals_of_one_number_are_counted(void) {
  struct netio_context ctx;
  struct netio_posix_signal first;
  struct netio_posix_signal second;
  make_context(&ctx);
  memset(&first, 0, sizeof first);
  memset(&second, 0, sizeof second);
  CHECK_OK(netio_posix_signal_init(&ctx.evloop, &first, SIGUSR1));
  CHECK_OK(netio_posix_signal_init(&ctx.evloop, &second, SIGUSR1));
  second.cb = count_signal;
  CHECK_OK(netio_posix_signal_free(&first));
  CHECK(kill(getpid(), SIGUSR1) == 0);  // unblocked, it would end this process
  while (raised == 0) CHECK_OK(netio_run_once(&ctx.evloop, -1));
  CHECK_OK(netio_posix_signal_free(&second));
  CHECK_OK(netio_context_free(&ctx));
}

static void a_child_is_told_and_frees_only_copies(void) {
  struct netio_context here;
  struct netio_context there;
  struct netio_send_socket sender;
  struct netio_recv_socket receiver;
  struct netio_signal wake;
  int status = 0;
  pid_t child;
  make_context(&here);
  make_context(&there);
  connect_pair(&here, &there, &sender, &receiver);
  received = 0;
  memset(&wake, 0, sizeof wake);
  CHECK_OK(netio_signal_init(&here.evloop, &wake));
  child = fork();
  if (child == 0) {
    CHECK_FAILS(netio_send(&sender.socket, "x", 1), NETIO_CLOSED);
    CHECK_FAILS(netio_connect(&sender.socket, "tcp://127.0.0.1:1"), NETIO_ERROR);
    CHECK(strstr(netio_last_error(), "made before fork") != NULL);
    CHECK_FAILS(netio_run(&here.evloop), NETIO_ERROR);
    CHECK_FAILS(netio_signal_fire(&wake), NETIO_ERROR);
    CHECK_OK(netio_signal_free(&wake));
    CHECK_OK(netio_socket_free(&sender.socket));
    CHECK_OK(netio_socket_free(&receiver.socket));
    CHECK_OK(netio_context_free(&here));
    CHECK_OK(netio_context_free(&there));
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK_OK(netio_send(&sender.socket, "after", 5));
  TURN_UNTIL(here, there, received == 1);
  CHECK(netio_connections(&sender.socket) == 1);
  CHECK_OK(netio_signal_free(&wake));
  CHECK_OK(netio_socket_free(&sender.socket));
  CHECK_OK(netio_socket_free(&receiver.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

int main(void) {
  begin_tests();
  a_context_closes_all_its_sockets();
  the_last_words_are_of_the_last_call();
  signals_of_one_number_are_counted();
  a_child_is_told_and_frees_only_copies();
  return 0;
}
