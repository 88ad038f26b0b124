// A pair: a ball to and fro, from inside the call-backs; what was kept is passed on.
#include "check.h"

enum { rounds = 500 };

static struct netio_context here, there;
static int returned, refused;

static void on_ball(struct netio_socket* socket, const struct netio_message* ball) {
  struct netio_message kept;
  CHECK(ball->tag == 42 && ball->size == 32 && memcmp(ball->data, "ball", 4) == 0);
  CHECK_OK(netio_keep(ball, &kept));
  CHECK_OK(netio_pass_on(socket, &kept));
  CHECK_FAILS(netio_pass_on(socket, &kept), NETIO_INVALID);
  CHECK_FAILS(netio_release(&kept), NETIO_INVALID);
}
static void on_return(struct netio_socket* socket, const struct netio_message* ball) {
  char next[32];
  CHECK(ball->tag == 42 && ball->size == sizeof next);
  memcpy(next, ball->data, sizeof next);
  CHECK(memcmp(next + 8, &returned, sizeof returned) == 0);
  ++returned;
  memcpy(next + 8, &returned, sizeof returned);
  if (returned < rounds) CHECK_OK(netio_send_tagged(socket, 42, next, sizeof next));
}
static void on_failed(struct netio_socket* socket, const struct netio_peer* peer,
                      const struct netio_down* down) {
  (void)socket;
  CHECK(peer->dialed && down->reason == NETIO_DOWN_REJECTED);
  ++refused;
}

static void a_ball_goes_to_and_fro(const char* address, int unbuffered) {
  struct netio_socket_options options;
  struct netio_pair_socket one, other, third;
  char ball[32] = "ball";
  memset(&one, 0, sizeof one);
  memset(&other, 0, sizeof other);
  memset(&third, 0, sizeof third);
  returned = refused = 0;
  make_context(&here);
  make_context(&there);
  netio_socket_defaults(&options);
  options.unbuffered = unbuffered;
  CHECK_OK(netio_pair_socket_init(&here, &one, &options));
  CHECK_OK(netio_pair_socket_init(&there, &other, &options));
  CHECK_OK(netio_pair_socket_init(&there, &third, NULL));
  one.socket.cb_msg_received = on_ball;
  other.socket.cb_msg_received = on_return;
  third.socket.cb_connection_failed = on_failed;
  CHECK_OK(netio_listen(&one.socket, address));
  CHECK_OK(netio_connect(&other.socket, netio_address(&one.socket)));
  TURN_UNTIL(here, there, netio_connections(&other.socket) == 1);
  CHECK_OK(netio_connect(&third.socket, netio_address(&one.socket)));
  TURN_UNTIL(here, there, refused == 1);
  memcpy(ball + 8, &returned, sizeof returned);
  CHECK_OK(netio_send_tagged(&other.socket, 42, ball, sizeof ball));
  TURN_UNTIL(here, there, returned == rounds);
  CHECK_OK(netio_socket_free(&one.socket));
  CHECK_OK(netio_socket_free(&other.socket));
  CHECK_OK(netio_socket_free(&third.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

int main(void) {
  begin_tests();
  a_ball_goes_to_and_fro("tcp://127.0.0.1:0", 0);
  a_ball_goes_to_and_fro("shm://*", 1);
  a_ball_goes_to_and_fro("inproc://c_api_pair", 0);
  return 0;
}
