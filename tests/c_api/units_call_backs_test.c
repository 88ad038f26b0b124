// Units that are freed in each of their call-backs, and made again there. What a call-back was
// given is readable until it returns, and no call-back comes after the free.
#include "one_unit.h"

static const char* const nobody = "tcp://127.0.0.1:1";
static int goes_on;  // the struct is made again in place of the one that was freed

// --- A unit that is freed in each of its call-backs in turn. It lies in memory of its own, so that
// a sanitizer sees who looks at it later. No call-back comes after the free.
enum unit_deed {
  unit_up,
  unit_down,
  unit_failed,
  unit_refused,
  unit_finished,
  unit_room,
  unit_completed,
  unit_settled,
  unit_high,
  unit_low,
  unit_manager_failed,
  unit_deeds
};
static struct netio_readout_unit* reader;
static enum unit_deed frees_reader_in;
static int reader_freed;

static void set_reader_calls(void);
static void reader_calls(struct netio_readout_unit* unit, enum unit_deed deed) {
  CHECK(unit == reader && !reader_freed);
  if (deed != frees_reader_in) return;
  CHECK_OK(netio_readout_unit_free(unit));
  reader_freed = 1;
  if (!goes_on) {
    free(unit);
    return;
  }
  CHECK_FAILS(netio_readout_unit_free(unit), NETIO_INVALID);
  memset(unit, 0x5a, sizeof *unit);
  make_readout(unit, range_events, 1U << 20U);
  set_reader_calls();
}
static void on_unit_up(struct netio_readout_unit* unit, uint32_t builder,
                       const struct netio_peer* peer) {
  reader_calls(unit, unit_up);
  CHECK(builder == 0);
  check_peer(peer);
}
static void on_unit_down(struct netio_readout_unit* unit, uint32_t builder,
                         const struct netio_peer* peer, const struct netio_down* down) {
  reader_calls(unit, unit_down);
  CHECK(builder == 0);
  check_down(peer, down);
}
static void on_unit_failed(struct netio_readout_unit* unit, uint32_t builder,
                           const struct netio_peer* peer, const struct netio_down* down) {
  reader_calls(unit, unit_failed);
  CHECK(builder == 0);
  check_down(peer, down);
}
static void on_unit_refused(struct netio_readout_unit* unit, uint32_t builder, const char* why) {
  reader_calls(unit, unit_refused);
  CHECK(builder == 0 && strstr(why, "events of a range") != NULL);
}
static void on_unit_finished(struct netio_readout_unit* unit) { reader_calls(unit, unit_finished); }
static void on_unit_room(struct netio_readout_unit* unit) { reader_calls(unit, unit_room); }
static void on_unit_completed(struct netio_readout_unit* unit, uint64_t key) {
  reader_calls(unit, unit_completed);
  CHECK(key >= 100 && key < 100 + events);
}
static void on_unit_settled(struct netio_readout_unit* unit, struct netio_event_id below) {
  reader_calls(unit, unit_settled);
  CHECK(below.run == 1);
}
static void on_unit_high(struct netio_readout_unit* unit) { reader_calls(unit, unit_high); }
static void on_unit_low(struct netio_readout_unit* unit) { reader_calls(unit, unit_low); }
static void on_unit_manager_failed(struct netio_readout_unit* unit, const struct netio_peer* peer,
                                   const struct netio_down* down) {
  reader_calls(unit, unit_manager_failed);
  check_down(peer, down);
}
static void set_reader_calls(void) {
  reader->cb_connection_established = on_unit_up;
  reader->cb_connection_closed = on_unit_down;
  reader->cb_connection_failed = on_unit_failed;
  reader->cb_refused = on_unit_refused;
  reader->cb_finished = on_unit_finished;
  reader->cb_buffer_available = on_unit_room;
  reader->cb_send_completed = on_unit_completed;
  reader->cb_settled = on_unit_settled;
  reader->cb_high_watermark = on_unit_high;
  reader->cb_low_watermark = on_unit_low;
  reader->cb_manager_failed = on_unit_manager_failed;
}

static void make_managed_reader(void) {
  struct netio_readout_options options;
  netio_readout_defaults(&options);
  options.plan.sources = 1;
  options.plan.managed = 1;
  CHECK_OK(netio_readout_unit_init(&here, reader, &options));
  set_reader_calls();
  CHECK_OK(netio_readout_join(reader, nobody));
}
// A small store gets full.
static void make_sending_reader(const char* address) {
  const int fills =
      frees_reader_in == unit_room || frees_reader_in == unit_high || frees_reader_in == unit_low;
  make_readout(reader, range_events, fills ? 4000 : 1U << 20U);
  set_reader_calls();
  for (uint64_t n = 0; n < events; ++n) {
    const struct netio_event_id event = {1, n};
    if (frees_reader_in == unit_completed) {
      CHECK_OK(netio_readout_lend(reader, event, bytes_of(n), bytes, 100 + n, 0));
    } else {
      const int answer = send_one(reader, n, bytes);
      CHECK(answer == NETIO_OK || (fills && answer == NETIO_AGAIN));
    }
  }
  if (!fills) CHECK_OK(netio_readout_advance(reader, netio_end_of_run(1)));
  CHECK_OK(netio_readout_connect(reader, 0, frees_reader_in == unit_failed ? nobody : address));
  if (frees_reader_in == unit_finished) CHECK_OK(netio_readout_finish(reader, 60000));
}
static void a_readout_unit_may_be_freed_in_each_of_its_call_backs(const char* address) {
  for (int deed = 0; deed < unit_deeds; ++deed) {
    struct netio_builder_unit builder;
    int listens = 1;
    frees_reader_in = (enum unit_deed)deed;
    reader_freed = 0;
    reader = calloc(1, sizeof *reader);
    memset(&builder, 0, sizeof builder);
    make_builder(&builder, deed == unit_refused ? 2 * range_events : range_events);
    builder.cb_event = ignore_event;
    CHECK_OK(netio_builder_listen(&builder, address));
    if (deed == unit_manager_failed) {
      make_managed_reader();
    } else {
      make_sending_reader(netio_builder_address(&builder));
    }
    while (!reader_freed) {
      turn();
      if (reader_freed || deed != unit_down || !listens) continue;
      if (netio_readout_builders_connected(reader) == 0) continue;
      CHECK_OK(netio_builder_unit_free(&builder));
      listens = 0;
    }
    TURN_A_WHILE(here, there);
    if (goes_on) {
      CHECK_OK(netio_readout_unit_free(reader));
      free(reader);
    }
    if (listens) CHECK_OK(netio_builder_unit_free(&builder));
  }
}

// --- The same with a builder unit.
enum builder_deed {
  builder_event,
  builder_range,
  builder_run_end,
  builder_up,
  builder_down,
  builder_refused,
  builder_closed,
  builder_high,
  builder_low,
  builder_manager_failed,
  builder_deeds
};
static struct netio_builder_unit* maker;
static enum builder_deed frees_maker_in;
static int maker_freed, is_high;

static void set_maker_calls(void);
static void maker_calls(struct netio_builder_unit* unit, enum builder_deed deed) {
  CHECK(unit == maker && !maker_freed);
  if (deed != frees_maker_in) return;
  CHECK_OK(netio_builder_unit_free(unit));
  maker_freed = 1;
  if (!goes_on) {
    free(unit);
    return;
  }
  CHECK_FAILS(netio_builder_unit_free(unit), NETIO_INVALID);
  memset(unit, 0x5a, sizeof *unit);
  make_builder(unit, range_events);
  set_maker_calls();
}
// With watermarks every event is kept; else one that is freed with its unit is kept after that.
static void on_builder_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  maker_calls(unit, builder_event);
  check_event(event);
  if (maker_freed || frees_maker_in == builder_high || frees_maker_in == builder_low) keep(event);
  check_event(event);
}
static void on_builder_range(struct netio_builder_unit* unit,
                             const struct netio_event_range* range) {
  const struct netio_event_fragment* fragments = NULL;
  maker_calls(unit, builder_range);
  fragments = netio_range_fragments(range, 0);
  CHECK(fragments != NULL && range->count > 0 && range->sources == 1);
  CHECK(range->bytes == range->count * bytes);
  for (size_t i = 0; i < range->count; ++i) {
    CHECK(range->events[i].id.run == 1 && range->events[i].complete && !range->events[i].again);
    check_fragment(&fragments[i], range->events[i].id.number);
  }
}
static void on_builder_run_end(struct netio_builder_unit* unit,
                               const struct netio_run_books* books) {
  maker_calls(unit, builder_run_end);
  CHECK(books->run == 1 && books->complete == events && books->incomplete == 0);
  CHECK(books->again == 0 && books->bytes == (uint64_t)events * bytes && books->sources == 1);
  for (size_t why = 0; why < 16; ++why) CHECK(books->missing_by[0].by[why] == 0);
}
static void on_builder_up(struct netio_builder_unit* unit, uint32_t source,
                          const struct netio_peer* peer) {
  maker_calls(unit, builder_up);
  CHECK(source == 0);
  check_peer(peer);
}
static void on_builder_down(struct netio_builder_unit* unit, uint32_t source,
                            const struct netio_peer* peer, const struct netio_down* down) {
  maker_calls(unit, builder_down);
  CHECK(source == 0);
  check_down(peer, down);
}
static void on_builder_refused(struct netio_builder_unit* unit, const struct netio_peer* peer,
                               const char* why) {
  maker_calls(unit, builder_refused);
  check_peer(peer);
  CHECK(strstr(why, "events of a range") != NULL);
}
static void on_builder_closed(struct netio_builder_unit* unit) {
  maker_calls(unit, builder_closed);
}
static void on_builder_high(struct netio_builder_unit* unit) {
  maker_calls(unit, builder_high);
  is_high = 1;
}
static void on_builder_low(struct netio_builder_unit* unit) { maker_calls(unit, builder_low); }
static void on_builder_manager_failed(struct netio_builder_unit* unit,
                                      const struct netio_peer* peer,
                                      const struct netio_down* down) {
  maker_calls(unit, builder_manager_failed);
  check_down(peer, down);
}
static void set_maker_calls(void) {
  if (frees_maker_in == builder_range) {
    maker->cb_range = on_builder_range;
  } else {
    maker->cb_event = on_builder_event;
  }
  if (frees_maker_in != builder_manager_failed) maker->cb_run_end = on_builder_run_end;
  maker->cb_connection_established = on_builder_up;
  maker->cb_connection_closed = on_builder_down;
  maker->cb_refused = on_builder_refused;
  maker->cb_closed = on_builder_closed;
  maker->cb_high_watermark = on_builder_high;
  maker->cb_low_watermark = on_builder_low;
  maker->cb_manager_failed = on_builder_manager_failed;
}

static void make_listening_maker(const char* address) {
  struct netio_builder_options options;
  maker = calloc(1, sizeof *maker);
  if (frees_maker_in == builder_manager_failed) {
    netio_builder_defaults(&options);
    options.plan.sources = 1;
    options.plan.managed = 1;
    CHECK_OK(netio_builder_unit_init(&there, maker, &options));
    set_maker_calls();
    CHECK_OK(netio_builder_join(maker, nobody));
  } else {
    make_builder(maker, range_events);
    set_maker_calls();
  }
  CHECK_OK(netio_builder_listen(maker, address));
}
static void a_builder_unit_may_be_freed_in_each_of_its_call_backs(const char* address) {
  for (int deed = 0; deed < builder_deeds; ++deed) {
    struct netio_readout_unit unit;
    struct netio_builder_books books;
    int sends = 1;
    frees_maker_in = (enum builder_deed)deed;
    maker_freed = is_high = 0;
    memset(&unit, 0, sizeof unit);
    make_listening_maker(address);
    make_readout(&unit, deed == builder_refused ? 2 * range_events : range_events, 1U << 20U);
    CHECK_OK(netio_readout_connect(&unit, 0, netio_builder_address(maker)));
    for (uint64_t n = 0; n < events; ++n) CHECK_OK(send_one(&unit, n, bytes));
    CHECK_OK(netio_readout_advance(&unit, netio_end_of_run(1)));
    if (deed == builder_closed) CHECK_OK(netio_builder_close(maker, 60000));
    while (!maker_freed) {
      turn();
      if (maker_freed) break;
      if (is_high) release_on_another_thread();
      CHECK_OK(netio_builder_get_books(maker, &books));
      if (deed != builder_down || !sends || books.complete != events) continue;
      CHECK_OK(netio_readout_unit_free(&unit));
      sends = 0;
    }
    TURN_A_WHILE(here, there);
    if (goes_on) {
      CHECK_OK(netio_builder_unit_free(maker));
      free(maker);
    }
    if (deed == builder_event || deed == builder_high) CHECK(kept_count > 0);
    release_kept(NULL);
    if (sends) CHECK_OK(netio_readout_unit_free(&unit));
  }
}

int main(void) {
  static const char* const addresses[] = {"tcp://127.0.0.1:0", "shm://*",
                                          "inproc://c_api_units_call_backs"};
  begin_tests();
  fill_pattern();
  make_context(&here);
  make_context(&there);
  for (size_t i = 0; i < 3; ++i) {
    for (goes_on = 0; goes_on < 2; ++goes_on) {
      a_readout_unit_may_be_freed_in_each_of_its_call_backs(addresses[i]);
      a_builder_unit_may_be_freed_in_each_of_its_call_backs(addresses[i]);
    }
  }
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
  return 0;
}
