// Fragments, segments, events and peers that units refuse: each refusal leaves what was given as it
// is, and counts nothing.
#include "check.h"

enum { bytes = 1000, store_bytes = 10000, message_bytes_max = 4000 };

static const struct netio_event_id event_5 = {1, 5};
static const struct netio_event_id event_6 = {1, 6};

static struct netio_context here, there;
static struct netio_readout_unit unit;
static struct netio_builder_unit builder;
static char data[store_bytes];
static int completed, built, looked_at;

static void on_completed(struct netio_readout_unit* own, uint64_t key) {
  (void)own, (void)key;
  ++completed;
}
static void make_readout(uint64_t store_bytes_max, uint64_t largest) {
  struct netio_socket_options socket;
  struct netio_readout_options options;
  netio_socket_defaults(&socket);
  socket.message_bytes_max = largest;
  netio_readout_defaults(&options);
  options.plan.sources = 1;
  options.store_bytes_max = store_bytes_max;
  options.socket = &socket;
  memset(&unit, 0, sizeof unit);
  CHECK_OK(netio_readout_unit_init(&here, &unit, &options));
  memset(&socket, 0x5a, sizeof socket);  // it is read by init only
  unit.cb_send_completed = on_completed;
}
static uint64_t sent(void) {
  struct netio_readout_books books;
  CHECK_OK(netio_readout_get_books(&unit, &books));
  CHECK(books.sent == books.settled + books.dropped + books.late + books.held);
  return books.sent;
}

// A message of the unit's, filled with one byte.
static struct netio_message make_message(size_t size, char filling) {
  struct netio_message message = {NULL, NULL, 0, 0};
  void* room = NULL;
  CHECK_OK(netio_readout_allocate(&unit, event_5, 0, size, &message, &room));
  CHECK(room == message.data && message.size == size);
  memset(room, filling, size);
  return message;
}
static void check_message(const struct netio_message* message, size_t size, char filling) {
  CHECK(message->memory != NULL && message->size == size);
  for (size_t i = 0; i < size; ++i) CHECK(((const char*)message->data)[i] == filling);
}

// Tries each call that sends this event with this status: all answer so, and take nothing.
static void refuse_all(struct netio_event_id event, int status, int answer) {
  struct netio_message message = make_message(bytes, 3);
  struct netio_segment segments[] = {{"head", 4, NULL}, {data, 0, &message}};
  const uint64_t before = sent();
  CHECK_FAILS(netio_readout_send(&unit, event, data, bytes, status), answer);
  CHECK_FAILS(netio_readout_send(&unit, event, NULL, 0, status), answer);
  CHECK_FAILS(netio_readout_send_message(&unit, event, &message, status), answer);
  CHECK_FAILS(netio_readout_send_segments(&unit, event, segments, 2, status), answer);
  CHECK_FAILS(netio_readout_lend(&unit, event, data, bytes, 9, status), answer);
  check_message(&message, bytes, 3);
  CHECK(segments[1].message == &message && segments[1].data == data && segments[1].size == 0);
  CHECK(sent() == before);
  CHECK_OK(netio_release(&message));
  CHECK(message.memory == NULL);
}

static void a_status_that_is_unknown_is_refused(void) {
  static const int unknown[] = {-1, 3, 256, INT32_MAX, INT32_MIN};
  make_readout(store_bytes, message_bytes_max);
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
    refuse_all(event_5, unknown[i], NETIO_INVALID);
  }
  CHECK_OK(netio_readout_send(&unit, event_5, NULL, 0, NETIO_FRAGMENT_IN_ERROR));
  CHECK_OK(netio_readout_lend(&unit, event_6, NULL, 0, 9, NETIO_FRAGMENT_TRUNCATED));
  CHECK(sent() == 2 && completed == 0);
  CHECK_OK(netio_readout_unit_free(&unit));
}

static void events_that_do_not_ascend_are_refused(void) {
  const struct netio_event_id no_event = netio_end_of_run(1);
  const struct netio_event_id earlier_run = {0, 9};
  const struct netio_event_id later_run = {2, 0};
  struct netio_event_id below;
  make_readout(store_bytes, message_bytes_max);
  CHECK_OK(netio_readout_send(&unit, event_5, data, bytes, 0));
  refuse_all(event_5, 0, NETIO_INVALID);
  refuse_all(earlier_run, 0, NETIO_INVALID);
  refuse_all(no_event, 0, NETIO_INVALID);
  CHECK_OK(netio_readout_send(&unit, event_6, data, bytes, 0));
  CHECK_OK(netio_readout_advance(&unit, later_run));
  refuse_all(event_6, 0, NETIO_INVALID);
  CHECK_OK(netio_readout_get_advanced(&unit, &below));
  CHECK(below.run == 2 && below.number == 0);
  CHECK_OK(netio_readout_send(&unit, later_run, data, bytes, 0));
  CHECK(sent() == 3 && completed == 0);
  CHECK_OK(netio_readout_unit_free(&unit));
}

static void what_is_too_big_is_refused(void) {
  struct netio_message message = {NULL, NULL, 0, 0};
  struct netio_segment segments[] = {{"head", 4, NULL}, {data, message_bytes_max, NULL}};
  void* room = NULL;
  // For messages: 4001 bytes are more than 4000, and 3980 bytes are so with a table and a head.
  make_readout(store_bytes, message_bytes_max + 1);
  message = make_message(message_bytes_max + 1, 4);
  CHECK_OK(netio_readout_unit_free(&unit));
  make_readout(store_bytes, message_bytes_max);
  CHECK_FAILS(netio_readout_send(&unit, event_5, data, message_bytes_max + 1, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_send(&unit, event_5, data, SIZE_MAX, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_lend(&unit, event_5, data, message_bytes_max + 1, 9, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_lend(&unit, event_5, data, SIZE_MAX, 9, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_send_message(&unit, event_5, &message, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, 2, 0), NETIO_TOO_BIG);
  segments[1].size = 3980;
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, 2, 0), NETIO_TOO_BIG);
  segments[1].message = &message;
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, 2, 0), NETIO_TOO_BIG);
  check_message(&message, message_bytes_max + 1, 4);
  CHECK_FAILS(netio_readout_allocate(&unit, event_5, 0, message_bytes_max + 1, &message, &room),
              NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_allocate(&unit, event_5, SIZE_MAX, 8, &message, &room), NETIO_TOO_BIG);
  check_message(&message, message_bytes_max + 1, 4);
  CHECK(room == NULL && sent() == 0);
  CHECK_OK(netio_readout_unit_free(&unit));
  // For the store, each fragment counts 64 bytes more.
  make_readout(1000, store_bytes);
  CHECK_FAILS(netio_readout_send(&unit, event_5, data, 937, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_lend(&unit, event_5, data, 937, 9, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_send_message(&unit, event_5, &message, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, 2, 0), NETIO_TOO_BIG);
  check_message(&message, message_bytes_max + 1, 4);
  CHECK(sent() == 0);
  CHECK_OK(netio_readout_send(&unit, event_5, data, 936, 0));
  CHECK_OK(netio_readout_unit_free(&unit));
  // Where there is room, it is sent.
  make_readout(store_bytes, store_bytes);
  CHECK_OK(netio_readout_send_message(&unit, event_5, &message, 0));
  CHECK(message.memory == NULL && sent() == 1 && completed == 0);
  CHECK_OK(netio_readout_unit_free(&unit));
}

static void a_full_store_leaves_what_it_does_not_take(void) {
  make_readout(4000, message_bytes_max);
  for (uint64_t n = 0; n < 3; ++n) {
    const struct netio_event_id event = {1, n};
    CHECK_OK(netio_readout_send(&unit, event, data, bytes, 0));
  }
  {
    struct netio_message message = make_message(bytes, 3);
    struct netio_segment segments[] = {{"head", 4, NULL}, {NULL, 0, &message}};
    CHECK_FAILS(netio_readout_send(&unit, event_5, data, bytes, 0), NETIO_AGAIN);
    CHECK_FAILS(netio_readout_send_message(&unit, event_5, &message, 0), NETIO_AGAIN);
    CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, 2, 0), NETIO_AGAIN);
    CHECK_FAILS(netio_readout_lend(&unit, event_5, data, bytes, 9, 0), NETIO_AGAIN);
    check_message(&message, bytes, 3);
    CHECK(sent() == 3);
    CHECK_OK(netio_release(&message));
  }
  CHECK_OK(netio_readout_send(&unit, event_5, data, 100, 0));  // there is room for that
  CHECK(sent() == 4 && completed == 0);
  CHECK_OK(netio_readout_unit_free(&unit));
}

static void segments_that_make_no_sense_are_refused(void) {
  struct netio_segment segments[NETIO_SEGMENTS_MAX + 1];
  struct netio_message message, empty;
  memset(segments, 0, sizeof segments);
  memset(&empty, 0, sizeof empty);
  make_readout(store_bytes, message_bytes_max);
  message = make_message(bytes, 6);
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, NETIO_SEGMENTS_MAX + 1, 0),
              NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, SIZE_MAX, 0), NETIO_INVALID);
  segments[0].message = segments[2].message = &message;
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, 3, 0), NETIO_INVALID);  // twice
  segments[2].message = &empty;
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, 3, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_message(&unit, event_5, &empty, 0), NETIO_INVALID);
  segments[2].message = NULL;
  segments[2].size = 1;
  CHECK_FAILS(netio_readout_send_segments(&unit, event_5, segments, 3, 0), NETIO_INVALID);
  check_message(&message, bytes, 6);
  CHECK(sent() == 0 && segments[0].message == &message);
  segments[2].data = "x";
  CHECK_OK(netio_readout_send_segments(&unit, event_5, segments, NETIO_SEGMENTS_MAX, 0));
  CHECK(message.memory == NULL && sent() == 1);
  CHECK_OK(netio_readout_send_segments(&unit, event_6, NULL, 0, 0));
  CHECK_OK(netio_readout_unit_free(&unit));
}

static void nothing_is_taken_after_finish(void) {
  struct netio_message message, other = {NULL, NULL, 0, 0};
  struct netio_segment segment = {NULL, 0, &message};
  void* room = NULL;
  make_readout(store_bytes, message_bytes_max);
  message = make_message(bytes, 3);
  CHECK_OK(netio_readout_send(&unit, event_5, data, bytes, 0));
  CHECK_OK(netio_readout_finish(&unit, 60000));
  CHECK_FAILS(netio_readout_send(&unit, event_6, data, bytes, 0), NETIO_CLOSED);
  CHECK_FAILS(netio_readout_send_message(&unit, event_6, &message, 0), NETIO_CLOSED);
  CHECK_FAILS(netio_readout_send_segments(&unit, event_6, &segment, 1, 0), NETIO_CLOSED);
  CHECK_FAILS(netio_readout_lend(&unit, event_6, data, bytes, 9, 0), NETIO_CLOSED);
  CHECK_FAILS(netio_readout_allocate(&unit, event_6, 0, 8, &other, &room), NETIO_CLOSED);
  check_message(&message, bytes, 3);
  CHECK(other.memory == NULL && room == NULL && sent() == 1 && completed == 0);
  CHECK_OK(netio_release(&message));
  CHECK_OK(netio_readout_unit_free(&unit));
}

// --- Events.
static struct netio_event kept;

static void make_builder(const char* address,
                         void (*cb_event)(struct netio_builder_unit* own,
                                          const struct netio_event* event),
                         void (*cb_range)(struct netio_builder_unit* own,
                                          const struct netio_event_range* range)) {
  struct netio_builder_options options;
  netio_builder_defaults(&options);
  options.plan.sources = 1;
  memset(&builder, 0, sizeof builder);
  CHECK_OK(netio_builder_unit_init(&there, &builder, &options));
  builder.cb_event = cb_event;
  builder.cb_range = cb_range;
  CHECK_OK(netio_builder_listen(&builder, address));
}
static void send_one(uint64_t number) {
  const struct netio_event_id event = {1, number};
  CHECK_OK(netio_readout_send(&unit, event, data, bytes, 0));
}

// What a fragment has is the event's: nobody else releases or sends it.
static void refuse_to_own(const struct netio_event_fragment* of) {
  const struct netio_event_id later = {2, 0};
  struct netio_event_fragment fragment = *of;
  struct netio_segment segment = {NULL, 0, &fragment.message};
  const uint64_t before = sent();
  CHECK(fragment.here && fragment.message.size == bytes);
  CHECK_FAILS(netio_release(&fragment.message), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_message(&unit, later, &fragment.message, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_segments(&unit, later, &segment, 1, 0), NETIO_INVALID);
  CHECK(memcmp(fragment.message.data, data, bytes) == 0 && sent() == before);
}
static void refuse_fragments(const struct netio_event* event) {
  struct netio_event_fragment fragment;
  CHECK_FAILS(netio_event_get_fragment(event, 1, &fragment), NETIO_INVALID);
  CHECK_FAILS(netio_event_get_fragment(event, SIZE_MAX, &fragment), NETIO_INVALID);
  CHECK_FAILS(netio_event_get_fragment(event, 0, NULL), NETIO_INVALID);
  CHECK_OK(netio_event_get_fragment(event, 0, &fragment));
  CHECK(netio_event_bytes(event) == bytes);
  refuse_to_own(&fragment);
}
static void look_at_event(struct netio_builder_unit* own, const struct netio_event* event) {
  struct netio_event borrowed = *event;
  struct netio_event other;
  (void)own;
  memset(&other, 0, sizeof other);
  refuse_fragments(event);
  CHECK_FAILS(netio_event_release(&borrowed), NETIO_INVALID);  // it is not kept
  CHECK_FAILS(netio_event_keep(event, NULL), NETIO_INVALID);
  CHECK_OK(netio_event_keep(event, &kept));
  CHECK_FAILS(netio_event_keep(event, &other), NETIO_INVALID);  // once
  CHECK_FAILS(netio_event_keep(&kept, &other), NETIO_INVALID);
  CHECK(other.memory == NULL);
  CHECK_FAILS(netio_event_release(&other), NETIO_INVALID);
  refuse_fragments(event);
  ++looked_at;
}
static void what_is_no_event_of_mine_is_refused(const char* address) {
  struct netio_event_fragment fragment;
  struct netio_event never_kept, other;
  memset(&never_kept, 0, sizeof never_kept);
  memset(&other, 0, sizeof other);
  looked_at = 0;
  make_readout(store_bytes, message_bytes_max);
  make_builder(address, look_at_event, NULL);
  CHECK_OK(netio_readout_connect(&unit, 0, netio_builder_address(&builder)));
  send_one(0);
  TURN_UNTIL(here, there, looked_at == 1);
  CHECK(kept.id.run == 1 && kept.id.number == 0 && kept.sources == 1 && kept.complete);
  refuse_fragments(&kept);
  CHECK_FAILS(netio_event_keep(&kept, &other), NETIO_INVALID);
  CHECK(other.memory == NULL);
  refuse_fragments(&kept);
  CHECK_OK(netio_event_release(&kept));
  CHECK_FAILS(netio_event_release(&kept), NETIO_INVALID);
  CHECK_FAILS(netio_event_get_fragment(&kept, 0, &fragment), NETIO_INVALID);
  CHECK_FAILS(netio_event_keep(&kept, &other), NETIO_INVALID);
  CHECK_FAILS(netio_event_get_fragment(&never_kept, 0, &fragment), NETIO_INVALID);
  CHECK_FAILS(netio_event_keep(&never_kept, &other), NETIO_INVALID);
  CHECK(netio_event_bytes(&kept) == 0 && netio_event_bytes(&never_kept) == 0);
  CHECK_OK(netio_readout_unit_free(&unit));
  CHECK_OK(netio_builder_unit_free(&builder));
}

static void look_at_range(struct netio_builder_unit* own, const struct netio_event_range* range) {
  const struct netio_event_fragment* const fragments = netio_range_fragments(range, 0);
  struct netio_message message = {NULL, NULL, 0, 0};
  (void)own;
  CHECK(netio_range_fragments(range, 1) == NULL && fragments != NULL);
  CHECK(netio_range_fragments(range, SIZE_MAX) == NULL && range->sources == 1);
  refuse_to_own(&fragments[range->count - 1]);
  CHECK_OK(netio_keep(&fragments[0].message, &message));
  CHECK_OK(netio_release(&message));
  CHECK(range->bytes == range->count * bytes);
  looked_at += (int)range->count;
}
static void a_source_that_a_range_does_not_have_is_refused(const char* address) {
  looked_at = 0;
  make_readout(store_bytes, message_bytes_max);
  make_builder(address, NULL, look_at_range);
  CHECK_OK(netio_readout_connect(&unit, 0, netio_builder_address(&builder)));
  for (uint64_t n = 0; n < 5; ++n) send_one(n);
  TURN_UNTIL(here, there, looked_at == 5);
  CHECK_OK(netio_readout_unit_free(&unit));
  CHECK_OK(netio_builder_unit_free(&builder));
}

static int as_event, as_range;
static void count_as_event(struct netio_builder_unit* own, const struct netio_event* event) {
  (void)own, (void)event;
  ++as_event;
}
static void count_as_range(struct netio_builder_unit* own, const struct netio_event_range* range) {
  (void)own;
  as_range += (int)range->count;
}
// A listen that failed has not chosen between single events and ranges.
static void call_backs_are_chosen_by_the_listen_that_succeeds(int ranges_last) {
  struct netio_builder_options options;
  struct netio_builder_books books;
  as_event = as_range = 0;
  netio_builder_defaults(&options);
  options.plan.sources = 1;
  make_readout(store_bytes, message_bytes_max);
  memset(&builder, 0, sizeof builder);
  CHECK_OK(netio_builder_unit_init(&there, &builder, &options));
  builder.cb_event = ranges_last ? count_as_event : NULL;
  builder.cb_range = ranges_last ? NULL : count_as_range;
  CHECK_FAILS(netio_builder_listen(&builder, "tcp://192.0.2.1:80"), NETIO_NOT_THERE_YET);
  builder.cb_event = ranges_last ? NULL : count_as_event;
  builder.cb_range = ranges_last ? count_as_range : NULL;
  CHECK_OK(netio_builder_listen(&builder, "tcp://127.0.0.1:0"));
  CHECK_OK(netio_readout_connect(&unit, 0, netio_builder_address(&builder)));
  for (uint64_t n = 0; n < 5; ++n) send_one(n);
  do {
    CHECK_OK(netio_run_once(&here.evloop, 0));
    CHECK_OK(netio_run_once(&there.evloop, 1000000));
    CHECK_OK(netio_builder_get_books(&builder, &books));
  } while (books.complete != 5);
  CHECK(as_range == (ranges_last ? 5 : 0) && as_event == (ranges_last ? 0 : 5));
  CHECK_OK(netio_readout_unit_free(&unit));
  CHECK_OK(netio_builder_unit_free(&builder));
}

// --- Peers.
static int push_refused, pattern_failed;
static int plan_refused, plan_told;
static int twin_refused, twin_told;

static int has(const char* words, const char* part) { return strstr(words, part) != NULL; }

static void on_event(struct netio_builder_unit* own, const struct netio_event* event) {
  (void)own;
  CHECK(event->complete && event->id.number == (uint64_t)built);
  ++built;
}
static void on_refused(struct netio_builder_unit* own, const struct netio_peer* peer,
                       const char* why) {
  CHECK(own == &builder && strlen(peer->address) > 3 && strlen(why) > 10);
  if (has(why, "push")) {
    ++push_refused;
  } else if (has(why, "source 0 is connected already")) {
    ++twin_refused;
  } else {
    CHECK(has(why, "events of a range") && has(why, "256") && has(why, "16"));
    ++plan_refused;
  }
}
static void on_plan_told(struct netio_readout_unit* own, uint32_t number, const char* why) {
  CHECK(own->data == &plan_told && number == 0);
  CHECK(has(why, "events of a range") && has(why, "256") && has(why, "16"));
  ++plan_told;
}
static void on_twin_told(struct netio_readout_unit* own, uint32_t number, const char* why) {
  CHECK(own->data == &twin_told && number == 0 && has(why, "source 0 is connected already"));
  ++twin_told;
}
static void on_pattern_failed(struct netio_socket* socket, const struct netio_peer* peer,
                              const struct netio_down* down) {
  (void)socket, (void)peer;
  CHECK(down->reason == NETIO_DOWN_PATTERN_MISMATCH && has(down->detail, "builder"));
  ++pattern_failed;
}
static void peers_that_do_not_fit_are_refused_and_disturb_nobody(const char* address) {
  struct netio_readout_unit of_other_plan, twin;
  struct netio_send_socket push;
  struct netio_readout_options options;
  struct netio_builder_books books;
  memset(&of_other_plan, 0, sizeof of_other_plan);
  memset(&twin, 0, sizeof twin);
  memset(&push, 0, sizeof push);
  built = push_refused = pattern_failed = plan_refused = plan_told = twin_refused = twin_told = 0;
  make_readout(1U << 20U, message_bytes_max);
  make_builder(address, on_event, NULL);
  builder.cb_refused = on_refused;
  CHECK_OK(netio_readout_connect(&unit, 0, netio_builder_address(&builder)));
  for (uint64_t n = 0; n < 10; ++n) send_one(n);
  TURN_UNTIL(here, there, built == 10);
  CHECK_OK(netio_send_socket_init(&here, &push, NULL));
  push.socket.cb_connection_failed = on_pattern_failed;
  CHECK_OK(netio_connect(&push.socket, netio_builder_address(&builder)));
  netio_readout_defaults(&options);
  options.plan.sources = 1;
  CHECK_OK(netio_readout_unit_init(&here, &twin, &options));
  twin.cb_refused = on_twin_told;
  twin.data = &twin_told;
  CHECK_OK(netio_readout_connect(&twin, 0, netio_builder_address(&builder)));
  options.plan.range_events = 16;
  CHECK_OK(netio_readout_unit_init(&here, &of_other_plan, &options));
  of_other_plan.cb_refused = on_plan_told;
  of_other_plan.data = &plan_told;
  CHECK_OK(netio_readout_connect(&of_other_plan, 0, netio_builder_address(&builder)));
  CHECK_OK(netio_readout_send(&of_other_plan, event_5, data, bytes, 0));
  TURN_UNTIL(
      here, there,
      push_refused && pattern_failed && plan_refused && plan_told && twin_refused && twin_told);
  for (uint64_t n = 10; n < 20; ++n) send_one(n);
  TURN_UNTIL(here, there, built == 20);
  CHECK(netio_readout_builders_connected(&unit) == 1);
  CHECK(netio_readout_builders_connected(&of_other_plan) == 0);
  CHECK_OK(netio_builder_get_books(&builder, &books));
  CHECK(books.complete == 20 && books.incomplete == 0 && books.again == 0);
  CHECK(books.source_count == 1 && books.sources[0].received == 20 && books.sources[0].connected);
  CHECK_OK(netio_readout_unit_free(&of_other_plan));
  CHECK_OK(netio_readout_unit_free(&twin));
  CHECK_OK(netio_socket_free(&push.socket));
  CHECK_OK(netio_readout_unit_free(&unit));
  CHECK_OK(netio_builder_unit_free(&builder));
}

int main(void) {
  static const char* const addresses[] = {"tcp://127.0.0.1:0", "shm://*",
                                          "inproc://c_api_units_refusals"};
  begin_tests();
  for (size_t i = 0; i < sizeof data; ++i) data[i] = (char)(i * 7 + i / 251);
  make_context(&here);
  make_context(&there);
  a_status_that_is_unknown_is_refused();
  events_that_do_not_ascend_are_refused();
  what_is_too_big_is_refused();
  a_full_store_leaves_what_it_does_not_take();
  segments_that_make_no_sense_are_refused();
  nothing_is_taken_after_finish();
  for (size_t i = 0; i < 3; ++i) {
    what_is_no_event_of_mine_is_refused(addresses[i]);
    a_source_that_a_range_does_not_have_is_refused(addresses[i]);
    peers_that_do_not_fit_are_refused_and_disturb_nobody(addresses[i]);
  }
  call_backs_are_chosen_by_the_listen_that_succeeds(0);
  call_backs_are_chosen_by_the_listen_that_succeeds(1);
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
  return 0;
}
