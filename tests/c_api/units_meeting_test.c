// Read-out units and builder units: how they meet, part and refuse each other, and what they hold
// for whom.
#include "units.h"

enum { fragment_bytes = 1000, fragment_cost = fragment_bytes + 64 };

static int ends;
static int ups[builders_most][units_count], downs[builders_most][units_count], failures, refusals;
static int builder_ups[units_count], builder_downs[units_count], builder_refusals;
static char met_at[units_count][64];  // the address at which a unit has met its builder
static uint64_t events_seen;

static void reset_counts(void) {
  memset(ups, 0, sizeof ups);
  memset(downs, 0, sizeof downs);
  memset(builder_ups, 0, sizeof builder_ups);
  memset(builder_downs, 0, sizeof builder_downs);
  failures = refusals = builder_refusals = ends = 0;
  events_seen = 0;
}
static void on_up(struct netio_readout_unit* unit, uint32_t builder,
                  const struct netio_peer* peer) {
  const uint32_t source = source_of(unit);
  CHECK(builder < builders_count && peer->id != 0 && peer->dialed);
  CHECK(strcmp(peer->wire, wire) == 0);
  snprintf(met_at[source], sizeof met_at[source], "%s", peer->address);
  ++ups[builder][source];
}
static void on_down(struct netio_readout_unit* unit, uint32_t builder,
                    const struct netio_peer* peer, const struct netio_down* down) {
  CHECK(builder < builders_count && peer->id != 0 && *down->detail != '\0');
  CHECK(ups[builder][source_of(unit)] == ++downs[builder][source_of(unit)]);
}
static void on_failure(struct netio_readout_unit* unit, uint32_t builder,
                       const struct netio_peer* peer, const struct netio_down* down) {
  CHECK(source_of(unit) < units_count && builder < builders_count && peer->dialed);
  CHECK(*down->detail != '\0' && strcmp(netio_down_reason_name(down->reason), "unknown") != 0);
  ++failures;
}
static void on_builder_up(struct netio_builder_unit* unit, uint32_t source,
                          const struct netio_peer* peer) {
  CHECK(number_of(unit) < builders_count && source < units_count);
  CHECK(peer->id != 0 && !peer->dialed && strcmp(peer->wire, wire) == 0);
  ++builder_ups[source];
}
static void on_builder_down(struct netio_builder_unit* unit, uint32_t source,
                            const struct netio_peer* peer, const struct netio_down* down) {
  CHECK(number_of(unit) < builders_count && source < units_count);
  CHECK(peer->id != 0 && *down->detail != '\0');
  ++builder_downs[source];
}
static void on_event(struct netio_builder_unit* unit, const struct netio_event* event) {
  CHECK(number_of(unit) == builder_of(event->id.number) && event->complete && !event->again);
  for (size_t source = 0; source < units_count; ++source) {
    const struct netio_event_fragment fragment = fragment_of(event, source);
    CHECK(has_bytes(&fragment.message, source, event->id.number, fragment_bytes));
  }
  ++events_seen;
}
static void prepare_builder(uint32_t number) {
  make_builder(number);
  builders[number].cb_event = on_event;
  builders[number].cb_connection_established = on_builder_up;
  builders[number].cb_connection_closed = on_builder_down;
}
static void prepare_unit(uint32_t source) {
  make_unit(source);
  units[source].cb_connection_established = on_up;
  units[source].cb_connection_closed = on_down;
  units[source].cb_connection_failed = on_failure;
}
static void prepare_all(void) {
  reset_counts();
  for (uint32_t number = 0; number < builders_count; ++number) {
    prepare_builder(number);
    listen_at(number);
  }
  // A builder has met a unit when the unit has begun.
  for (uint32_t source = 0; source < units_count; ++source) {
    prepare_unit(source);
    CHECK_OK(netio_readout_advance(&units[source], event_of(0)));
  }
}

static void check_held(int connected) {
  const struct netio_held_for_builder* all = NULL;
  size_t count = 0;
  CHECK_OK(netio_readout_get_held(&units[0], &all, &count));
  CHECK(count == 2);
  for (size_t builder = 0; builder < 2; ++builder) {
    CHECK(all[builder].fragments == (builder == 0 ? 16 : 4));
    CHECK(all[builder].bytes == all[builder].fragments * fragment_cost);
    CHECK(is_same(all[builder].oldest, event_of(16 * builder)));
    CHECK(all[builder].connected == connected && (all[builder].window_bytes != 0) == connected);
  }
  CHECK(books_of(0).held == 20 && books_of(0).held_bytes == 20 * fragment_cost);
}
static void check_peers_of_unit(uint32_t source, int up) {
  const struct netio_peer_snapshot* peers = NULL;
  size_t count = 0;
  CHECK_OK(netio_readout_get_peers(&units[source], &peers, &count));
  CHECK(count == builders_count);
  for (uint32_t number = 0; number < builders_count; ++number) {
    CHECK(peers[number].up == up);
    if (!up) continue;
    CHECK(peers[number].dialed && strcmp(peers[number].wire, wire) == 0);
    CHECK(strcmp(peers[number].address, netio_builder_address(&builders[number])) == 0);
  }
}
static void check_peers_of_builder(uint32_t number, int first_up, int second_up) {
  const struct netio_peer_snapshot* peers = NULL;
  size_t count = 0;
  CHECK_OK(netio_builder_get_peers(&builders[number], &peers, &count));
  CHECK(count == units_count && peers[0].up == first_up && peers[1].up == second_up);
  for (size_t source = 0; source < units_count; ++source) {
    CHECK(!peers[source].dialed && (!peers[source].up || peers[source].id != 0));
  }
  CHECK(builder_books_of(number).sources[0].connected == first_up);
  CHECK(builder_books_of(number).sources[1].connected == second_up);
}

static void units_say_whom_they_are_connected_to_and_what_they_hold_for_them(const char* over) {
  struct netio_counters counters;
  struct netio_event_id advanced;
  begin(over, 2);
  prepare_all();
  CHECK(netio_readout_builders_connected(&units[0]) == 0);
  check_peers_of_unit(0, 0);
  check_peers_of_builder(0, 0, 0);
  for (uint64_t number = 0; number < 20; ++number) send_plain(0, number, fragment_bytes);
  CHECK_OK(netio_readout_get_advanced(&units[0], &advanced));
  CHECK(is_same(advanced, event_of(20)));
  check_held(0);
  connect_all();
  TURN_UNTIL(here, there, builder_ups[0] == 2 && builder_ups[1] == 2);
  TURN_A_WHILE(here, there);
  check_held(1);  // unit 1 has sent nothing, so nothing is built
  CHECK(events_seen == 0 && ups[0][0] + ups[1][0] + ups[0][1] + ups[1][1] == 4);
  for (uint32_t each = 0; each < 2; ++each) {
    check_peers_of_unit(each, 1);
    check_peers_of_builder(each, 1, 1);
    CHECK_OK(netio_readout_get_counters(&units[0], each, &counters));
    CHECK(counters.connects == 1 && counters.disconnects == 0);
    CHECK(counters.bytes_sent > (each == 0 ? 16 : 4) * fragment_bytes);
    CHECK(counters.pages_received != 0);
    CHECK_OK(netio_builder_get_counters(&builders[each], &counters));
    CHECK(counters.connects == 2 && counters.disconnects == 0 && counters.pages_sent != 0);
    CHECK(counters.bytes_received > (each == 0 ? 16 : 4) * fragment_bytes);
  }
  CHECK(builder_books_of(0).open == 16 && builder_books_of(1).open == 4);
  CHECK(builder_books_of(0).open_bytes == 16 * fragment_cost);
  CHECK(builder_books_of(0).sources[0].open == 16 && builder_books_of(0).sources[1].open == 0);
  CHECK_FAILS(netio_readout_get_counters(&units[0], 2, &counters), NETIO_INVALID);
  for (uint64_t number = 0; number < 20; ++number) send_plain(1, number, fragment_bytes);
  end_the_run();
  TURN_UNTIL(here, there, events_seen == 20 && held() == 0);
  CHECK_OK(netio_readout_get_advanced(&units[1], &advanced));
  CHECK(is_same(advanced, netio_end_of_run(run)));
  CHECK_OK(netio_readout_unit_free(&units[0]));
  TURN_UNTIL(here, there, builder_downs[0] == 2);
  check_peers_of_builder(0, 0, 1);
  CHECK(builder_downs[1] == 0);
  end();
}

// A builder that is freed and made again is found again, and is sent everything.
static void a_builder_that_comes_back_is_met_again(const char* over) {
  char address[64];
  begin(over, 1);
  prepare_all();
  connect_all();
  TURN_UNTIL(here, there, builder_ups[0] + builder_ups[1] == 2);
  for (uint64_t number = 0; number < 8; ++number) send_plain(0, number, fragment_bytes);
  TURN_UNTIL(here, there, builder_books_of(0).sources[0].open == 8);
  snprintf(address, sizeof address, "%s", netio_builder_address(&builders[0]));
  CHECK_OK(netio_builder_unit_free(&builders[0]));
  TURN_UNTIL(here, there, downs[0][0] == 1 && downs[0][1] == 1 && failures >= 4);
  CHECK(netio_readout_builders_connected(&units[0]) == 0 && events_seen == 0);
  CHECK(builder_downs[0] + builder_downs[1] == 0);  // the freed builder has no call-back
  prepare_builder(0);
  CHECK_OK(netio_builder_listen(&builders[0], address));
  for (uint64_t number = 0; number < 8; ++number) send_plain(1, number, fragment_bytes);
  end_the_run();
  // An event may be marked only if the earlier builder may have handed it over.
  builders[0].cb_event = NULL;
  TURN_UNTIL(here, there, held() == 0);
  CHECK(builder_books_of(0).complete == 8 && builder_books_of(0).sources[0].built == 8);
  CHECK(ups[0][0] == 2 && ups[0][1] == 2 && downs[0][0] == 1 && downs[0][1] == 1);
  CHECK(builder_ups[0] == 2 && builder_ups[1] == 2 && books_of(0).settled == 8);
  end();
}

// Units are told what is settled at the end of a range, so the next builder is given it again.
static void on_event_again(struct netio_builder_unit* unit, const struct netio_event* event) {
  CHECK(unit == &builders[0] && event->complete == 1);
  CHECK(event->again == (event->id.number < 8));
  ++events_seen;
}
static void on_run_end(struct netio_builder_unit* unit, const struct netio_run_books* books) {
  CHECK(unit == &builders[0] && books->run == run);
  CHECK(books->complete == 12 && books->again == 8 && books->incomplete == 0);
  CHECK(books->bytes == 12 * 2 * fragment_bytes);
  ++ends;
}
static void send_both(uint64_t from, uint64_t below) {
  for (uint64_t number = from; number < below; ++number) {
    send_plain(0, number, fragment_bytes);
    send_plain(1, number, fragment_bytes);
  }
}
static void what_an_earlier_builder_may_have_handed_over_is_marked(const char* over) {
  char address[64];
  begin(over, 1);
  prepare_all();
  connect_all();
  send_both(0, 8);
  TURN_UNTIL(here, there, events_seen == 8);
  CHECK(held() == 16 && builder_books_of(0).again == 0);
  snprintf(address, sizeof address, "%s", netio_builder_address(&builders[0]));
  CHECK_OK(netio_builder_unit_free(&builders[0]));
  TURN_UNTIL(here, there, downs[0][0] == 1 && downs[0][1] == 1);
  send_both(8, 12);
  end_the_run();
  prepare_builder(0);
  builders[0].cb_event = on_event_again;
  builders[0].cb_run_end = on_run_end;
  CHECK_OK(netio_builder_listen(&builders[0], address));
  TURN_UNTIL(here, there, events_seen == 8 + 12 && held() == 0 && ends == 1);
  CHECK(builder_books_of(0).complete == 12 && builder_books_of(0).again == 8);
  CHECK(books_of(0).settled == 12 && books_of(0).built == 12 && books_of(1).built == 12);
  end();
}

static void units_begin_with_different_addresses_of_a_builder(const char* over) {
  char addresses[2][64];
  const char* both[2] = {addresses[0], addresses[1]};
  begin(over, 1);
  prepare_all();
  snprintf(addresses[0], sizeof addresses[0], "%s", netio_builder_address(&builders[0]));
  CHECK_OK(netio_builder_listen(&builders[0], strcmp(wire, "inproc") == 0
                                                  ? "inproc://c_api_units_another"
                                              : strcmp(wire, "tcp") == 0 ? "tcp://127.0.0.1:0"
                                                                         : "shm://*"));
  snprintf(addresses[1], sizeof addresses[1], "%s", netio_builder_address(&builders[0]));
  CHECK(strcmp(addresses[0], addresses[1]) != 0);
  for (uint32_t source = 0; source < units_count; ++source) {
    CHECK_FAILS(netio_readout_connect_any(&units[source], 0, both, 0), NETIO_ERROR);
    CHECK_OK(netio_readout_connect_any(&units[source], 0, both, 2));
  }
  TURN_UNTIL(here, there, ups[0][0] == 1 && ups[0][1] == 1);
  CHECK(strcmp(met_at[0], addresses[0]) == 0 && strcmp(met_at[1], addresses[1]) == 0);
  for (uint64_t number = 0; number < 20; ++number) {
    send_plain(0, number, fragment_bytes);
    send_plain(1, number, fragment_bytes);
  }
  end_the_run();
  TURN_UNTIL(here, there, events_seen == 20 && held() == 0);
  end();
}

static void on_refused(struct netio_readout_unit* unit, uint32_t builder, const char* why) {
  CHECK(unit == &units[1] && builder == 0 && strstr(why, "events of a range") != NULL);
  ++refusals;
}
static void on_builder_refused(struct netio_builder_unit* unit, const struct netio_peer* peer,
                               const char* why) {
  CHECK(unit == &builders[0] && peer->id != 0 && strstr(why, "32") != NULL);
  ++builder_refusals;
}

static void who_has_another_plan_is_refused_in_words_by_both(const char* over) {
  struct netio_readout_options options;
  begin(over, 1);
  prepare_all();
  builders[0].cb_refused = on_builder_refused;
  CHECK_OK(netio_readout_unit_free(&units[1]));
  unit_options(&options, 1);
  options.plan.range_events = 32;
  CHECK_OK(netio_readout_unit_init(&here, &units[1], &options));
  units[1].cb_refused = on_refused;
  units[1].cb_connection_established = on_up;
  units[1].cb_connection_failed = on_failure;
  connect_unit(0);
  connect_unit(1);
  TURN_UNTIL(here, there, builder_refusals >= 3 && ups[0][0] == 1);
  CHECK(refusals == 1 && failures == 0);  // it is told once, and not at each attempt
  CHECK(ups[0][1] == 0 && builder_ups[1] == 0 && downs[0][0] == 0);
  CHECK(netio_readout_builders_connected(&units[1]) == 0);
  end();
}

int main(void) {
  static const char* const wires[] = {"tcp", "shm", "inproc"};
  begin_tests();
  fill_pattern();
  for (size_t i = 0; i < 3; ++i) {
    units_say_whom_they_are_connected_to_and_what_they_hold_for_them(wires[i]);
    a_builder_that_comes_back_is_met_again(wires[i]);
    what_an_earlier_builder_may_have_handed_over_is_marked(wires[i]);
    units_begin_with_different_addresses_of_a_builder(wires[i]);
    who_has_another_plan_is_refused_in_words_by_both(wires[i]);
  }
  return 0;
}
