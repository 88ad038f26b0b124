// A receiver that has no call-back yet: its messages wait until it has one.
#include "check.h"

static int received;
static void count_message(struct netio_socket* socket, const struct netio_message* message) {
  (void)socket, (void)message;
  ++received;
}

int main(void) {
  struct netio_context here;
  struct netio_context there;
  struct netio_send_socket sender;
  struct netio_listen_socket receiver;
  struct netio_books books;
  begin_tests();
  make_context(&here);
  make_context(&there);
  memset(&sender, 0, sizeof sender);
  memset(&receiver, 0, sizeof receiver);
  CHECK_OK(netio_send_socket_init(&here, &sender, NULL));
  CHECK_OK(netio_listen_socket_init(&there, &receiver, NULL));
  CHECK_OK(netio_listen(&receiver.socket, "tcp://127.0.0.1:0"));
  CHECK_OK(netio_connect(&sender.socket, netio_address(&receiver.socket)));
  TURN_UNTIL(here, there, netio_connections(&sender.socket) == 1);
  CHECK_OK(netio_send(&sender.socket, "early", 5));
  TURN_A_WHILE(here, there);
  CHECK_OK(netio_get_books(&sender.socket, &books));
  CHECK(books.unacknowledged == 1);
  receiver.socket.cb_msg_received = count_message;
  CHECK_OK(netio_resume(&receiver.socket));
  TURN_UNTIL(here, there, received == 1);
  CHECK_OK(netio_socket_free(&sender.socket));
  CHECK_OK(netio_socket_free(&receiver.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
  return 0;
}
