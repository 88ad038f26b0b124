// Read-out units and builder units: fragments of each kind, sent in each way, arrive byte for byte
// in whole events, and what a full store does.
#include "units.h"

enum { events_count = 200, keys_most = 64 };

static uint64_t built[builders_most], next_number[builders_most], run_bytes[builders_most];
static int run_ends[builders_most], finished[units_count], closed[builders_most];
static struct netio_event_id told[units_count];
static int settled_calls[units_count];
static uint64_t said_none[units_count];  // events, at the ends of runs

static void reset_counts(void) {
  memset(built, 0, sizeof built);
  memset(next_number, 0, sizeof next_number);
  memset(run_bytes, 0, sizeof run_bytes);
  memset(run_ends, 0, sizeof run_ends);
  memset(finished, 0, sizeof finished);
  memset(closed, 0, sizeof closed);
  memset(told, 0, sizeof told);
  memset(settled_calls, 0, sizeof settled_calls);
  memset(said_none, 0, sizeof said_none);
}
static void on_finished(struct netio_readout_unit* unit) { ++finished[source_of(unit)]; }
static void on_closed(struct netio_builder_unit* unit) { ++closed[number_of(unit)]; }
static void on_settled(struct netio_readout_unit* unit, struct netio_event_id below) {
  struct netio_event_id settled;
  const uint32_t source = source_of(unit);
  CHECK(is_below(told[source], below));
  CHECK_OK(netio_readout_get_settled(unit, &settled));
  CHECK(is_same(settled, below));
  told[source] = below;
  ++settled_calls[source];
}

// --- Events whole. Source 1 has nothing for some events. Some fragments have no bytes.
static int has_fragment(size_t source, uint64_t number) { return source == 0 || number % 7 != 3; }
static size_t size_of(size_t source, uint64_t number) {
  static const size_t sizes[] = {0, 1, 40, 399, 3000, 0, 20000, 7};
  if (number == 77) return large_bytes;
  if (number % 50 == 5) return 100001 + source;
  return sizes[(number + 3 * source) % 8];
}
static int status_of(size_t source, uint64_t number) { return (int)((number + source) % 3); }

static void on_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  const uint32_t builder = number_of(unit);
  const uint64_t number = event->id.number;
  struct netio_event_fragment fragment;
  struct netio_message message;
  uint64_t bytes = 0;
  CHECK(unit->data == &built[builder]);
  CHECK(event->id.run == run && number >= next_number[builder] && builder_of(number) == builder);
  CHECK(event->sources == units_count && event->complete == 1 && event->again == 0);
  for (size_t source = 0; source < units_count; ++source) {
    fragment = fragment_of(event, source);
    CHECK(fragment.missing == NETIO_MISSING_NO);
    CHECK(fragment.here == has_fragment(source, number));
    if (!fragment.here) {
      CHECK_FAILS(netio_keep(&fragment.message, &message), NETIO_INVALID);
      continue;
    }
    CHECK_OK(netio_keep(&fragment.message, &message));  // also if it has no bytes
    CHECK(has_bytes(&message, source, number, size_of(source, number)));
    CHECK_OK(netio_release(&message));
    CHECK(fragment.status == status_of(source, number));
    CHECK(has_bytes(&fragment.message, source, number, size_of(source, number)));
    bytes += fragment.message.size;
  }
  CHECK(netio_event_bytes(event) == bytes);
  CHECK_FAILS(netio_event_get_fragment(event, units_count, &fragment), NETIO_INVALID);
  CHECK_FAILS(netio_event_get_fragment(event, 0, NULL), NETIO_INVALID);
  run_bytes[builder] += bytes;
  next_number[builder] = number + 1;
  ++built[builder];
}
static void on_run_end(struct netio_builder_unit* unit, const struct netio_run_books* books) {
  const uint32_t builder = number_of(unit);
  CHECK(books->run == run && books->complete == built[builder] && books->incomplete == 0);
  CHECK(books->again == 0 && books->bytes == run_bytes[builder] && books->sources == units_count);
  for (size_t source = 0; source < units_count; ++source) {
    for (size_t why = 1; why < 16; ++why) CHECK(books->missing_by[source].by[why] == 0);
    said_none[source] += books->missing_by[source].by[NETIO_MISSING_NO];
  }
  ++run_ends[builder];
}
static void check_books_of_whole_events(uint64_t without_source_1) {
  uint64_t received[units_count] = {0, 0}, none[units_count] = {0, 0};
  for (uint32_t number = 0; number < builders_count; ++number) {
    const struct netio_builder_books books = builder_books_of(number);
    CHECK(books.complete == built[number] && books.bytes == run_bytes[number]);
    CHECK(books.incomplete + books.again + books.open + books.open_bytes + books.kept_bytes == 0);
    CHECK(books.open_bytes_max != 0 && books.kept_bytes_max == 0);
    for (size_t source = 0; source < units_count; ++source) {
      CHECK(books.sources[source].received == books.sources[source].built);
      received[source] += books.sources[source].received;
      none[source] += books.sources[source].missing_by.by[NETIO_MISSING_NO];
    }
  }
  for (uint32_t source = 0; source < units_count; ++source) {
    CHECK(none[source] == (source == 1 ? without_source_1 : 0));
    CHECK(said_none[source] == none[source]);
  }
  for (uint32_t source = 0; source < units_count; ++source) {
    const struct netio_readout_books books = books_of(source);
    CHECK(books.sent == events_count - (source == 1 ? without_source_1 : 0));
    CHECK(books.settled == books.sent && books.built == books.sent && books.held == 0);
    CHECK(books.incomplete + books.dropped + books.late + books.resent == 0);
    CHECK(received[source] == books.sent);
  }
}

static void events_are_built_whole_of_what_was_sent(const char* over) {
  uint64_t without_source_1 = 0;
  begin(over, 2);
  reset_counts();
  for (uint32_t number = 0; number < 2; ++number) {
    make_builder(number);
    builders[number].cb_event = on_event;
    builders[number].cb_run_end = on_run_end;
    builders[number].cb_closed = on_closed;
    builders[number].data = &built[number];
    listen_at(number);
    make_unit(number);
    units[number].cb_settled = on_settled;
    units[number].cb_finished = on_finished;
  }
  connect_all();
  for (uint64_t number = 0; number < events_count; ++number) {
    for (uint32_t source = 0; source < units_count; ++source) {
      if (!has_fragment(source, number)) {
        CHECK_OK(netio_readout_advance(&units[source], event_of(number + 1)));
        ++without_source_1;
        continue;
      }
      SEND_SOON(netio_readout_send(&units[source], event_of(number), bytes_of(source, number),
                                   size_of(source, number), status_of(source, number)));
    }
    if (number == 100) CHECK_OK(netio_readout_flush(&units[0]));
  }
  CHECK_FAILS(netio_readout_send(&units[0], event_of(events_count - 1), "x", 1, 0), NETIO_INVALID);
  end_the_run();
  for (size_t source = 0; source < units_count; ++source) {
    CHECK_OK(netio_readout_finish(&units[source], 60000));
    CHECK_FAILS(netio_readout_send(&units[source], event_of(1000), "late", 4, 0), NETIO_CLOSED);
  }
  TURN_UNTIL(here, there, finished[0] == 1 && finished[1] == 1);
  CHECK(built[0] + built[1] == events_count && run_ends[0] == 1 && run_ends[1] == 1);
  for (size_t source = 0; source < units_count; ++source) {
    CHECK(is_same(told[source], netio_end_of_run(run)) && settled_calls[source] >= 1);
  }
  check_books_of_whole_events(without_source_1);
  CHECK_OK(netio_builder_close(&builders[0], 60000));
  CHECK_OK(netio_builder_close(&builders[1], 60000));
  TURN_UNTIL(here, there, closed[0] == 1 && closed[1] == 1);
  TURN_A_WHILE(here, there);
  CHECK(finished[0] == 1 && finished[1] == 1 && closed[0] == 1 && closed[1] == 1);
  end();
}

// --- Ways to send.
enum way { plain, allocated, kept, kept_segments, copied, in_front, no_room_in_front, lent, ways };
enum { head_bytes = 13, sizes_count = 3 };
static const size_t body_sizes[sizes_count] = {100, 70001, large_bytes};
static struct netio_listen_socket inbox;
static struct netio_send_socket outbox;
static struct netio_message received_message;
static int completed[units_count][keys_most];
static uint64_t completed_count[units_count];
// One message of each source is kept: of plain bytes, and of segments.
static struct netio_message kept_fragments[units_count];
static uint64_t kept_numbers[units_count];

static enum way way_of(size_t source, uint64_t number) {
  return (enum way)((number + source * 3) % ways);
}
static int is_segmented(enum way way) {
  return way == kept_segments || way == copied || way == in_front || way == no_room_in_front;
}
static size_t body_bytes_of(uint64_t number) { return body_sizes[number / ways % sizes_count]; }
// The head of a fragment has the bytes of another event.
static uint64_t head_of(uint64_t number) { return number + 500; }

static void check_way(const struct netio_message* message, size_t source, uint64_t number) {
  static const char zeros[8];
  struct netio_segment got[4];
  const size_t bytes = body_bytes_of(number);
  memset(got, 0xff, sizeof got);
  if (!is_segmented(way_of(source, number))) {
    CHECK(netio_segments(message, got, 4) == 1);
    CHECK(got[0].data == message->data && got[0].size == bytes && got[0].message == NULL);
    CHECK(has_bytes(message, source, number, bytes));
    return;
  }
  CHECK(netio_segments(message, got, 4) == 3);
  CHECK(message->size == 16 + bytes && got[0].data == message->data);
  CHECK(got[0].size == head_bytes && got[1].size == 0 && got[2].size == bytes);
  CHECK(memcmp(got[0].data, bytes_of(source, head_of(number)), head_bytes) == 0);
  CHECK(memcmp((const char*)got[0].data + head_bytes, zeros, 16 - head_bytes) == 0);
  CHECK(got[2].data == (const char*)message->data + 16 && (uintptr_t)got[2].data % 8 == 0);
  CHECK(memcmp(got[2].data, bytes_of(source, number), bytes) == 0);
}
static void on_event_of_each_way(struct netio_builder_unit* unit, const struct netio_event* event) {
  const uint64_t number = event->id.number;
  uint64_t bytes = 0;
  CHECK(unit == &builders[0] && number == next_number[0] && event->complete);
  for (size_t source = 0; source < units_count; ++source) {
    const struct netio_event_fragment fragment = fragment_of(event, source);
    CHECK(fragment.here && fragment.status == status_of(source, number));
    check_way(&fragment.message, source, number);
    bytes += fragment.message.size + (is_segmented(way_of(source, number)) ? 4 * 8 : 0);
    if (number < 11) continue;
    if (is_segmented(way_of(source, number)) != (source == 1)) continue;
    if (kept_fragments[source].memory != NULL) continue;
    CHECK_OK(netio_keep(&fragment.message, &kept_fragments[source]));
    kept_numbers[source] = number;
  }
  CHECK(netio_event_bytes(event) == bytes);
  ++next_number[0];
}
static void on_message(struct netio_socket* socket, const struct netio_message* message) {
  CHECK(socket == &inbox.socket && received_message.memory == NULL);
  CHECK_OK(netio_keep(message, &received_message));
}
static void open_boxes(void) {
  memset(&inbox, 0, sizeof inbox);
  memset(&outbox, 0, sizeof outbox);
  CHECK_OK(netio_listen_socket_init(&here, &inbox, NULL));
  inbox.socket.cb_msg_received = on_message;
  CHECK_OK(netio_listen(&inbox.socket, "tcp://127.0.0.1:0"));
  CHECK_OK(netio_send_socket_init(&there, &outbox, NULL));
  CHECK_OK(netio_connect(&outbox.socket, netio_address(&inbox.socket)));
  TURN_UNTIL(here, there, netio_connections(&outbox.socket) == 1);
}
// Segments as they are sent, the last one of `bytes`, or a message.
static void fill_segments(struct netio_segment segments[3], size_t source, uint64_t number,
                          struct netio_message* message) {
  memset(segments, 0, 3 * sizeof *segments);
  segments[0].data = bytes_of(source, head_of(number));
  segments[0].size = head_bytes;
  segments[2].data = bytes_of(source, number);
  segments[2].size = body_bytes_of(number);
  segments[2].message = message;
}
// The message comes over a connection of its own, and is kept.
static void send_kept(uint32_t source, uint64_t number) {
  struct netio_segment segments[3];
  fill_segments(segments, source, number, NULL);
  CHECK(received_message.memory == NULL);
  SEND_SOON(way_of(source, number) == kept
                ? netio_send_tagged(&outbox.socket, 99, segments[2].data, segments[2].size)
                : netio_send_segments(&outbox.socket, 99, segments, 3));
  TURN_UNTIL(here, there, received_message.memory != NULL);
  SEND_SOON(netio_readout_send_message(&units[source], event_of(number), &received_message,
                                       status_of(source, number)));
  CHECK(received_message.memory == NULL);
}
static void send_allocated(uint32_t source, uint64_t number) {
  const enum way way = way_of(source, number);
  const size_t bytes = body_bytes_of(number);
  const int status = status_of(source, number);
  struct netio_segment segments[3];
  struct netio_message message = {NULL, NULL, 0, 0};
  void* room = NULL;
  SEND_SOON(netio_readout_allocate(&units[source], event_of(number), way == in_front ? 16 : 0,
                                   bytes, &message, &room));
  CHECK(message.memory != NULL && message.size == bytes && message.data == room);
  memcpy(room, bytes_of(source, number), bytes);
  if (way == allocated) {
    SEND_SOON(netio_readout_send_message(&units[source], event_of(number), &message, status));
  } else {
    fill_segments(segments, source, number, &message);
    CHECK_FAILS(netio_readout_send_segments(&units[source], event_of(number), segments,
                                            NETIO_SEGMENTS_MAX + 1, status),
                NETIO_INVALID);
    SEND_SOON(netio_readout_send_segments(&units[source], event_of(number), segments, 3, status));
  }
  CHECK(message.memory == NULL);
}
static void send_in_its_way(uint32_t source, uint64_t number) {
  struct netio_segment segments[3];
  const size_t bytes = body_bytes_of(number);
  const int status = status_of(source, number);
  switch (way_of(source, number)) {
    case plain:
      SEND_SOON(netio_readout_send(&units[source], event_of(number), bytes_of(source, number),
                                   bytes, status));
      break;
    case lent:
      SEND_SOON(netio_readout_lend(&units[source], event_of(number), bytes_of(source, number),
                                   bytes, number, status));
      break;
    case copied:
      fill_segments(segments, source, number, NULL);
      SEND_SOON(netio_readout_send_segments(&units[source], event_of(number), segments, 3, status));
      break;
    case kept:
    case kept_segments:
      send_kept(source, number);
      break;
    default:
      send_allocated(source, number);
      break;
  }
}
// A loan ends no earlier than its fragment is settled, dropped or late.
static void on_completed(struct netio_readout_unit* unit, uint64_t key) {
  const uint32_t source = source_of(unit);
  const struct netio_readout_books books = books_of(source);
  CHECK(key < keys_most && completed[source][key] == 0);
  ++completed[source][key];
  ++completed_count[source];
  CHECK(completed_count[source] <= books.sent - books.held);
}

static void each_way_of_sending_arrives_as_it_was_sent(const char* over) {
  enum { events = ways * sizes_count };
  begin(over, 1);
  reset_counts();
  memset(completed, 0, sizeof completed);
  memset(completed_count, 0, sizeof completed_count);
  memset(kept_fragments, 0, sizeof kept_fragments);
  make_builder(0);
  builders[0].cb_event = on_event_of_each_way;
  listen_at(0);
  for (uint32_t source = 0; source < units_count; ++source) {
    make_unit(source);
    units[source].cb_send_completed = on_completed;
    units[source].cb_finished = on_finished;
  }
  connect_all();
  open_boxes();
  for (uint64_t number = 0; number < events; ++number) {
    send_in_its_way(0, number);
    send_in_its_way(1, number);
  }
  end_the_run();
  CHECK_OK(netio_readout_finish(&units[0], 60000));
  CHECK_OK(netio_readout_finish(&units[1], 60000));
  TURN_UNTIL(here, there, finished[0] == 1 && finished[1] == 1);
  CHECK(next_number[0] == events && held() == 0);
  for (size_t source = 0; source < units_count; ++source) {
    for (uint64_t number = 0; number < events; ++number) {
      CHECK(completed[source][number] == (way_of(source, number) == lent));
    }
  }
  CHECK_OK(netio_socket_free(&outbox.socket));
  CHECK_OK(netio_socket_free(&inbox.socket));
  end();
  for (size_t source = 0; source < units_count; ++source) {  // they outlive their context
    CHECK(kept_fragments[source].memory != NULL);
    check_way(&kept_fragments[source], source, kept_numbers[source]);
    CHECK_FAILS(netio_keep(&kept_fragments[source], &received_message), NETIO_INVALID);
    CHECK_OK(netio_release(&kept_fragments[source]));
  }
}

// What is refused has changed nothing, and messages are the caller's still.
static void a_message_that_is_not_taken_is_left_as_it_is(void) {
  struct netio_readout_options options;
  struct netio_segment segments[2] = {{"head", 4, NULL}, {NULL, 0, NULL}};
  struct netio_message message, none;
  void* room = NULL;
  memset(&none, 0, sizeof none);
  begin("tcp", 1);
  unit_options(&options, 0);
  options.store_bytes_max = 1000;
  CHECK_OK(netio_readout_unit_init(&here, &units[0], &options));
  CHECK_OK(netio_readout_send(&units[0], event_of(5), pattern, 700, NETIO_FRAGMENT_GOOD));
  CHECK(netio_readout_fill(&units[0]) > 0.76 && netio_readout_fill(&units[0]) < 0.77);
  CHECK_OK(netio_readout_allocate(&units[0], event_of(6), 8, 500, &message, &room));
  memcpy(room, pattern, 500);
  segments[1].message = &message;
  CHECK(netio_readout_send_message(&units[0], event_of(6), &message, 0) == NETIO_AGAIN);
  CHECK(netio_readout_send_segments(&units[0], event_of(6), segments, 2, 0) == NETIO_AGAIN);
  CHECK_FAILS(netio_readout_send_message(&units[0], event_of(5), &message, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_segments(&units[0], event_of(4), segments, 2, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_message(&units[0], event_of(6), &none, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send_message(&units[0], event_of(6), NULL, 0), NETIO_INVALID);
  CHECK_FAILS(netio_readout_send(&units[0], event_of(6), pattern, 937, 0), NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_lend(&units[0], event_of(6), pattern, 937, 1, 0), NETIO_TOO_BIG);
  CHECK(netio_readout_lend(&units[0], event_of(6), pattern, 500, 1, 0) == NETIO_AGAIN);
  CHECK_FAILS(netio_readout_allocate(&units[0], event_of(6), SIZE_MAX, 8, &none, &room),
              NETIO_TOO_BIG);
  CHECK_FAILS(netio_readout_allocate(&units[0], event_of(6), 0, 8, NULL, &room), NETIO_INVALID);
  segments[0].message = &message;
  CHECK_FAILS(netio_readout_send_segments(&units[0], event_of(6), segments, 2, 0), NETIO_INVALID);
  CHECK(message.memory != NULL && message.size == 500 && memcmp(message.data, pattern, 500) == 0);
  CHECK_OK(netio_release(&message));
  CHECK(books_of(0).sent == 1 && books_of(0).held_bytes == 764);
  end();
}

// --- A store that is full.
enum { full_events = 300, full_bytes = 1000 };
static uint64_t next_to_send[units_count], refusals[units_count], rooms[units_count];

static void send_on(struct netio_readout_unit* unit) {
  const uint32_t source = source_of(unit);
  while (next_to_send[source] < full_events) {
    const uint64_t number = next_to_send[source];
    const int result = netio_readout_send(unit, event_of(number), bytes_of(source, number),
                                          full_bytes, NETIO_FRAGMENT_GOOD);
    if (result == NETIO_AGAIN) {
      ++refusals[source];
      return;
    }
    CHECK_OK(result);
    ++next_to_send[source];
  }
}
static void on_room(struct netio_readout_unit* unit) {
  const uint32_t source = source_of(unit);
  CHECK(++rooms[source] == refusals[source]);
  CHECK(netio_readout_fill(unit) <= 0.875);
  send_on(unit);
}
static void on_plain_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  const uint64_t number = event->id.number;
  CHECK(unit == &builders[0] && number == next_number[0] && event->complete);
  for (size_t source = 0; source < units_count; ++source) {
    const struct netio_event_fragment fragment = fragment_of(event, source);
    CHECK(has_bytes(&fragment.message, source, number, full_bytes));
  }
  ++next_number[0];
}

static void a_full_store_says_again_and_then_that_there_is_room(const char* over) {
  struct netio_readout_options options;
  begin(over, 1);
  reset_counts();
  memset(next_to_send, 0, sizeof next_to_send);
  memset(refusals, 0, sizeof refusals);
  memset(rooms, 0, sizeof rooms);
  make_builder(0);
  builders[0].cb_event = on_plain_event;
  listen_at(0);
  for (uint32_t source = 0; source < units_count; ++source) {
    unit_options(&options, source);
    options.store_bytes_max = 20 * (full_bytes + 64);
    CHECK_OK(netio_readout_unit_init(&here, &units[source], &options));
    units[source].cb_buffer_available = on_room;
    units[source].cb_finished = on_finished;
    send_on(&units[source]);
    CHECK(next_to_send[source] == 20 && refusals[source] == 1);
    CHECK(netio_readout_fill(&units[source]) == 1.0);
  }
  TURN_A_WHILE(here, there);
  CHECK(rooms[0] + rooms[1] == 0);
  connect_all();
  TURN_UNTIL(here, there, next_to_send[0] == full_events && next_to_send[1] == full_events);
  CHECK(rooms[0] == refusals[0] && rooms[1] == refusals[1] && rooms[0] > 10);
  end_the_run();
  CHECK_OK(netio_readout_finish(&units[0], 60000));
  CHECK_OK(netio_readout_finish(&units[1], 60000));
  TURN_UNTIL(here, there, finished[0] == 1 && finished[1] == 1);
  CHECK(next_number[0] == full_events && held() == 0);
  CHECK(books_of(0).built == full_events && books_of(1).built == full_events);
  CHECK(rooms[0] == refusals[0] && rooms[1] == refusals[1]);
  end();
}

// Unit 0 lends what does not fit, and is given it back; the builder is told.
static uint64_t dropped_events;
static void on_event_without(struct netio_builder_unit* unit, const struct netio_event* event) {
  const uint64_t number = event->id.number;
  const struct netio_event_fragment of_0 = fragment_of(event, 0), of_1 = fragment_of(event, 1);
  CHECK(number == next_number[0] && unit == &builders[0]);
  CHECK(of_0.here == (number < 20) && event->complete == of_0.here);
  CHECK(of_0.missing == (of_0.here ? NETIO_MISSING_NO : NETIO_MISSING_DROPPED));
  CHECK(!of_0.here || has_bytes(&of_0.message, 0, number, full_bytes));
  CHECK(of_1.here && has_bytes(&of_1.message, 1, number, full_bytes));
  dropped_events += of_0.missing == NETIO_MISSING_DROPPED;
  ++next_number[0];
}
static void on_end_of_dropped(struct netio_builder_unit* unit,
                              const struct netio_run_books* books) {
  CHECK(books->complete == 20 && books->incomplete == 30 && books->again == 0);
  CHECK(books->bytes == 70 * full_bytes && books->run == run);
  CHECK(books->missing_by[0].by[NETIO_MISSING_DROPPED] == 30);
  CHECK(books->missing_by[0].by[NETIO_MISSING_LATE] == 0);
  CHECK(books->missing_by[1].by[NETIO_MISSING_DROPPED] == 0);
  ++run_ends[number_of(unit)];
}

static void a_unit_that_drops_says_so_and_counts_it(const char* over) {
  struct netio_readout_options options;
  struct netio_readout_books books;
  begin(over, 1);
  reset_counts();
  dropped_events = 0;
  memset(completed, 0, sizeof completed);
  memset(completed_count, 0, sizeof completed_count);
  make_builder(0);
  builders[0].cb_event = on_event_without;
  builders[0].cb_run_end = on_end_of_dropped;
  listen_at(0);
  unit_options(&options, 0);
  options.store_bytes_max = 20 * (full_bytes + 64);
  options.when_full = NETIO_WHEN_FULL_DROP;
  CHECK_OK(netio_readout_unit_init(&here, &units[0], &options));
  units[0].cb_send_completed = on_completed;
  make_unit(1);
  for (uint64_t number = 0; number < 50; ++number) {
    CHECK_OK(netio_readout_lend(&units[0], event_of(number), bytes_of(0, number), full_bytes,
                                number, NETIO_FRAGMENT_GOOD));
    send_plain(1, number, full_bytes);
  }
  books = books_of(0);
  CHECK(books.sent == 50 && books.dropped == 30 && books.held == 20);
  TURN_UNTIL(here, there, completed_count[0] == 30);
  for (uint64_t key = 0; key < 50; ++key) CHECK(completed[0][key] == (key >= 20));
  connect_all();
  end_the_run();
  TURN_UNTIL(here, there, held() == 0 && completed_count[0] == 50);
  CHECK(next_number[0] == 50 && dropped_events == 30 && run_ends[0] == 1);
  for (uint64_t key = 0; key < 50; ++key) CHECK(completed[0][key] == 1);
  books = books_of(0);
  CHECK(books.settled == 20 && books.built == 20 && books.dropped == 30 && books.late == 0);
  CHECK(books_of(1).built == 20 && books_of(1).incomplete == 30 && books_of(1).settled == 50);
  {
    const struct netio_builder_books all = builder_books_of(0);
    CHECK(all.complete == 20 && all.incomplete == 30 && all.sources[0].received == 20);
    CHECK(all.sources[0].missing_by.by[NETIO_MISSING_DROPPED] == 30);
    CHECK(all.sources[1].built == 20 && all.sources[1].incomplete == 30);
  }
  end();
}

// --- As many segments as there may be, in front of a body that is not copied: in one process a
// builder reads memory of the unit.
static void on_event_with_body(struct netio_builder_unit* unit, const struct netio_event* event) {
  const struct netio_event_fragment fragment = fragment_of(event, 0);
  struct netio_segment got[NETIO_SEGMENTS_MAX];
  CHECK(unit == &builders[0]);
  CHECK(netio_segments(&fragment.message, got, NETIO_SEGMENTS_MAX) == NETIO_SEGMENTS_MAX);
  for (size_t i = 0; i + 1 < NETIO_SEGMENTS_MAX; ++i) {
    CHECK(got[i].size == 8 && memcmp(got[i].data, bytes_of(0, i), 8) == 0);
  }
  CHECK(got[NETIO_SEGMENTS_MAX - 1].size == large_bytes);
  CHECK(memcmp(got[NETIO_SEGMENTS_MAX - 1].data, bytes_of(0, event->id.number), large_bytes) == 0);
  ++next_number[0];
}
static void a_body_with_room_for_its_heads_is_not_copied(void) {
  enum { heads = NETIO_SEGMENTS_MAX - 1 };
  struct netio_segment segments[NETIO_SEGMENTS_MAX];
  struct netio_message message = {NULL, NULL, 0, 0};
  struct netio_counters counters;
  void* room = NULL;
  begin("inproc", 1);
  next_number[0] = 0;
  make_builder(0);
  builders[0].cb_event = on_event_with_body;
  listen_at(0);
  for (uint32_t source = 0; source < units_count; ++source) make_unit(source);
  connect_all();
  CHECK_OK(netio_readout_advance(&units[1], netio_end_of_run(run)));
  for (uint64_t number = 0; number < 3; ++number) {
    memset(segments, 0, sizeof segments);
    SEND_SOON(netio_readout_allocate(&units[0], event_of(number), heads * 8, large_bytes, &message,
                                     &room));
    memcpy(room, bytes_of(0, number), large_bytes);
    for (size_t i = 0; i < heads; ++i) {
      segments[i].data = bytes_of(0, i);
      segments[i].size = 8;
    }
    segments[heads].message = &message;
    SEND_SOON(netio_readout_send_segments(&units[0], event_of(number), segments, NETIO_SEGMENTS_MAX,
                                          NETIO_FRAGMENT_GOOD));
    TURN_UNTIL(here, there, next_number[0] == number + 1);
  }
  CHECK_OK(netio_readout_get_counters(&units[0], 0, &counters));
  CHECK(counters.bytes_sent > 3 * large_bytes && counters.bytes_copied < large_bytes);
  end();
}

int main(void) {
  static const char* const wires[] = {"tcp", "shm", "inproc"};
  begin_tests();
  fill_pattern();
  a_message_that_is_not_taken_is_left_as_it_is();
  a_body_with_room_for_its_heads_is_not_copied();
  for (size_t i = 0; i < 3; ++i) {
    events_are_built_whole_of_what_was_sent(wires[i]);
    each_way_of_sending_arrives_as_it_was_sent(wires[i]);
    a_full_store_says_again_and_then_that_there_is_room(wires[i]);
    a_unit_that_drops_says_so_and_counts_it(wires[i]);
  }
  return 0;
}
