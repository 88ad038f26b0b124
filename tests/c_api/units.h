// What the C tests of event building share: two read-out units in one context, up to two builder
// units in another one, both contexts on this thread, and the bytes of the fragments.
#ifndef UNITS_H
#define UNITS_H

#include "check.h"

enum { units_count = 2, builders_most = 2, range_events = 16, run = 3, large_bytes = 1 << 20 };

static struct netio_context here, there;  // of the units, and of the builders
static struct netio_readout_unit units[units_count];
static struct netio_builder_unit builders[builders_most];
static uint32_t builders_count;
static const char* wire;
static unsigned char pattern[large_bytes + (64 << 10)];

static inline struct netio_event_id event_of(uint64_t number) {
  struct netio_event_id id = {run, 0};
  id.number = number;
  return id;
}
static inline int is_below(struct netio_event_id one, struct netio_event_id other) {
  return one.run != other.run ? one.run < other.run : one.number < other.number;
}
static inline int is_same(struct netio_event_id one, struct netio_event_id other) {
  return one.run == other.run && one.number == other.number;
}
static inline uint32_t builder_of(uint64_t number) {
  return (uint32_t)(number / range_events % builders_count);
}
static inline void fill_pattern(void) {
  for (size_t i = 0; i < sizeof pattern; ++i) {
    pattern[i] = (unsigned char)((uint32_t)i * 2654435761U >> 24U);
  }
}
// The bytes of this fragment, up to large_bytes of them. Each fragment has others.
static inline const unsigned char* bytes_of(size_t source, uint64_t number) {
  return pattern + (number * units_count + source) * 37 % (64U << 10U);
}
static inline uint32_t number_of(const struct netio_builder_unit* builder) {
  CHECK(builder == &builders[0] || builder == &builders[1]);
  return builder == &builders[0] ? 0 : 1;
}
static inline uint32_t source_of(const struct netio_readout_unit* unit) {
  CHECK(unit == &units[0] || unit == &units[1]);
  return unit == &units[0] ? 0 : 1;
}

// Two contexts. There is no unit and no builder yet.
static inline void begin(const char* over, uint32_t builders_here) {
  struct netio_context_options options;
  netio_context_defaults(&options);
  options.send_pool_bytes = options.receive_pool_bytes = 8U << 20U;
  options.large_bytes_max = 256U << 20U;
  wire = over;
  builders_count = builders_here;
  memset(units, 0, sizeof units);
  memset(builders, 0, sizeof builders);
  memset(&here, 0, sizeof here);
  memset(&there, 0, sizeof there);
  CHECK_OK(netio_init_with(&here, &options));
  CHECK_OK(netio_init_with(&there, &options));
}
static inline int is_unit(const struct netio_readout_unit* unit) {
  struct netio_readout_books books;
  return netio_readout_get_books(unit, &books) == NETIO_OK;
}
static inline int is_builder(struct netio_builder_unit* builder) {
  struct netio_builder_books books;
  return netio_builder_get_books(builder, &books) == NETIO_OK;
}
// Frees those that were made.
static inline void free_units(void) {
  for (size_t source = 0; source < units_count; ++source) {
    if (is_unit(&units[source])) CHECK_OK(netio_readout_unit_free(&units[source]));
  }
}
static inline void free_builders(void) {
  for (size_t number = 0; number < builders_most; ++number) {
    if (is_builder(&builders[number])) CHECK_OK(netio_builder_unit_free(&builders[number]));
  }
}
static inline void end(void) {
  free_units();
  free_builders();
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

static inline void set_plan(struct netio_build_plan* plan) {
  plan->sources = units_count;
  plan->builders = builders_count;
  plan->range_events = range_events;
}
// With a deadline that no test waits for.
static inline void builder_options(struct netio_builder_options* options, uint32_t number) {
  netio_builder_defaults(options);
  set_plan(&options->plan);
  options->builder = number;
  options->deadline_ns = options->meet_within_ns = 300000000000U;
}
// The unit tries again at once when it does not reach its builder.
static inline void unit_options(struct netio_readout_options* options, uint32_t source) {
  static struct netio_socket_options hasty;
  netio_socket_defaults(&hasty);
  hasty.reconnect_after_min_ns = 1000000;
  hasty.reconnect_after_max_ns = 20000000;
  netio_readout_defaults(options);
  set_plan(&options->plan);
  options->source = source;
  options->socket = &hasty;
}
static inline void make_builder(uint32_t number) {
  struct netio_builder_options options;
  builder_options(&options, number);
  CHECK_OK(netio_builder_unit_init(&there, &builders[number], &options));
}
static inline void make_unit(uint32_t source) {
  struct netio_readout_options options;
  unit_options(&options, source);
  CHECK_OK(netio_readout_unit_init(&here, &units[source], &options));
}
static inline void listen_at(uint32_t number) {
  char address[64];
  if (strcmp(wire, "inproc") == 0) {
    snprintf(address, sizeof address, "inproc://c_api_units_%u", (unsigned)number);
  } else {
    snprintf(address, sizeof address, "%s",
             strcmp(wire, "tcp") == 0 ? "tcp://127.0.0.1:0" : "shm://*");
  }
  CHECK(strcmp(netio_builder_address(&builders[number]), "") == 0);
  CHECK_OK(netio_builder_listen(&builders[number], address));
  CHECK(strncmp(netio_builder_address(&builders[number]), wire, strlen(wire)) == 0);
}
static inline void connect_unit(uint32_t source) {
  for (uint32_t number = 0; number < builders_count; ++number) {
    CHECK_OK(
        netio_readout_connect(&units[source], number, netio_builder_address(&builders[number])));
  }
}
// Each unit is connected to each builder.
static inline void connect_all(void) {
  for (uint32_t source = 0; source < units_count; ++source) connect_unit(source);
  TURN_UNTIL(here, there,
             netio_readout_builders_connected(&units[0]) == builders_count &&
                 netio_readout_builders_connected(&units[1]) == builders_count);
}

// The call is made until it answers NETIO_OK, and NETIO_AGAIN before that.
#define SEND_SOON(call)                               \
  for (;;) {                                          \
    const int answer_ = (call);                       \
    if (answer_ == NETIO_OK) break;                   \
    CHECK(answer_ == NETIO_AGAIN);                    \
    CHECK_OK(netio_run_once(&here.evloop, 0));        \
    CHECK_OK(netio_run_once(&there.evloop, 1000000)); \
  }

static inline void send_plain(uint32_t source, uint64_t number, size_t bytes) {
  SEND_SOON(netio_readout_send(&units[source], event_of(number), bytes_of(source, number), bytes,
                               NETIO_FRAGMENT_GOOD));
}
static inline void end_the_run(void) {
  for (size_t source = 0; source < units_count; ++source) {
    CHECK_OK(netio_readout_advance(&units[source], netio_end_of_run(run)));
  }
}
// The books of a unit, which agree with themselves.
static inline struct netio_readout_books books_of(uint32_t source) {
  struct netio_readout_books books;
  memset(&books, 0xff, sizeof books);
  CHECK_OK(netio_readout_get_books(&units[source], &books));
  CHECK(books.sent == books.settled + books.dropped + books.late + books.held);
  CHECK((books.held == 0) == (books.held_bytes == 0));
  return books;
}
// The books of a builder, which agree with themselves.
static inline struct netio_builder_books builder_books_of(uint32_t number) {
  struct netio_builder_books books;
  memset(&books, 0xff, sizeof books);
  CHECK_OK(netio_builder_get_books(&builders[number], &books));
  CHECK(books.source_count == units_count);
  for (size_t source = 0; source < units_count; ++source) {
    const struct netio_builder_source* of = &books.sources[source];
    CHECK(of->received == of->built + of->incomplete + of->late + of->open);
  }
  return books;
}
static inline uint64_t held(void) { return books_of(0).held + books_of(1).held; }

static inline struct netio_event_fragment fragment_of(const struct netio_event* event,
                                                      size_t source) {
  struct netio_event_fragment fragment;
  memset(&fragment, 0xff, sizeof fragment);
  CHECK_OK(netio_event_get_fragment(event, source, &fragment));
  CHECK(fragment.here || fragment.message.size == 0);
  CHECK(!fragment.here || fragment.missing == NETIO_MISSING_NO);
  return fragment;
}
// The message has exactly these bytes.
static inline int has_bytes(const struct netio_message* message, size_t source, uint64_t number,
                            size_t bytes) {
  if (message->size != bytes) return 0;
  if (bytes == 0) return 1;
  return (uintptr_t)message->data % 8 == 0 &&
         memcmp(message->data, bytes_of(source, number), bytes) == 0;
}

#endif
