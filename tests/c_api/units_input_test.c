// Each call for read-out units, builder units and events refuses what must not be done, in words,
// and a refusal changes nothing.
#include <pthread.h>

#include "check.h"

static const char* const nobody = "tcp://127.0.0.1:1";
static const char* const nobodies[] = {"tcp://127.0.0.1:1", "tcp://127.0.0.1:2"};
static const struct netio_event_id event_5 = {1, 5};

static struct netio_context ctx;
static struct netio_readout_unit unit;
static struct netio_builder_unit builder;
static struct netio_message spare;  // owned; a refused call leaves it as it is

static struct netio_readout_options readout_options(void) {
  struct netio_readout_options options;
  netio_readout_defaults(&options);
  options.plan.sources = 2;
  options.plan.builders = 2;
  return options;
}
static struct netio_builder_options builder_options(void) {
  struct netio_builder_options options;
  netio_builder_defaults(&options);
  options.plan.sources = 2;
  options.plan.builders = 2;
  return options;
}
static void make_readout(void) {
  const struct netio_readout_options options = readout_options();
  memset(&unit, 0, sizeof unit);
  CHECK_OK(netio_readout_unit_init(&ctx, &unit, &options));
}
static void make_builder(void) {
  const struct netio_builder_options options = builder_options();
  memset(&builder, 0, sizeof builder);
  CHECK_OK(netio_builder_unit_init(&ctx, &builder, &options));
}
static void ignore_event(struct netio_builder_unit* own, const struct netio_event* event) {
  (void)own, (void)event;
}
static void ignore_range(struct netio_builder_unit* own, const struct netio_event_range* range) {
  (void)own, (void)range;
}
static void ignore_run_end(struct netio_builder_unit* own, const struct netio_run_books* books) {
  (void)own, (void)books;
}

// Makes the message that is offered to calls which refuse it.
static void make_spare(void) {
  void* room = NULL;
  make_context(&ctx);
  make_readout();
  CHECK_OK(netio_readout_allocate(&unit, event_5, 8, 100, &spare, &room));
  CHECK(spare.size == 100 && room == spare.data);
  memset(room, 7, 100);
  CHECK_OK(netio_readout_unit_free(&unit));
  CHECK_OK(netio_context_free(&ctx));
}
static void check_spare(void) {
  CHECK(spare.memory != NULL && spare.size == 100);
  for (size_t i = 0; i < 100; ++i) CHECK(((const char*)spare.data)[i] == 7);
}

// All calls with a read-out unit that is null, was never made, was freed, or is a copy.
static void refuse_readout(struct netio_readout_unit* own) {
  const struct netio_segment segments[] = {{"x", 1, NULL}, {NULL, 0, &spare}};
  const struct netio_held_for_builder* held = NULL;
  const struct netio_peer_snapshot* peers = NULL;
  struct netio_readout_books books;
  struct netio_counters counters;
  struct netio_event_id below;
  struct netio_message message = {NULL, NULL, 0, 0};
  size_t count = 7;
  void* room = NULL;
  CHECK_FAILS(netio_readout_connect(own, 0, nobody), NETIO_INVALID);
  CHECK_FAILS(netio_readout_connect_any(own, 0, nobodies, 2), NETIO_INVALID);
  CHECK_FAILS(netio_readout_join(own, nobody), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send(own, event_5, "x", 1, NETIO_FRAGMENT_GOOD), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_message(own, event_5, &spare, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_segments(own, event_5, segments, 2, 0), NETIO_INVALID);
  check_spare();
  CHECK_FAILS(netio_readout_lend(own, event_5, "x", 1, 9, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_allocate(own, event_5, 0, 8, &message, &room), NETIO_INVALID);
  CHECK(message.memory == NULL);
  CHECK_FAILS(netio_readout_advance(own, netio_end_of_run(1)), NETIO_INVALID);
  CHECK_FAILS(netio_readout_flush(own), NETIO_INVALID);
  CHECK_FAILS(netio_readout_finish(own, 1), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_books(own, &books), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_advanced(own, &below), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_settled(own, &below), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_held(own, &held, &count), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_peers(own, &peers, &count), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_counters(own, 0, &counters), NETIO_INVALID);
  CHECK(netio_readout_fill(own) == 0 && netio_readout_builders_connected(own) == 0);
  CHECK_FAILS(netio_readout_unit_free(own), NETIO_INVALID);
}
// The same with a builder unit.
static void refuse_builder(struct netio_builder_unit* own) {
  const struct netio_peer_snapshot* peers = NULL;
  struct netio_builder_books books;
  struct netio_counters counters;
  struct netio_event_id below;
  size_t count = 7;
  CHECK_FAILS(netio_builder_listen(own, "tcp://127.0.0.1:0"), NETIO_INVALID);
  CHECK_FAILS(netio_builder_join(own, nobody), NETIO_INVALID);
  CHECK_FAILS(netio_builder_close(own, 1), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_books(own, &books), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_settled(own, &below), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_peers(own, &peers, &count), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_counters(own, &counters), NETIO_INVALID);
  CHECK(netio_builder_fill(own) == 0 && strcmp(netio_builder_address(own), "") == 0);
  CHECK_FAILS(netio_builder_unit_free(own), NETIO_INVALID);
}

static void what_was_never_made_is_refused(void) {
  static const int fillings[] = {0, 0x77};  // zeros, and memory that was something else before
  refuse_readout(NULL);
  refuse_builder(NULL);
  for (size_t i = 0; i < 2; ++i) {
    memset(&unit, fillings[i], sizeof unit);
    memset(&builder, fillings[i], sizeof builder);
    refuse_readout(&unit);
    refuse_builder(&builder);
  }
}

static void what_was_copied_or_freed_is_refused(void) {
  const struct netio_readout_options reading = readout_options();
  const struct netio_builder_options building = builder_options();
  struct netio_readout_unit copied_unit;
  struct netio_builder_unit copied_builder;
  make_context(&ctx);
  make_readout();
  make_builder();
  copied_unit = unit;
  copied_builder = builder;
  refuse_readout(&copied_unit);
  refuse_builder(&copied_builder);
  CHECK_FAILS(netio_readout_unit_init(&ctx, &unit, &reading), NETIO_INVALID);  // in use
  CHECK_FAILS(netio_builder_unit_init(&ctx, &builder, &building), NETIO_INVALID);
  CHECK_FAILS(netio_context_free(&ctx), NETIO_BUSY);
  CHECK_OK(netio_readout_unit_free(&unit));
  CHECK_FAILS(netio_context_free(&ctx), NETIO_BUSY);
  CHECK_OK(netio_builder_unit_free(&builder));
  refuse_readout(&unit);
  refuse_builder(&builder);
  CHECK_OK(netio_context_free(&ctx));
  CHECK_FAILS(netio_readout_unit_init(&ctx, &unit, &reading), NETIO_INVALID);  // no context
  CHECK_FAILS(netio_builder_unit_init(&ctx, &builder, &building), NETIO_INVALID);
  refuse_readout(&unit);
  refuse_builder(&builder);
}

static void a_null_pointer_is_refused_by_a_readout_unit(void) {
  static const char* const with_null[] = {"tcp://127.0.0.1:1", NULL};
  const struct netio_readout_options options = readout_options();
  const struct netio_held_for_builder* held = NULL;
  const struct netio_peer_snapshot* peers = NULL;
  struct netio_message message = {NULL, NULL, 0, 0};
  size_t count = 7;
  void* room = NULL;
  netio_readout_defaults(NULL);
  memset(&unit, 0, sizeof unit);
  CHECK_FAILS(netio_readout_unit_init(NULL, &unit, &options), NETIO_INVALID);
  CHECK_FAILS(netio_readout_unit_init(&ctx, NULL, &options), NETIO_INVALID);
  CHECK_FAILS(netio_readout_unit_init(&ctx, &unit, NULL), NETIO_INVALID);
  make_readout();
  CHECK_FAILS(netio_readout_connect(&unit, 0, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_readout_connect_any(&unit, 0, NULL, 2), NETIO_INVALID);
  CHECK_FAILS(netio_readout_connect_any(&unit, 0, with_null, 2), NETIO_INVALID);
  CHECK_FAILS(netio_readout_join(&unit, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send(&unit, event_5, NULL, 1, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_lend(&unit, event_5, NULL, 1, 9, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_message(&unit, event_5, NULL, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, NULL, 1, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_allocate(&unit, event_5, 0, 8, NULL, &room), NETIO_INVALID);
  CHECK_FAILS(netio_readout_allocate(&unit, event_5, 0, 8, &message, NULL), NETIO_INVALID);
  CHECK(message.memory == NULL);
  CHECK_FAILS(netio_readout_get_books(&unit, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_advanced(&unit, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_settled(&unit, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_held(&unit, NULL, &count), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_held(&unit, &held, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_peers(&unit, NULL, &count), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_peers(&unit, &peers, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_readout_get_counters(&unit, 0, NULL), NETIO_INVALID);
  CHECK_OK(netio_readout_unit_free(&unit));
}
static void a_null_pointer_is_refused_by_a_builder_unit(void) {
  const struct netio_builder_options options = builder_options();
  const struct netio_peer_snapshot* peers = NULL;
  struct netio_context_options memory;
  struct netio_event event;
  struct netio_event_fragment fragment;
  size_t count = 7;
  memset(&event, 0, sizeof event);
  memset(&builder, 0, sizeof builder);
  netio_builder_defaults(NULL);
  netio_context_defaults(&memory);
  CHECK_FAILS(netio_builder_memory(NULL, &memory), NETIO_INVALID);
  CHECK_FAILS(netio_builder_memory(&options, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_builder_unit_init(NULL, &builder, &options), NETIO_INVALID);
  CHECK_FAILS(netio_builder_unit_init(&ctx, NULL, &options), NETIO_INVALID);
  CHECK_FAILS(netio_builder_unit_init(&ctx, &builder, NULL), NETIO_INVALID);
  make_builder();
  builder.cb_event = ignore_event;
  CHECK_FAILS(netio_builder_listen(&builder, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_builder_join(&builder, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_books(&builder, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_settled(&builder, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_peers(&builder, NULL, &count), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_peers(&builder, &peers, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_builder_get_counters(&builder, NULL), NETIO_INVALID);
  CHECK_OK(netio_builder_unit_free(&builder));
  CHECK_FAILS(netio_event_get_fragment(NULL, 0, &fragment), NETIO_INVALID);
  CHECK_FAILS(netio_event_keep(NULL, &event), NETIO_INVALID);
  CHECK_FAILS(netio_event_release(NULL), NETIO_INVALID);
  CHECK(netio_event_bytes(NULL) == 0 && netio_range_fragments(NULL, 0) == NULL);
}

// Each is refused when the unit is made, and the struct is none then.
static void options_that_make_no_sense_are_refused(void) {
  enum { cases = 14 };
  struct netio_socket_options socket;
  netio_socket_defaults(&socket);
  socket.policy = 9;
  for (int i = 0; i < cases; ++i) {
    struct netio_readout_options reading = readout_options();
    struct netio_builder_options building = builder_options();
    const int of_readout = i < 7;
    const int of_builder = i < 4 || i >= 7;
    if (i == 0) reading.plan.sources = building.plan.sources = 0;
    if (i == 1) reading.plan.builders = building.plan.builders = 0;
    if (i == 2) reading.plan.range_events = building.plan.range_events = 0;
    if (i == 3) reading.socket = building.socket = &socket;
    if (i == 4) reading.source = 2;
    if (i == 5) reading.store_bytes_max = 0;
    if (i == 6) reading.plan.builders = UINT32_MAX;
    if (i == 7) building.builder = 2;
    if (i == 8) building.deadline_ns = 0;
    if (i == 9) building.window_bytes = 1;
    if (i == 10) building.window_bytes = UINT64_MAX;
    if (i == 11) building.keep_bytes_max = UINT64_MAX;
    if (i >= 12) building.plan.managed = 1;
    if (i == 12) building.weight = 0;
    if (i == 13) building.credit = 0;
    memset(&unit, 0, sizeof unit);
    memset(&builder, 0, sizeof builder);
    if (of_readout) CHECK_FAILS(netio_readout_unit_init(&ctx, &unit, &reading), NETIO_ERROR);
    if (of_builder) CHECK_FAILS(netio_builder_unit_init(&ctx, &builder, &building), NETIO_ERROR);
    CHECK_FAILS(netio_readout_unit_free(&unit), NETIO_INVALID);
    CHECK_FAILS(netio_builder_unit_free(&builder), NETIO_INVALID);
  }
}
static void options_of_unknown_numbers_are_refused(void) {
  static const int unknown[] = {-1, 2, 256, INT32_MAX};
  struct netio_readout_options reading;
  struct netio_builder_options building;
  memset(&reading, 0, sizeof reading);
  memset(&building, 0, sizeof building);
  memset(&unit, 0, sizeof unit);
  memset(&builder, 0, sizeof builder);
  CHECK_FAILS(netio_readout_unit_init(&ctx, &unit, &reading), NETIO_ERROR);
  CHECK(strstr(netio_last_error(), "netio_readout_defaults") != NULL);
  CHECK_FAILS(netio_builder_unit_init(&ctx, &builder, &building), NETIO_ERROR);
  CHECK(strstr(netio_last_error(), "netio_builder_defaults") != NULL);
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
    reading = readout_options();
    reading.when_full = unknown[i];
    CHECK_FAILS(netio_readout_unit_init(&ctx, &unit, &reading), NETIO_ERROR);
    CHECK(strstr(netio_last_error(), "netio_when_full") != NULL);
  }
}

static void a_builder_without_memory_is_refused_and_can_be_given_it(void) {
  struct netio_builder_options options = builder_options();
  struct netio_context_options given, mended, again;
  struct netio_context small;
  memset(&small, 0, sizeof small);
  memset(&builder, 0, sizeof builder);
  netio_context_defaults(&given);
  given.receive_pool_bytes = 4U << 20U;
  given.send_pool_bytes = 4U << 20U;
  given.large_kept_bytes_max = 1U << 20U;
  options.plan.sources = 8;
  CHECK_OK(netio_init_with(&small, &given));
  CHECK_FAILS(netio_builder_unit_init(&small, &builder, &options), NETIO_ERROR);
  CHECK_OK(netio_context_free(&small));
  mended = given;
  CHECK_OK(netio_builder_memory(&options, &mended));
  CHECK(mended.receive_pool_bytes > given.receive_pool_bytes);
  CHECK(mended.send_pool_bytes >= given.send_pool_bytes);
  CHECK(mended.large_bytes_max >= given.large_bytes_max);
  CHECK(mended.page_bytes == given.page_bytes && mended.large_kept_bytes_max == 1U << 20U);
  CHECK(mended.idle == given.idle && mended.cpu == given.cpu);
  CHECK(mended.numa_node == given.numa_node);
  CHECK_OK(netio_init_with(&small, &mended));
  CHECK_OK(netio_builder_unit_init(&small, &builder, &options));
  CHECK_OK(netio_builder_unit_free(&builder));
  CHECK_OK(netio_context_free(&small));
  again = mended;  // what is enough stays
  CHECK_OK(netio_builder_memory(&options, &again));
  CHECK(again.receive_pool_bytes == mended.receive_pool_bytes);
  CHECK(again.send_pool_bytes == mended.send_pool_bytes);
  CHECK(again.large_bytes_max == mended.large_bytes_max);
  memset(&again, 0, sizeof again);  // not begun with netio_context_defaults()
  CHECK_FAILS(netio_builder_memory(&options, &again), NETIO_ERROR);
  again = mended;
  options.plan.sources = 0;
  CHECK_FAILS(netio_builder_memory(&options, &again), NETIO_ERROR);
  CHECK(again.receive_pool_bytes == mended.receive_pool_bytes);
}

static void addresses_are_refused_by_a_readout_unit(void) {
  static const char* const one_is_bad[] = {"tcp://127.0.0.1:1", "pigeon://roof"};
  struct netio_readout_options options = readout_options();
  struct netio_counters counters;
  make_readout();
  CHECK_FAILS(netio_readout_connect(&unit, 0, "localhost:5555"), NETIO_BAD_ADDRESS);
  CHECK(strstr(netio_last_error(), "localhost:5555") != NULL);
  CHECK_FAILS(netio_readout_connect(&unit, 0, "pigeon://roof"), NETIO_BAD_ADDRESS);
  CHECK_FAILS(netio_readout_connect_any(&unit, 0, one_is_bad, 2), NETIO_BAD_ADDRESS);
  CHECK(strstr(netio_last_error(), "pigeon://roof") != NULL);
  CHECK_FAILS(netio_readout_connect_any(&unit, 0, nobodies, 0), NETIO_ERROR);
  CHECK_FAILS(netio_readout_connect(&unit, 2, nobody), NETIO_ERROR);
  CHECK(strstr(netio_last_error(), "no builder 2") != NULL);
  CHECK_FAILS(netio_readout_connect_any(&unit, 2, nobodies, 2), NETIO_ERROR);
  CHECK_FAILS(netio_readout_join(&unit, nobody), NETIO_ERROR);  // the plan is not managed
  CHECK_FAILS(netio_readout_get_counters(&unit, 2, &counters), NETIO_INVALID);
  CHECK_OK(netio_readout_get_counters(&unit, 1, &counters));
  // A refused call has named no builder.
  CHECK_OK(netio_readout_connect(&unit, 0, nobody));
  CHECK_OK(netio_readout_connect_any(&unit, 1, nobodies, 2));
  CHECK_FAILS(netio_readout_connect(&unit, 0, nobody), NETIO_ERROR);
  CHECK_FAILS(netio_readout_connect_any(&unit, 0, nobodies, 2), NETIO_ERROR);
  CHECK_FAILS(netio_readout_connect(&unit, 1, nobody), NETIO_ERROR);
  CHECK_OK(netio_readout_unit_free(&unit));
  options.plan.managed = 1;
  CHECK_OK(netio_readout_unit_init(&ctx, &unit, &options));
  CHECK_FAILS(netio_readout_connect(&unit, 0, nobody), NETIO_ERROR);
  CHECK_FAILS(netio_readout_connect_any(&unit, 0, nobodies, 2), NETIO_ERROR);
  CHECK_FAILS(netio_readout_join(&unit, "pigeon://roof"), NETIO_BAD_ADDRESS);
  CHECK_OK(netio_readout_join(&unit, nobody));
  CHECK_FAILS(netio_readout_join(&unit, nobody), NETIO_ERROR);  // once
  CHECK_OK(netio_readout_unit_free(&unit));
}
static void addresses_are_refused_by_a_builder_unit(void) {
  struct netio_builder_options options = builder_options();
  make_builder();
  builder.cb_event = ignore_event;
  CHECK_FAILS(netio_builder_listen(&builder, "pigeon://roof"), NETIO_BAD_ADDRESS);
  CHECK_FAILS(netio_builder_listen(&builder, "tcp://192.0.2.1:80"), NETIO_NOT_THERE_YET);
  CHECK(strcmp(netio_builder_address(&builder), "") == 0);
  CHECK_FAILS(netio_builder_join(&builder, nobody), NETIO_ERROR);  // the plan is not managed
  CHECK_OK(netio_builder_listen(&builder, "tcp://127.0.0.1:0"));
  CHECK(strstr(netio_builder_address(&builder), "tcp://127.0.0.1:") != NULL);
  CHECK_FAILS(netio_builder_listen(&builder, netio_builder_address(&builder)), NETIO_ERROR);
  CHECK_OK(netio_builder_close(&builder, 0));
  CHECK_FAILS(netio_builder_listen(&builder, "tcp://127.0.0.1:0"), NETIO_ERROR);  // closed
  CHECK_OK(netio_builder_unit_free(&builder));
  options.plan.managed = 1;
  CHECK_OK(netio_builder_unit_init(&ctx, &builder, &options));
  builder.cb_event = ignore_event;
  CHECK_FAILS(netio_builder_join(&builder, "pigeon://roof"), NETIO_BAD_ADDRESS);
  CHECK_OK(netio_builder_join(&builder, nobody));
  CHECK_FAILS(netio_builder_join(&builder, nobody), NETIO_ERROR);  // once
  CHECK_OK(netio_builder_unit_free(&builder));
}

static void call_backs_that_do_not_fit_are_refused(void) {
  static const char* const here = "tcp://127.0.0.1:0";
  struct netio_builder_options options = builder_options();
  make_builder();
  CHECK_FAILS(netio_builder_listen(&builder, here), NETIO_INVALID);  // neither
  builder.cb_event = ignore_event;
  builder.cb_range = ignore_range;
  CHECK_FAILS(netio_builder_listen(&builder, here), NETIO_INVALID);  // both
  CHECK(strcmp(netio_builder_address(&builder), "") == 0);
  builder.cb_event = NULL;
  builder.cb_run_end = ignore_run_end;
  CHECK_OK(netio_builder_listen(&builder, here));
  CHECK_OK(netio_builder_unit_free(&builder));
  options.settle_released = 1;
  CHECK_OK(netio_builder_unit_init(&ctx, &builder, &options));
  builder.cb_range = ignore_range;
  CHECK_FAILS(netio_builder_listen(&builder, here), NETIO_ERROR);
  builder.cb_range = NULL;
  builder.cb_event = ignore_event;
  CHECK_OK(netio_builder_listen(&builder, here));
  CHECK_OK(netio_builder_unit_free(&builder));
  options.settle_released = 0;
  options.plan.managed = 1;
  CHECK_OK(netio_builder_unit_init(&ctx, &builder, &options));
  builder.cb_event = ignore_event;
  builder.cb_run_end = ignore_run_end;
  CHECK_FAILS(netio_builder_listen(&builder, here), NETIO_ERROR);
  builder.cb_run_end = NULL;
  CHECK_OK(netio_builder_listen(&builder, here));
  CHECK_OK(netio_builder_unit_free(&builder));
}

static void names_are_those_of_the_enumerators(void) {
  static const char* const missing[] = {"no",        "late",    "not_connected",
                                        "not_begun", "dropped", "forgotten"};
  static const char* const statuses[] = {"good", "truncated", "in_error"};
  for (int i = 0; i < 6; ++i) CHECK(strcmp(netio_missing_name(i), missing[i]) == 0);
  for (int i = 0; i < 3; ++i) CHECK(strcmp(netio_fragment_status_name(i), statuses[i]) == 0);
  CHECK(strcmp(netio_missing_name(-1), "unknown") == 0);
  CHECK(strcmp(netio_missing_name(6), "unknown") == 0);
  CHECK(strcmp(netio_missing_name(256), "unknown") == 0);
  CHECK(strcmp(netio_fragment_status_name(-1), "unknown") == 0);
  CHECK(strcmp(netio_fragment_status_name(3), "unknown") == 0);
  CHECK(strcmp(netio_fragment_status_name(256), "unknown") == 0);
  CHECK(netio_end_of_run(7).run == 7 && netio_end_of_run(7).number == UINT64_MAX);
}

static void call_units_from_here(void) {
  const struct netio_readout_options reading = readout_options();
  const struct netio_builder_options building = builder_options();
  const struct netio_held_for_builder* held = NULL;
  const struct netio_peer_snapshot* peers = NULL;
  struct netio_readout_unit fresh_unit;
  struct netio_builder_unit fresh_builder;
  struct netio_readout_books readout_books;
  struct netio_builder_books builder_books;
  struct netio_counters counters;
  struct netio_event_id below;
  size_t count = 7;
  memset(&fresh_unit, 0, sizeof fresh_unit);
  memset(&fresh_builder, 0, sizeof fresh_builder);
  CHECK_FAILS(netio_readout_unit_init(&ctx, &fresh_unit, &reading), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_connect(&unit, 0, nobody), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_connect_any(&unit, 0, nobodies, 2), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_join(&unit, nobody), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_finish(&unit, 0), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_get_books(&unit, &readout_books), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_get_advanced(&unit, &below), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_get_settled(&unit, &below), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_get_held(&unit, &held, &count), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_get_peers(&unit, &peers, &count), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_get_counters(&unit, 0, &counters), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_readout_unit_free(&unit), NETIO_WRONG_THREAD);
  CHECK(netio_readout_fill(&unit) == 0 && netio_readout_builders_connected(&unit) == 0);
  CHECK_FAILS(netio_builder_unit_init(&ctx, &fresh_builder, &building), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_builder_listen(&builder, "tcp://127.0.0.1:0"), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_builder_join(&builder, nobody), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_builder_close(&builder, 0), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_builder_get_books(&builder, &builder_books), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_builder_get_settled(&builder, &below), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_builder_get_peers(&builder, &peers, &count), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_builder_get_counters(&builder, &counters), NETIO_WRONG_THREAD);
  CHECK_FAILS(netio_builder_unit_free(&builder), NETIO_WRONG_THREAD);
  CHECK(netio_builder_fill(&builder) == 0 && strcmp(netio_builder_address(&builder), "") == 0);
}
static void* call_from_here(void* unused) {
  call_units_from_here();
  CHECK(strstr(netio_last_error(), "thread") != NULL);
  return unused;
}
static void call_from_another_thread(void* calls) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, call_from_here, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  ++*(int*)calls;
}
static void another_thread_is_refused_while_the_loop_runs(void) {
  int calls = 0;
  make_readout();
  make_builder();
  builder.cb_event = ignore_event;
  CHECK_OK(netio_post(&ctx.evloop, call_from_another_thread, &calls));
  while (calls == 0) CHECK_OK(netio_run_once(&ctx.evloop, -1));
  CHECK_OK(netio_readout_connect(&unit, 0, nobody));
  CHECK_OK(netio_builder_listen(&builder, "tcp://127.0.0.1:0"));
  CHECK_OK(netio_readout_unit_free(&unit));
  CHECK_OK(netio_builder_unit_free(&builder));
}

int main(void) {
  begin_tests();
  make_spare();
  what_was_never_made_is_refused();
  what_was_copied_or_freed_is_refused();
  make_context(&ctx);
  a_null_pointer_is_refused_by_a_readout_unit();
  a_null_pointer_is_refused_by_a_builder_unit();
  options_that_make_no_sense_are_refused();
  options_of_unknown_numbers_are_refused();
  a_builder_without_memory_is_refused_and_can_be_given_it();
  addresses_are_refused_by_a_readout_unit();
  addresses_are_refused_by_a_builder_unit();
  call_backs_that_do_not_fit_are_refused();
  names_are_those_of_the_enumerators();
  another_thread_is_refused_while_the_loop_runs();
  CHECK_OK(netio_context_free(&ctx));
  check_spare();
  CHECK_OK(netio_release(&spare));
  return 0;
}
