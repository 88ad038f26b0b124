// Asks a replier at the address given three questions, each with a time limit: in C.
#include <stdio.h>

#include <netio.h>

static struct netio_context ctx;
static struct netio_request_socket out;
static int asked, ended;
static void ask_on(struct netio_socket* socket) {
  const struct netio_ask ask = {.within_ns = 5000000000};  // 5 s
  (void)socket;
  for (; asked < 3; ++asked) {
    char text[32];
    const int bytes = snprintf(text, sizeof text, "question %d", asked);
    if (netio_request_send(&out, text, (size_t)bytes, &ask, NULL) != NETIO_OK) return;
  }
}

static void on_reply(struct netio_request_socket* socket, uint64_t id,
                     const struct netio_message* answer) {
  (void)socket, (void)id;
  printf("%.*s\n", (int)answer->size, (const char*)answer->data);
  if (++ended == 3) netio_context_close(&ctx, 5000, NULL, NULL);
}
static void on_failed(struct netio_request_socket* socket, uint64_t id, int outcome) {
  (void)socket, (void)id;
  printf("%s\n", netio_outcome_name(outcome));
  if (++ended == 3) netio_context_close(&ctx, 5000, NULL, NULL);
}

int main(int argc, char** argv) {
  if (netio_init(&ctx) || netio_request_socket_init(&ctx, &out, NULL)) return 1;
  out.socket.cb_buffer_available = ask_on;  // a replier came, or has room again
  out.cb_reply_received = on_reply;
  out.cb_request_failed = on_failed;
  if (netio_connect(&out.socket, argc > 1 ? argv[1] : "tcp://localhost:5555"))
    return fprintf(stderr, "%s\n", netio_last_error()), 2;
  ask_on(&out.socket);  // answers "not connected" now; cb_buffer_available goes on
  return netio_run(&ctx.evloop) || netio_socket_free(&out.socket) || netio_context_free(&ctx);
}
