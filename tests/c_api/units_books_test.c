// Read-out units and builder units: events that are kept, ranges of events, events that lack
// fragments, watermarks, and what both sides say of themselves.
#include <pthread.h>

#include "units.h"

enum { fragment_bytes = 1000, fragment_cost = fragment_bytes + 64, kept_most = 32 };

static uint64_t events_seen, keys_completed;
static int completed[kept_most], run_ends, highs[2], lows[2];
static struct netio_event_id told[units_count];
static struct netio_event kept[kept_most];

static void reset_counts(void) {
  events_seen = keys_completed = 0;
  run_ends = 0;
  memset(completed, 0, sizeof completed);
  memset(highs, 0, sizeof highs);
  memset(lows, 0, sizeof lows);
  memset(told, 0, sizeof told);
  memset(kept, 0, sizeof kept);
}
static struct netio_event_id settled_of(uint32_t source) {
  struct netio_event_id settled;
  CHECK_OK(netio_readout_get_settled(&units[source], &settled));
  return settled;
}
static void on_settled(struct netio_readout_unit* unit, struct netio_event_id below) {
  const uint32_t source = source_of(unit);
  CHECK(is_below(told[source], below) && is_same(settled_of(source), below));
  told[source] = below;
}
static void on_completed(struct netio_readout_unit* unit, uint64_t key) {
  CHECK(unit == &units[0] && key < kept_most && completed[key] == 0);
  CHECK(key < settled_of(0).number);
  ++completed[key];
  ++keys_completed;
}

// --- Events that are kept. Another keep of the event is refused. Its fragments may be kept.
static struct netio_message part;  // of the first one, beyond the event
static void check_plain(const struct netio_event* event, uint64_t number) {
  CHECK(is_same(event->id, event_of(number)) && event->sources == units_count);
  CHECK(event->complete == 1 && event->again == 0);
  for (size_t source = 0; source < units_count; ++source) {
    const struct netio_event_fragment fragment = fragment_of(event, source);
    CHECK(fragment.here && has_bytes(&fragment.message, source, number, fragment_bytes));
  }
  CHECK(netio_event_bytes(event) == 2 * fragment_bytes);
}
static void keep_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  const uint64_t number = event->id.number;
  struct netio_event another;
  struct netio_event_fragment fragment;
  memset(&another, 0, sizeof another);
  CHECK(unit == &builders[0] && number == events_seen && number < kept_most);
  CHECK_FAILS(netio_event_keep(event, NULL), NETIO_INVALID);
  CHECK_OK(netio_event_keep(event, &kept[number]));
  CHECK_FAILS(netio_event_keep(event, &another), NETIO_INVALID);
  CHECK_FAILS(netio_event_keep(&kept[number], &another), NETIO_INVALID);
  CHECK(another.memory == NULL);
  check_plain(event, number);
  check_plain(&kept[number], number);
  fragment = fragment_of(&kept[number], 0);
  if (part.memory == NULL) CHECK_OK(netio_keep(&fragment.message, &part));
  CHECK_FAILS(netio_event_get_fragment(&kept[number], units_count, &fragment), NETIO_INVALID);
  ++events_seen;
}

static void what_is_kept_is_settled_when_it_is_released(const char* over) {
  struct netio_builder_options options;
  struct netio_event_id settled;
  struct netio_event copy;
  begin(over, 1);
  reset_counts();
  builder_options(&options, 0);
  options.settle_released = 1;
  CHECK_OK(netio_builder_unit_init(&there, &builders[0], &options));
  builders[0].cb_event = keep_event;
  listen_at(0);
  for (uint32_t source = 0; source < units_count; ++source) {
    make_unit(source);
    units[source].cb_settled = on_settled;
    units[source].cb_send_completed = on_completed;
  }
  connect_all();
  for (uint64_t number = 0; number < 20; ++number) {
    SEND_SOON(netio_readout_lend(&units[0], event_of(number), bytes_of(0, number), fragment_bytes,
                                 number, NETIO_FRAGMENT_GOOD));
    send_plain(1, number, fragment_bytes);
  }
  end_the_run();
  TURN_UNTIL(here, there, events_seen == 20);
  CHECK(builder_books_of(0).kept_bytes == 20 * 2 * fragment_cost);
  for (uint64_t number = 1; number < 16; ++number) CHECK_OK(netio_event_release(&kept[number]));
  TURN_A_WHILE(here, there);  // event 0 is not released
  CHECK(keys_completed == 0 && held() == 40 && builder_books_of(0).complete == 20);
  CHECK(is_same(settled_of(0), event_of(0)) && is_same(settled_of(1), event_of(0)));
  CHECK_OK(netio_builder_get_settled(&builders[0], &settled));
  CHECK(!is_below(event_of(0), settled));
  check_plain(&kept[0], 0);
  copy = kept[0];
  memset(&kept[0], 0, sizeof kept[0]);
  CHECK_OK(netio_event_release(&copy));
  TURN_UNTIL(here, there, keys_completed == 16 && is_same(settled_of(1), event_of(16)));
  TURN_A_WHILE(here, there);
  for (int key = 0; key < 20; ++key) CHECK(completed[key] == (key < 16));
  CHECK(is_same(settled_of(0), event_of(16)) && held() == 8);
  CHECK(is_same(told[0], event_of(16)) && is_same(told[1], event_of(16)));
  CHECK_OK(netio_builder_get_settled(&builders[0], &settled));
  CHECK(is_same(settled, event_of(16)));
  for (uint64_t number = 16; number < 20; ++number) CHECK_OK(netio_event_release(&kept[number]));
  TURN_UNTIL(here, there, keys_completed == 20 && held() == 0);
  TURN_UNTIL(here, there, is_same(told[0], netio_end_of_run(run)) && is_same(told[0], told[1]));
  for (int key = 0; key < 20; ++key) CHECK(completed[key] == 1);
  CHECK(books_of(0).built == 20 && builder_books_of(0).kept_bytes == 0);
  CHECK(builder_books_of(0).kept_bytes_max == 20 * 2 * fragment_cost);
  end();
  CHECK(has_bytes(&part, 0, 0, fragment_bytes));
  CHECK_OK(netio_release(&part));
}

// Event 1 is of segments, event 2 has no fragment of unit 1, and that of event 3 has no bytes.
static void keep_any_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  (void)unit;
  CHECK_OK(netio_event_keep(event, &kept[event->id.number]));
  ++events_seen;
}
static void* read_and_release(void* unused) {
  struct netio_segment got[2];
  struct netio_event_fragment fragment;
  struct netio_message own;
  (void)unused;
  for (uint64_t number = 0; number < 4; ++number) {
    struct netio_event* const event = &kept[number];
    CHECK(is_same(event->id, event_of(number)) && event->sources == 2 && event->complete);
    fragment = fragment_of(event, 0);
    CHECK(fragment.here && fragment.status == NETIO_FRAGMENT_IN_ERROR);
    if (number == 1) {
      CHECK(netio_segments(&fragment.message, got, 2) == 2 && got[0].size == 5);
      CHECK(memcmp(got[0].data, "head", 5) == 0 && got[1].size == fragment_bytes);
      CHECK(memcmp(got[1].data, bytes_of(0, number), fragment_bytes) == 0);
    } else {
      CHECK(netio_segments(&fragment.message, got, 2) == 1);
      CHECK(has_bytes(&fragment.message, 0, number, large_bytes));
    }
    fragment = fragment_of(event, 1);
    CHECK(fragment.here == (number != 2) && fragment.missing == NETIO_MISSING_NO);
    CHECK(fragment.status == (number == 2 ? NETIO_FRAGMENT_GOOD : NETIO_FRAGMENT_TRUNCATED));
    CHECK(has_bytes(&fragment.message, 1, number, number < 2 ? fragment_bytes : 0));
    CHECK(netio_event_bytes(event) == (number == 1 ? 8 + fragment_bytes + 3 * 8 : large_bytes) +
                                          (number < 2 ? fragment_bytes : 0U));
    fragment = fragment_of(event, 0);
    CHECK_OK(netio_keep(&fragment.message, &own));
    CHECK_OK(netio_event_release(event));
    CHECK(own.data == fragment.message.data && own.size == fragment.message.size);
    CHECK(netio_segments(&own, got, 2) == (number == 1 ? 2 : 1));
    CHECK(number == 1 || has_bytes(&own, 0, number, large_bytes));
    CHECK_OK(netio_release(&own));
    CHECK(event->memory == NULL);
    CHECK_FAILS(netio_event_release(event), NETIO_INVALID);
    CHECK_FAILS(netio_event_get_fragment(event, 0, &fragment), NETIO_INVALID);
  }
  return NULL;
}

static void a_kept_event_outlives_its_builder_and_its_context(const char* over) {
  struct netio_builder_options options;
  struct netio_segment segments[2] = {{"head", 5, NULL}, {NULL, fragment_bytes, NULL}};
  pthread_t thread;
  begin(over, 1);
  reset_counts();
  builder_options(&options, 0);
  options.keep_bytes_max = 6 << 20;
  {
    struct netio_context_options memory;  // of its own, for the 4 MiB that are kept
    netio_context_defaults(&memory);
    memory.receive_pool_bytes = memory.send_pool_bytes = 2U << 20U;
    CHECK_OK(netio_context_free(&there));
    CHECK_OK(netio_init_with(&there, &memory));
    CHECK_FAILS(netio_builder_unit_init(&there, &builders[0], &options), NETIO_ERROR);
    CHECK_OK(netio_builder_memory(&options, &memory));
    CHECK(memory.receive_pool_bytes > 6U << 20U);
    CHECK_OK(netio_context_free(&there));
    CHECK_OK(netio_init_with(&there, &memory));
  }
  CHECK_OK(netio_builder_unit_init(&there, &builders[0], &options));
  builders[0].cb_event = keep_any_event;
  listen_at(0);
  make_unit(0);
  make_unit(1);
  connect_all();
  for (uint64_t number = 0; number < 4; ++number) {
    segments[1].data = bytes_of(0, number);
    SEND_SOON(number == 1 ? netio_readout_send_segments(&units[0], event_of(number), segments, 2,
                                                        NETIO_FRAGMENT_IN_ERROR)
                          : netio_readout_send(&units[0], event_of(number), bytes_of(0, number),
                                               large_bytes, NETIO_FRAGMENT_IN_ERROR));
    if (number == 2) continue;
    SEND_SOON(netio_readout_send(&units[1], event_of(number), bytes_of(1, number),
                                 number < 2 ? fragment_bytes : 0, NETIO_FRAGMENT_TRUNCATED));
  }
  end_the_run();
  TURN_UNTIL(here, there, events_seen == 4 && held() == 0);
  CHECK(builder_books_of(0).sources[0].missing_by.by[NETIO_MISSING_NO] == 0);
  CHECK(builder_books_of(0).sources[1].missing_by.by[NETIO_MISSING_NO] == 1);
  CHECK_OK(netio_builder_unit_free(&builders[0]));
  free_units();
  end();
  CHECK(pthread_create(&thread, NULL, read_and_release, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

// --- Ranges. Source 1 has nothing for some events, and source 0 nothing for the last two ranges.
enum { both_below = 400, ranged_events = both_below + 2 * range_events };
static size_t largest_count;
static struct netio_message kept_message;

static int has_fragment(size_t source, uint64_t number) {
  return number >= both_below ? source == 1 : source == 0 || number % 5 != 0;
}
static size_t size_of(uint64_t number) {
  return number % 30 == 7 ? 50000 : (size_t)(number % 11 * 31);
}
static void on_range(struct netio_builder_unit* unit, const struct netio_event_range* range) {
  uint64_t bytes = 0;
  CHECK(unit == &builders[0] && range->count >= 1 && range->sources == units_count);
  CHECK(netio_range_fragments(range, units_count) == NULL);
  for (size_t source = 0; source < units_count; ++source) {
    const struct netio_event_fragment* const of = netio_range_fragments(range, source);
    CHECK(of != NULL);
    for (size_t i = 0; i < range->count; ++i) {
      const uint64_t number = range->events[i].id.number;
      const int has = has_fragment(source, number);
      CHECK(of[i].here == has && of[i].missing == NETIO_MISSING_NO);
      CHECK(has_bytes(&of[i].message, source, number, has ? size_of(number) : 0));
      CHECK(of[i].status == (has ? NETIO_FRAGMENT_TRUNCATED : NETIO_FRAGMENT_GOOD));
      bytes += of[i].message.size;
      if (source == 1 && number == 37) CHECK_OK(netio_keep(&of[i].message, &kept_message));
    }
  }
  CHECK(range->bytes == bytes);
  for (size_t i = 0; i < range->count; ++i) {
    CHECK(is_same(range->events[i].id, event_of(events_seen)));
    CHECK(range->events[i].complete == 1 && range->events[i].again == 0);
    CHECK(range->events[i].id.number / range_events == range->events[0].id.number / range_events);
    ++events_seen;
  }
  if (range->count > largest_count) largest_count = range->count;
}

static void ranges_have_the_fragments_of_each_source_side_by_side(const char* over) {
  begin(over, 1);
  reset_counts();
  make_builder(0);
  builders[0].cb_range = on_range;
  listen_at(0);
  make_unit(0);
  make_unit(1);
  CHECK_OK(netio_readout_advance(&units[1], event_of(0)));  // it has nothing for the first event
  connect_all();
  for (uint64_t number = 0; number < ranged_events; ++number) {
    for (uint32_t source = 0; source < units_count; ++source) {
      if (!has_fragment(source, number)) continue;
      SEND_SOON(netio_readout_send(&units[source], event_of(number), bytes_of(source, number),
                                   size_of(number), NETIO_FRAGMENT_TRUNCATED));
    }
  }
  TURN_UNTIL(here, there,
             builder_books_of(0).sources[1].open == 2 * range_events && events_seen == both_below);
  largest_count = 0;
  end_the_run();  // all events of the last two ranges are ready at once
  TURN_UNTIL(here, there, events_seen == ranged_events && held() == 0);
  CHECK(largest_count == range_events && builder_books_of(0).complete == ranged_events);
  CHECK(books_of(0).built == both_below && books_of(1).built == ranged_events - both_below / 5);
  end();
  CHECK(has_bytes(&kept_message, 1, 37, 50000));
  CHECK_OK(netio_release(&kept_message));
}

// --- Events that lack fragments.
static int missing_why, complete_from;
static void on_event_that_lacks(struct netio_builder_unit* unit, const struct netio_event* event) {
  const uint64_t number = event->id.number;
  const struct netio_event_fragment of_0 = fragment_of(event, 0), of_1 = fragment_of(event, 1);
  const int whole = number >= (uint64_t)complete_from;
  CHECK(unit == &builders[0] && is_same(event->id, event_of(events_seen)));
  CHECK(of_0.here && has_bytes(&of_0.message, 0, number, fragment_bytes));
  CHECK(event->complete == whole && of_1.here == whole);
  CHECK(of_1.missing == (whole ? NETIO_MISSING_NO : missing_why));
  ++events_seen;
}
static void on_run_end(struct netio_builder_unit* unit, const struct netio_run_books* books) {
  const uint64_t incomplete = (uint64_t)complete_from;
  CHECK(unit == &builders[0] && books->run == run && books->sources == units_count);
  CHECK(books->incomplete == incomplete && books->complete == 20 - incomplete);
  CHECK(books->bytes == fragment_bytes * (20 + 20 - incomplete));
  for (int why = 0; why < 16; ++why) {
    CHECK(books->missing_by[0].by[why] == 0);
    CHECK(books->missing_by[1].by[why] == (why == missing_why ? incomplete : 0));
  }
  ++run_ends;
}
static void make_impatient_builder(int why, int from, uint64_t deadline_ms) {
  struct netio_builder_options options;
  reset_counts();
  missing_why = why;
  complete_from = from;
  builder_options(&options, 0);
  options.deadline_ns = options.meet_within_ns = deadline_ms * 1000000;
  CHECK_OK(netio_builder_unit_init(&there, &builders[0], &options));
  builders[0].cb_event = on_event_that_lacks;
  builders[0].cb_run_end = on_run_end;
  listen_at(0);
}
static void send_20(uint32_t source, uint64_t from) {
  for (uint64_t number = from; number < 20; ++number) send_plain(source, number, fragment_bytes);
}
static void check_lacking(uint64_t received_of_1) {
  const struct netio_builder_books books = builder_books_of(0);
  const uint64_t incomplete = (uint64_t)complete_from;
  CHECK(events_seen == 20 && run_ends == 1 && books.open == 0);
  CHECK(books.complete == 20 - incomplete && books.incomplete == incomplete);
  CHECK(books.sources[0].received == 20 && books.sources[0].incomplete == incomplete);
  CHECK(books.sources[1].built == received_of_1 && books.sources[1].incomplete == 0);
  CHECK(books.sources[1].missing_by.by[missing_why] == incomplete);
  CHECK(books_of(0).incomplete == incomplete && books_of(0).built == 20 - incomplete);
}

static void a_unit_that_is_connected_and_silent_is_late(const char* over) {
  begin(over, 1);
  make_impatient_builder(NETIO_MISSING_LATE, 20, 30);
  make_unit(0);
  make_unit(1);
  CHECK_OK(netio_readout_advance(&units[0], event_of(0)));
  CHECK_OK(netio_readout_advance(&units[1], event_of(0)));
  connect_all();
  send_20(0, 0);
  CHECK_OK(netio_readout_advance(&units[0], netio_end_of_run(run)));
  TURN_UNTIL(here, there, run_ends == 1 && books_of(0).held == 0);
  for (uint64_t number = 0; number < 5; ++number) send_plain(1, number, fragment_bytes);
  CHECK_OK(netio_readout_advance(&units[1], netio_end_of_run(run)));
  TURN_UNTIL(here, there, books_of(1).held == 0);
  CHECK(books_of(1).late == 5 && books_of(1).settled == 0 && books_of(1).sent == 5);
  CHECK(builder_books_of(0).sources[1].received == builder_books_of(0).sources[1].late);
  CHECK(builder_books_of(0).sources[1].received <= 5);
  check_lacking(0);
  end();
}

static void a_unit_that_is_not_there_is_not_connected(const char* over) {
  begin(over, 1);
  make_impatient_builder(NETIO_MISSING_NOT_CONNECTED, 20, 30);
  make_unit(0);
  connect_unit(0);
  send_20(0, 0);
  CHECK_OK(netio_readout_advance(&units[0], netio_end_of_run(run)));
  TURN_UNTIL(here, there, run_ends == 1 && books_of(0).held == 0);
  CHECK(!builder_books_of(0).sources[1].connected && builder_books_of(0).sources[0].connected);
  check_lacking(0);
  end();
}

static void a_unit_has_not_begun_below_its_first_event(const char* over) {
  begin(over, 1);
  make_impatient_builder(NETIO_MISSING_NOT_BEGUN, 10, 300000);
  make_unit(0);
  make_unit(1);
  send_20(0, 0);
  send_20(1, 10);
  end_the_run();
  connect_all();
  TURN_UNTIL(here, there, run_ends == 1 && held() == 0);
  check_lacking(10);
  end();
}

// --- Watermarks.
static void unit_is_high(struct netio_readout_unit* unit) {
  CHECK(netio_readout_fill(unit) >= 0.75);
  ++highs[0];
}
static void unit_is_low(struct netio_readout_unit* unit) {
  CHECK(netio_readout_fill(unit) <= 0.25);
  ++lows[0];
}
static void builder_is_high(struct netio_builder_unit* unit) {
  CHECK(netio_builder_fill(unit) >= 0.75);
  ++highs[1];
}
static void builder_is_low(struct netio_builder_unit* unit) {
  CHECK(netio_builder_fill(unit) <= 0.25);
  ++lows[1];
}

static void both_tell_of_their_watermarks(const char* over) {
  struct netio_builder_options building;
  struct netio_readout_options sending;
  begin(over, 1);
  reset_counts();
  builder_options(&building, 0);
  building.keep_bytes_max = 10 * 2 * fragment_cost;
  CHECK_OK(netio_builder_unit_init(&there, &builders[0], &building));
  builders[0].cb_event = keep_event;
  builders[0].cb_high_watermark = builder_is_high;
  builders[0].cb_low_watermark = builder_is_low;
  listen_at(0);
  unit_options(&sending, 0);
  sending.store_bytes_max = 20 * fragment_cost;
  CHECK_OK(netio_readout_unit_init(&here, &units[0], &sending));
  units[0].cb_high_watermark = unit_is_high;
  units[0].cb_low_watermark = unit_is_low;
  make_unit(1);
  connect_unit(0);
  for (uint64_t number = 0; number < 14; ++number) send_plain(0, number, fragment_bytes);
  for (int turns = 0; turns < 5; ++turns) CHECK_OK(netio_run_once(&here.evloop, 0));
  CHECK(highs[0] == 0 && netio_readout_fill(&units[0]) == 0.7);
  send_plain(0, 14, fragment_bytes);
  CHECK(highs[0] == 0);  // no call-back comes from inside a call
  while (highs[0] == 0) CHECK_OK(netio_run_once(&here.evloop, 1000000));
  CHECK(lows[0] == 0 && netio_builder_fill(&builders[0]) == 0.0);
  connect_unit(1);
  for (uint64_t number = 0; number < 15; ++number) send_plain(1, number, fragment_bytes);
  end_the_run();
  TURN_UNTIL(here, there, events_seen == 10 && highs[1] == 1);
  TURN_A_WHILE(here, there);
  CHECK(events_seen == 10 && netio_builder_fill(&builders[0]) == 1.0 && lows[1] == 0);
  CHECK(builder_books_of(0).kept_bytes == building.keep_bytes_max);
  for (int number = 0; number < 10; ++number) CHECK_OK(netio_event_release(&kept[number]));
  TURN_UNTIL(here, there, events_seen == 15 && held() == 0);
  for (int number = 10; number < 15; ++number) CHECK_OK(netio_event_release(&kept[number]));
  TURN_UNTIL(here, there, lows[0] == 1 && lows[1] == 1);
  CHECK(highs[0] == 1 && highs[1] == 1);
  CHECK(netio_readout_fill(&units[0]) == 0.0 && netio_builder_fill(&builders[0]) == 0.0);
  CHECK_OK(netio_release(&part));
  end();
}

// Two units have sent a run of 20 events to a builder with this call-back.
static void send_a_run_to(const char* over, void (*cb_event)(struct netio_builder_unit* unit,
                                                             const struct netio_event* event)) {
  begin(over, 1);
  reset_counts();
  make_builder(0);
  builders[0].cb_event = cb_event;
  listen_at(0);
  make_unit(0);
  make_unit(1);
  connect_all();
  send_20(0, 0);
  send_20(1, 0);
  end_the_run();
}

// --- Events that nobody wants any more.
static void want_three_events(struct netio_builder_unit* unit, const struct netio_event* event) {
  CHECK(event->id.number == events_seen);
  if (++events_seen == 3) unit->cb_event = NULL;
}

static void events_without_a_call_back_are_discarded_as_if_used(const char* over) {
  send_a_run_to(over, want_three_events);
  TURN_UNTIL(here, there, held() == 0);
  CHECK(events_seen == 3 && builder_books_of(0).complete == 20);
  CHECK(books_of(0).built == 20 && books_of(1).built == 20);
  end();
}

// --- A builder that takes a pause, in the call for the fifth event.
static void pause_at_five(struct netio_builder_unit* unit, const struct netio_event* event) {
  CHECK(event->complete);
  if (++events_seen == 5) CHECK_OK(netio_builder_pause(unit));
}
static void nothing_is_handed_over_between_pause_and_resume(const char* over) {
  send_a_run_to(over, pause_at_five);
  TURN_UNTIL(here, there, builder_books_of(0).open == 15);
  TURN_A_WHILE(here, there);
  CHECK(events_seen == 5 && builder_books_of(0).complete == 5);
  CHECK_OK(netio_builder_resume(&builders[0]));
  CHECK(events_seen == 5);  // not inside the call
  TURN_UNTIL(here, there, events_seen == 20 && held() == 0);
  CHECK_OK(netio_builder_pause(&builders[0]));
  CHECK_OK(netio_builder_pause(&builders[0]));
  CHECK_OK(netio_builder_resume(&builders[0]));
  CHECK_OK(netio_builder_resume(&builders[0]));
  CHECK_FAILS(netio_builder_pause(NULL), NETIO_INVALID);
  CHECK_FAILS(netio_builder_resume(NULL), NETIO_INVALID);
  end();
}

int main(void) {
  static const char* const wires[] = {"tcp", "shm", "inproc"};
  begin_tests();
  fill_pattern();
  for (size_t i = 0; i < 3; ++i) {
    what_is_kept_is_settled_when_it_is_released(wires[i]);
    a_kept_event_outlives_its_builder_and_its_context(wires[i]);
    ranges_have_the_fragments_of_each_source_side_by_side(wires[i]);
    a_unit_that_is_connected_and_silent_is_late(wires[i]);
    a_unit_that_is_not_there_is_not_connected(wires[i]);
    a_unit_has_not_begun_below_its_first_event(wires[i]);
    both_tell_of_their_watermarks(wires[i]);
    events_without_a_call_back_are_discarded_as_if_used(wires[i]);
    nothing_is_handed_over_between_pause_and_resume(wires[i]);
  }
  return 0;
}
