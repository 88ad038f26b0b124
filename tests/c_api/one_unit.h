// What the C tests of call-backs of units share: contexts for one read-out unit and one builder
// unit, fragments that are checked, and events that are kept.
#ifndef ONE_UNIT_H
#define ONE_UNIT_H

#include <pthread.h>

#include "check.h"

enum { bytes = 1000, large = 100000, events = 40, range_events = 16, kept_most = 64 };

static struct netio_context here, there;  // of read-out units, and of builder units
static char pattern[large + 251];

static inline void fill_pattern(void) {
  for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = (char)(i * 7 + i / 251);
}
// The bytes of a fragment, by the number of its event.
static inline const char* bytes_of(uint64_t number) { return pattern + number % 251; }
static inline void check_bytes(const struct netio_message* message, uint64_t number) {
  CHECK(message->size == bytes || message->size == large);
  CHECK(memcmp(message->data, bytes_of(number), message->size) == 0);
}
static inline void check_fragment(const struct netio_event_fragment* fragment, uint64_t number) {
  CHECK(fragment->here == 1 && fragment->missing == NETIO_MISSING_NO);
  CHECK(fragment->status == NETIO_FRAGMENT_TRUNCATED);
  check_bytes(&fragment->message, number);
}
static inline void check_event(const struct netio_event* event) {
  struct netio_event_fragment fragment;
  CHECK(event->id.run == 1 && event->sources == 1 && event->complete == 1 && event->again == 0);
  CHECK_OK(netio_event_get_fragment(event, 0, &fragment));
  check_fragment(&fragment, event->id.number);
  CHECK(netio_event_bytes(event) == fragment.message.size);
}
static inline void check_peer(const struct netio_peer* peer) {
  struct netio_books books = peer->books;
  CHECK(books.sent >= books.acknowledged + books.dropped);
  CHECK(strlen(peer->address) > 3 && strlen(peer->name) == 0 && strlen(peer->wire) < 20);
}
static inline void check_down(const struct netio_peer* peer, const struct netio_down* down) {
  check_peer(peer);
  CHECK(strlen(down->detail) > 5 && strlen(netio_down_reason_name(down->reason)) > 3);
}

static inline void ignore_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  (void)unit;
  CHECK(event->sources == 1);
}
static inline void make_builder(struct netio_builder_unit* unit, uint64_t range) {
  struct netio_builder_options options;
  netio_builder_defaults(&options);
  options.plan.sources = 1;
  options.plan.range_events = range;
  options.keep_bytes_max = 10000;
  CHECK_OK(netio_builder_unit_init(&there, unit, &options));
}
static inline void make_readout(struct netio_readout_unit* unit, uint64_t range,
                                uint64_t store_bytes) {
  struct netio_readout_options options;
  netio_readout_defaults(&options);
  options.plan.sources = 1;
  options.plan.range_events = range;
  options.store_bytes_max = store_bytes;
  CHECK_OK(netio_readout_unit_init(&here, unit, &options));
}
static inline int send_one(struct netio_readout_unit* unit, uint64_t number, size_t size) {
  const struct netio_event_id event = {1, number};
  return netio_readout_send(unit, event, bytes_of(number), size, NETIO_FRAGMENT_TRUNCATED);
}
static inline void turn(void) {
  CHECK_OK(netio_run_once(&here.evloop, 0));
  CHECK_OK(netio_run_once(&there.evloop, 1000000));
}

// --- Events that are kept.
static struct netio_event kept[kept_most];
static int kept_count;

static inline void keep(const struct netio_event* event) {
  CHECK(kept_count < kept_most);
  CHECK_OK(netio_event_keep(event, &kept[kept_count++]));
}
// Releases what is kept, on this thread or another one.
static inline void* release_kept(void* unused) {
  while (kept_count > 0) {
    struct netio_event* const event = &kept[--kept_count];
    check_event(event);
    CHECK_OK(netio_event_release(event));
    CHECK(event->memory == NULL && netio_event_bytes(event) == 0);
    CHECK_FAILS(netio_event_release(event), NETIO_INVALID);
  }
  return unused;
}
static inline void release_on_another_thread(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, release_kept, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

#endif
