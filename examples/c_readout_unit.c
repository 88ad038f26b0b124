// c_readout_unit SOURCE ADDRESS: sends source 0 or 1 of 1000 events to the only builder: in C.
#include <stdio.h>

#include <netio.h>

static struct netio_context ctx;
static struct netio_readout_unit out;
static struct netio_event_id event = {1, 0};  // run 1, from event 0 on

static int failed(void) { return fprintf(stderr, "%s\n", netio_last_error()), 2; }
static void send_on(struct netio_readout_unit* unit) {
  for (; event.number < 1000; ++event.number) {
    if (netio_readout_send(unit, event, "hits of a track", 15, NETIO_FRAGMENT_GOOD)) return;
  }
  netio_readout_advance(unit, netio_end_of_run(1));  // the builder need not wait for more
  netio_readout_finish(unit, 60000);
}
static void on_finished(struct netio_readout_unit* unit) {
  (void)unit, netio_terminate(&ctx.evloop);
}
static void on_refused(struct netio_readout_unit* unit, uint32_t builder, const char* why) {
  (void)unit, (void)builder, fprintf(stderr, "%s\n", why);
}

int main(int argc, char** argv) {
  struct netio_readout_books books;
  struct netio_readout_options options;
  netio_readout_defaults(&options);
  options.plan.sources = 2;
  options.source = argc > 1 && argv[1][0] == '1';
  if (netio_init(&ctx) || netio_readout_unit_init(&ctx, &out, &options)) return failed();
  out.cb_buffer_available = send_on;  // after a refusal: the store was full, and has room again
  out.cb_finished = on_finished;
  out.cb_refused = on_refused;
  if (netio_readout_connect(&out, 0, argc > 2 ? argv[2] : "tcp://localhost:5555")) return failed();
  send_on(&out);
  if (netio_run(&ctx.evloop) || netio_readout_get_books(&out, &books)) return failed();
  printf("%d sent, %d settled\n", (int)books.sent, (int)books.settled);
  return netio_readout_unit_free(&out) || netio_context_free(&ctx) || books.settled != books.sent;
}
