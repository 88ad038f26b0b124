// What units may do in their call-backs: end once more, send, be made again and go on, free each
// other, and keep events that outlive the unit and its context.
#include "one_unit.h"

// --- Events that are kept when their unit and their context are gone.
static void keep_four(struct netio_builder_unit* unit, const struct netio_event* event) {
  CHECK(event->id.number == (uint64_t)kept_count && kept_count < 4);
  check_event(event);
  if (kept_count == 3) CHECK_OK(netio_builder_unit_free(unit));
  keep(event);
}
static void kept_events_outlive_their_unit_and_its_context(const char* address) {
  struct netio_builder_options options;
  struct netio_readout_unit unit;
  struct netio_builder_unit builder;
  memset(&unit, 0, sizeof unit);
  memset(&builder, 0, sizeof builder);
  make_context(&here);
  make_context(&there);
  make_readout(&unit, range_events, 16U << 20U);
  netio_builder_defaults(&options);
  options.plan.sources = 1;
  options.plan.range_events = range_events;
  CHECK_OK(netio_builder_unit_init(&there, &builder, &options));
  builder.cb_event = keep_four;
  CHECK_OK(netio_builder_listen(&builder, address));
  CHECK_OK(netio_readout_connect(&unit, 0, netio_builder_address(&builder)));
  for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(&unit, n, n % 2 == 0 ? bytes : large));
  TURN_UNTIL(here, there, kept_count == 4);
  TURN_A_WHILE(here, there);
  CHECK_OK(netio_context_free(&there));
  for (int i = 0; i < 4; ++i) check_event(&kept[i]);
  CHECK_OK(netio_readout_unit_free(&unit));
  CHECK_OK(netio_context_free(&here));
  release_on_another_thread();
}

// --- Ends that are asked for again inside the call-back that tells of the end.
static int finished, closed, built, run_ends;

static void finish_again(struct netio_readout_unit* unit) {
  if (++finished == 1) CHECK_OK(netio_readout_finish(unit, 60000));
}
static void close_again(struct netio_builder_unit* unit) {
  if (++closed == 1) CHECK_OK(netio_builder_close(unit, 60000));
}
static void count_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  (void)unit;
  CHECK(event->id.number == (uint64_t)built);
  check_event(event);
  ++built;
}
// A builder that was made again does not know what the one before it had handed over.
static void count_again(struct netio_builder_unit* unit, const struct netio_event* event) {
  (void)unit;
  CHECK(event->id.number == (uint64_t)built && event->complete);
  ++built;
}
static void close_at_five(struct netio_builder_unit* unit, const struct netio_event* event) {
  CHECK(closed == 0 && built < 5);
  count_event(unit, event);
  if (built == 5) CHECK_OK(netio_builder_close(unit, 60000));
}
static void close_at_run_end(struct netio_builder_unit* unit, const struct netio_run_books* books) {
  CHECK(closed == 0 && books->run == 1 && books->complete == events && built == events);
  CHECK_OK(netio_builder_close(unit, 60000));
  CHECK(books->bytes == (uint64_t)events * bytes && books->missing_by[0].by[1] == 0);
  ++run_ends;
}

struct pair {
  struct netio_readout_unit unit;
  struct netio_builder_unit builder;
};
// The call-backs may be set when this returns; begin_pair() connects the two.
static void make_pair(struct pair* pair, uint64_t range, uint64_t store_bytes) {
  finished = closed = built = run_ends = 0;
  memset(pair, 0, sizeof *pair);
  make_readout(&pair->unit, range, store_bytes);
  make_builder(&pair->builder, range);
  pair->builder.cb_event = count_event;
}
static void begin_pair(struct pair* pair, const char* address) {
  CHECK_OK(netio_builder_listen(&pair->builder, address));
  CHECK_OK(netio_readout_connect(&pair->unit, 0, netio_builder_address(&pair->builder)));
}
static void end_pair(struct pair* pair) {
  TURN_A_WHILE(here, there);
  CHECK_OK(netio_readout_unit_free(&pair->unit));
  CHECK_OK(netio_builder_unit_free(&pair->builder));
}

static void begin_and_send_all(struct pair* pair, const char* address) {
  pair->unit.cb_finished = finish_again;
  pair->builder.cb_closed = close_again;
  begin_pair(pair, address);
  for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(&pair->unit, n, bytes));
  CHECK_OK(netio_readout_advance(&pair->unit, netio_end_of_run(1)));
}

static void a_unit_may_be_finished_and_closed_again_when_it_is(const char* address) {
  struct pair pair;
  make_pair(&pair, range_events, 1U << 20U);
  begin_and_send_all(&pair, address);
  CHECK_OK(netio_readout_finish(&pair.unit, 60000));
  TURN_UNTIL(here, there, finished == 2);
  CHECK(built == events);
  CHECK_OK(netio_builder_close(&pair.builder, 60000));
  TURN_UNTIL(here, there, closed == 2);
  TURN_A_WHILE(here, there);
  CHECK(finished == 2 && closed == 2);
  end_pair(&pair);
}

static void a_builder_may_be_closed_in_the_call_for_an_event(const char* address) {
  struct pair pair;
  struct netio_builder_books books;
  struct netio_readout_books held;
  make_pair(&pair, range_events, 1U << 20U);
  pair.builder.cb_event = close_at_five;
  pair.builder.cb_closed = close_again;
  begin_pair(&pair, address);
  for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(&pair.unit, n, bytes));
  TURN_UNTIL(here, there, closed == 2);
  TURN_A_WHILE(here, there);
  CHECK(built == 5);
  CHECK_OK(netio_builder_get_books(&pair.builder, &books));
  CHECK(books.complete == 5);
  // The unit was told of these five, and holds the others.
  CHECK_OK(netio_readout_get_books(&pair.unit, &held));
  CHECK(held.built == 5 && held.held == events - 5);
  end_pair(&pair);
  CHECK(built == 5 && closed == 2);
}

static void a_builder_may_be_closed_in_the_call_for_the_end_of_a_run(const char* address) {
  const struct netio_event_id next_run = {2, 0};
  struct pair pair;
  make_pair(&pair, range_events, 1U << 20U);
  pair.builder.cb_run_end = close_at_run_end;
  pair.builder.cb_closed = close_again;
  begin_pair(&pair, address);
  for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(&pair.unit, n, bytes));
  CHECK_OK(netio_readout_advance(&pair.unit, netio_end_of_run(1)));
  CHECK_OK(netio_readout_send(&pair.unit, next_run, bytes_of(0), bytes, 0));
  TURN_UNTIL(here, there, closed == 2);
  end_pair(&pair);
  CHECK(built == events && run_ends == 1 && closed == 2);
}

// --- Both are ended by their contexts.
static void count_call(void* count) { ++*(int*)count; }

static void contexts_end_their_units(const char* address) {
  struct netio_readout_books books;
  struct pair pair;
  int ended = 0;
  make_context(&here);
  make_context(&there);
  make_pair(&pair, range_events, 1U << 20U);
  begin_and_send_all(&pair, address);
  CHECK_OK(netio_context_close(&here, 60000, count_call, &ended));
  TURN_UNTIL(here, there, ended == 1 && finished == 2);
  CHECK(closed == 0 && built == events);
  CHECK_OK(netio_readout_get_books(&pair.unit, &books));
  CHECK(books.settled == events && books.held == 0);
  CHECK_FAILS(netio_readout_send(&pair.unit, netio_end_of_run(1), "", 0, 0), NETIO_CLOSED);
  CHECK_OK(netio_context_close(&there, 60000, NULL, NULL));
  CHECK_OK(netio_run(&there.evloop));
  CHECK(closed == 2);
  end_pair(&pair);
  CHECK(ended == 1 && finished == 2 && closed == 2);
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

// --- Units that send inside their call-backs only.
static uint64_t next_event;

static void send_what_fits(struct netio_readout_unit* unit) {
  while (next_event < events) {
    const int answer = send_one(unit, next_event, bytes);
    CHECK(answer == NETIO_OK || answer == NETIO_AGAIN);
    if (answer != NETIO_OK) return;
    ++next_event;
  }
  CHECK_OK(netio_readout_advance(unit, netio_end_of_run(1)));
}
static void send_when_up(struct netio_readout_unit* unit, uint32_t builder,
                         const struct netio_peer* peer) {
  CHECK(builder == 0);
  check_peer(peer);
  send_what_fits(unit);
}
static void send_one_when_settled(struct netio_readout_unit* unit, struct netio_event_id below) {
  const struct netio_event_id end = netio_end_of_run(1);
  if (below.run == end.run && below.number == end.number) return;
  CHECK(below.run == 1 && below.number <= next_event);
  if (below.number != next_event) return;  // the last event is held
  if (next_event == events) {
    CHECK_OK(netio_readout_advance(unit, end));
    return;
  }
  CHECK_OK(send_one(unit, next_event++, bytes));
}
static void a_unit_may_send_when_it_is_connected(const char* address) {
  struct pair pair;
  make_pair(&pair, range_events, 1U << 20U);
  pair.unit.cb_connection_established = send_when_up;
  next_event = 0;
  begin_pair(&pair, address);
  TURN_UNTIL(here, there, built == events);
  end_pair(&pair);
}
static void a_unit_may_send_when_there_is_room(const char* address) {
  struct pair pair;
  make_pair(&pair, range_events, 4000);
  pair.unit.cb_buffer_available = send_what_fits;
  next_event = 0;
  send_what_fits(&pair.unit);
  CHECK(next_event == 3);
  begin_pair(&pair, address);
  TURN_UNTIL(here, there, built == events);
  end_pair(&pair);
}
// Each range is one event, and ends with it.
static void a_unit_may_send_when_an_event_is_settled(const char* address) {
  struct pair pair;
  make_pair(&pair, 1, 1U << 20U);
  pair.unit.cb_settled = send_one_when_settled;
  next_event = 1;
  CHECK_OK(send_one(&pair.unit, 0, bytes));
  begin_pair(&pair, address);
  TURN_UNTIL(here, there, built == events);
  end_pair(&pair);
}

// --- Events that are kept and released within their call.
static void keep_and_release(struct netio_builder_unit* unit, const struct netio_event* event) {
  keep(event);
  release_kept(NULL);
  count_event(unit, event);  // it is valid until this returns
}
static void an_event_may_be_kept_and_released_in_its_call(const char* address) {
  struct netio_builder_options options;
  struct netio_readout_books books;
  struct pair pair;
  make_pair(&pair, range_events, 1U << 20U);
  CHECK_OK(netio_builder_unit_free(&pair.builder));
  netio_builder_defaults(&options);
  options.plan.sources = 1;
  options.plan.range_events = range_events;
  options.settle_released = 1;
  CHECK_OK(netio_builder_unit_init(&there, &pair.builder, &options));
  pair.builder.cb_event = keep_and_release;
  begin_pair(&pair, address);
  for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(&pair.unit, n, bytes));
  CHECK_OK(netio_readout_advance(&pair.unit, netio_end_of_run(1)));
  do {
    turn();
    CHECK_OK(netio_readout_get_books(&pair.unit, &books));
  } while (books.held != 0);
  CHECK(built == events && books.built == events && netio_builder_fill(&pair.builder) == 0);
  end_pair(&pair);
}

// --- Units that are made again in their call-backs, and go on.
static char its_address[128];
static int made_again;

static void make_builder_again(struct netio_builder_unit* unit, const struct netio_event* event) {
  if (event->id.number < 5) return;
  CHECK_OK(netio_builder_unit_free(unit));
  make_builder(unit, range_events);
  unit->cb_event = count_again;
  CHECK_OK(netio_builder_listen(unit, its_address));
  CHECK(event->id.number == 5 && built == 0);
  ++made_again;
}
static void a_builder_may_be_made_again_at_its_address(const char* address) {
  struct pair pair;
  make_pair(&pair, range_events, 1U << 20U);
  pair.builder.cb_event = make_builder_again;
  made_again = 0;
  begin_pair(&pair, address);
  snprintf(its_address, sizeof its_address, "%s", netio_builder_address(&pair.builder));
  for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(&pair.unit, n, bytes));
  CHECK_OK(netio_readout_advance(&pair.unit, netio_end_of_run(1)));
  TURN_UNTIL(here, there, built == events);  // nothing was settled before
  end_pair(&pair);
  CHECK(made_again == 1 && built == events);
}

static void make_unit_again(struct netio_readout_unit* unit, uint32_t builder,
                            const struct netio_peer* peer) {
  CHECK_OK(netio_readout_unit_free(unit));
  make_readout(unit, range_events, 1U << 20U);
  CHECK_OK(netio_readout_connect(unit, builder, its_address));
  for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(unit, n, bytes));
  CHECK_OK(netio_readout_advance(unit, netio_end_of_run(1)));
  check_peer(peer);
  ++made_again;
}
static void a_readout_unit_may_be_made_again_when_it_is_connected(const char* address) {
  struct pair pair;
  make_pair(&pair, range_events, 1U << 20U);
  pair.unit.cb_connection_established = make_unit_again;
  made_again = 0;
  begin_pair(&pair, address);
  snprintf(its_address, sizeof its_address, "%s", netio_builder_address(&pair.builder));
  TURN_UNTIL(here, there, built == events);
  end_pair(&pair);
  CHECK(made_again == 1 && built == events);
}

// --- A unit and a builder of one context, of which each frees the other.
static struct pair both;
static int other_freed;

static void free_its_unit(struct netio_builder_unit* unit, const struct netio_event* event) {
  (void)unit;
  if (event->id.number == 5) CHECK_OK(netio_readout_unit_free(&both.unit));
  check_event(event);
  ++other_freed;
}
static void free_its_builder(struct netio_readout_unit* unit, uint32_t builder,
                             const struct netio_peer* peer) {
  CHECK(unit == &both.unit && builder == 0);
  CHECK_OK(netio_builder_unit_free(&both.builder));
  check_peer(peer);
  ++other_freed;
}
static void make_both(const char* address) {
  struct netio_builder_options options;
  other_freed = built = 0;
  memset(&both, 0, sizeof both);
  make_readout(&both.unit, range_events, 1U << 20U);
  netio_builder_defaults(&options);
  options.plan.sources = 1;
  options.plan.range_events = range_events;
  CHECK_OK(netio_builder_unit_init(&here, &both.builder, &options));
  both.builder.cb_event = free_its_unit;
  CHECK_OK(netio_builder_listen(&both.builder, address));
  CHECK_OK(netio_readout_connect(&both.unit, 0, netio_builder_address(&both.builder)));
}
static void each_may_free_the_other_of_its_context(const char* address) {
  make_both(address);
  for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(&both.unit, n, bytes));
  TURN_UNTIL(here, there, other_freed >= 6);
  TURN_A_WHILE(here, there);
  CHECK_OK(netio_builder_unit_free(&both.builder));
  make_both(address);
  both.unit.cb_connection_established = free_its_builder;
  TURN_UNTIL(here, there, other_freed == 1);
  TURN_A_WHILE(here, there);
  CHECK(other_freed == 1);
  CHECK_OK(netio_readout_unit_free(&both.unit));
}

int main(void) {
  static const char* const addresses[] = {"tcp://127.0.0.1:0", "shm://*",
                                          "inproc://c_api_units_deeds"};
  begin_tests();
  fill_pattern();
  for (size_t i = 0; i < 3; ++i) {
    kept_events_outlive_their_unit_and_its_context(addresses[i]);
    contexts_end_their_units(addresses[i]);
  }
  make_context(&here);
  make_context(&there);
  for (size_t i = 0; i < 3; ++i) {
    a_unit_may_be_finished_and_closed_again_when_it_is(addresses[i]);
    a_builder_may_be_closed_in_the_call_for_an_event(addresses[i]);
    a_builder_may_be_closed_in_the_call_for_the_end_of_a_run(addresses[i]);
    a_unit_may_send_when_it_is_connected(addresses[i]);
    a_unit_may_send_when_there_is_room(addresses[i]);
    a_unit_may_send_when_an_event_is_settled(addresses[i]);
    an_event_may_be_kept_and_released_in_its_call(addresses[i]);
    a_builder_may_be_made_again_at_its_address(addresses[i]);
    a_readout_unit_may_be_made_again_when_it_is_connected(addresses[i]);
    each_may_free_the_other_of_its_context(addresses[i]);
  }
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
  return 0;
}
