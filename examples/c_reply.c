// Answers requests at the address given until a requester has gone: in C.
#include <stdio.h>

#include <netio.h>

static struct netio_context ctx;
static struct netio_reply_socket in;

static void on_request(struct netio_reply_socket* socket, const struct netio_message* request,
                       struct netio_reply_to* to) {
  char text[64];
  const int most = request->size < 50 ? (int)request->size : 50;
  const int bytes = snprintf(text, sizeof text, "%.*s: yes", most, (const char*)request->data);
  (void)socket;
  // The first answer inside this call-back always has room. `to` may be kept and answered later.
  if (netio_reply_to_send(to, text, (size_t)bytes) != NETIO_OK) netio_reply_to_drop(to);
}

static void on_closed(struct netio_socket* socket, const struct netio_peer* peer,
                      const struct netio_down* down) {
  struct netio_reply_books books;
  (void)socket, (void)peer;
  if (netio_get_reply_books(&in, &books) == NETIO_OK)
    printf("%d answered, then: %s\n", (int)books.answered, down->detail);
  netio_terminate(&ctx.evloop);
}

int main(int argc, char** argv) {
  if (netio_init(&ctx) || netio_reply_socket_init(&ctx, &in, NULL)) return 1;
  in.cb_request_received = on_request;
  in.socket.cb_connection_closed = on_closed;
  if (netio_listen(&in.socket, argc > 1 ? argv[1] : "tcp://*:5555"))
    return fprintf(stderr, "%s\n", netio_last_error()), 2;
  printf("listening at %s\n", netio_address(&in.socket));
  fflush(stdout);
  return netio_run(&ctx.evloop) || netio_socket_free(&in.socket) || netio_context_free(&ctx);
}
