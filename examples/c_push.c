// Sends a thousand messages to whoever receives at the address given: in C.
#include <stdio.h>

#include <netio.h>

static struct netio_context ctx;
static struct netio_buffered_send_socket out;

static void send_on(struct netio_socket* socket) {
  for (int* next = socket->data; *next < 1000; ++*next) {
    char text[32];
    const int bytes = snprintf(text, sizeof text, "event %d", *next);
    if (netio_send(socket, text, (size_t)bytes) != NETIO_OK) return;  // called again in due time
  }
  netio_close(socket, 5000);  // after everything has been delivered
}

static void on_failed(struct netio_socket* socket, const struct netio_peer* peer,
                      const struct netio_down* down) {
  (void)socket;
  fprintf(stderr, "%s%s\n", down->detail, peer->retrying ? ", trying again" : "");
}

static void on_closed(struct netio_socket* socket, const struct netio_books* books) {
  printf("%d of %d delivered\n", (int)books->acknowledged, *(int*)socket->data);
  netio_terminate(&ctx.evloop);
}

int main(int argc, char** argv) {
  int next = 0;
  if (netio_init(&ctx) || netio_buffered_send_socket_init(&ctx, &out, NULL)) return 1;
  out.socket.data = &next;
  out.socket.cb_buffer_available = send_on;  // after a refusal: a receiver came, or has room again
  out.socket.cb_connection_failed = on_failed;
  out.socket.cb_closed = on_closed;
  if (netio_connect(&out.socket, argc > 1 ? argv[1] : "tcp://localhost:5555"))
    return fprintf(stderr, "%s\n", netio_last_error()), 2;
  send_on(&out.socket);  // answers "not connected" now; cb_buffer_available goes on
  return netio_run(&ctx.evloop) || netio_socket_free(&out.socket) || netio_context_free(&ctx);
}
