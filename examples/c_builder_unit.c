// c_builder_unit ADDRESS: makes events of two read-out units, until both have ended: in C.
#include <stdio.h>

#include <netio.h>

static struct netio_context ctx;
static struct netio_builder_unit in;
static unsigned ended;  // a bit for each source

static int failed(void) { return fprintf(stderr, "%s\n", netio_last_error()), 2; }
static void on_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  for (size_t source = 0; source < event->sources; ++source) {
    struct netio_event_fragment from;  // its bytes are from.message.data, and from.message.size
    if (netio_event_get_fragment(event, source, &from) || !from.missing) continue;
    printf("event %d: %s\n", (int)event->id.number, netio_missing_name(from.missing));
  }
  if (event->id.number == 0) printf("event 0: %d bytes\n", (int)netio_event_bytes(event));
  (void)unit;
}
static void on_gone(struct netio_builder_unit* unit, uint32_t source, const struct netio_peer* peer,
                    const struct netio_down* down) {
  if (down->reason == NETIO_DOWN_CLOSED_BY_PEER) ended |= 1U << source;  // else it may come back
  if (ended == 3) netio_terminate(&ctx.evloop);
  (void)unit, (void)peer;
}

int main(int argc, char** argv) {
  struct netio_builder_options options;
  struct netio_builder_books books;
  netio_builder_defaults(&options);
  options.plan.sources = 2, options.deadline_ns = 10000000000;  // 10 s: units started by hand
  if (netio_init(&ctx) || netio_builder_unit_init(&ctx, &in, &options)) return failed();
  in.cb_event = on_event;
  in.cb_connection_closed = on_gone;
  if (netio_builder_listen(&in, argc > 1 ? argv[1] : "tcp://*:5555")) return failed();
  printf("building at %s\n", netio_builder_address(&in)), fflush(stdout);
  if (netio_run(&ctx.evloop) || netio_builder_get_books(&in, &books)) return failed();
  printf("%d complete, %d incomplete\n", (int)books.complete, (int)books.incomplete);
  return netio_builder_unit_free(&in) || netio_context_free(&ctx);
}
