// Receives messages at the address given until the sender has ended: in C.
#include <stdio.h>

#include <netio.h>

static struct netio_context ctx;
static struct netio_listen_socket in;
static int count;

static void on_message(struct netio_socket* socket, const struct netio_message* message) {
  (void)socket;
  if (count++ == 0) printf("first: %.*s\n", (int)message->size, (const char*)message->data);
}

static void on_closed(struct netio_socket* socket, const struct netio_peer* peer,
                      const struct netio_down* down) {
  (void)peer;
  printf("%d messages, then: %s\n", count, down->detail);
  netio_socket_free(socket);
  netio_terminate(&ctx.evloop);
}

int main(int argc, char** argv) {
  if (netio_init(&ctx) || netio_listen_socket_init(&ctx, &in, NULL)) return 1;
  in.socket.cb_msg_received = on_message;
  in.socket.cb_connection_closed = on_closed;
  if (netio_listen(&in.socket, argc > 1 ? argv[1] : "tcp://*:5555")) {
    fprintf(stderr, "%s\n", netio_last_error());
    return 2;
  }
  printf("listening at %s\n", netio_address(&in.socket));
  fflush(stdout);
  return netio_run(&ctx.evloop) || netio_context_free(&ctx);
}
