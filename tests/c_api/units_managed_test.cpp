// C units with an event manager, which has no C API: it lives in a Context of C++ beside the two
// contexts of C, on the same thread.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <netio.h>
#include <netio/netio.hpp>

#include "units.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t fragment_bytes = 1000;

struct UnitTold {
  int ups = 0, downs = 0, failures = 0, refusals = 0, builder_ups = 0, finished = 0;
  std::vector<netio_event_id> begins, stops;
  netio_event_id settled{};
};
struct BuilderTold {
  int ups = 0, downs = 0, failures = 0, refusals = 0, closed = 0;
  std::uint64_t events = 0;
};
UnitTold units_told[units_count];
BuilderTold builders_told[builders_most];
std::vector<int> seen;  // by the numbers of events: how often it was handed over

UnitTold& told(netio_readout_unit* unit) { return units_told[source_of(unit)]; }
BuilderTold& told(netio_builder_unit* unit) { return builders_told[number_of(unit)]; }

void check_down(const netio_peer* peer, const netio_down* down) {
  CHECK(peer->dialed && *down->detail != '\0');
}
// What a unit and a builder are told of their manager in the same way.
template <typename Unit>
void listen_to_manager(Unit& unit) {
  unit.cb_manager_established = [](Unit* own, const netio_peer* peer) {
    CHECK(peer->id != 0 && peer->dialed && std::string(peer->wire) == wire);
    ++told(own).ups;
  };
  unit.cb_manager_closed = [](Unit* own, const netio_peer* peer, const netio_down* down) {
    check_down(peer, down);
    CHECK(++told(own).downs <= told(own).ups);
  };
  unit.cb_manager_failed = [](Unit* own, const netio_peer* peer, const netio_down* down) {
    check_down(peer, down);
    ++told(own).failures;
  };
  unit.cb_manager_refused = [](Unit* own, const char* why) {
    CHECK(std::string(why).find("events of a range") != std::string::npos);
    ++told(own).refusals;
  };
}

// A busy machine may stop a builder for longer than its lease. Then an event is handed over again,
// and is marked.
void take(netio_event_id id, bool again) {
  CHECK(id.run == run);
  if (seen.size() <= id.number) seen.resize(id.number + 1);
  CHECK(again || seen[id.number] == 0);
  ++seen[id.number];
}
void on_event(netio_builder_unit* unit, const netio_event* event) {
  CHECK(event->sources == units_count && event->complete);
  for (std::size_t source = 0; source < units_count; ++source) {
    const netio_event_fragment fragment = fragment_of(event, source);
    CHECK(has_bytes(&fragment.message, source, event->id.number, fragment_bytes));
  }
  take(event->id, event->again != 0);
  ++told(unit).events;
}
void on_range(netio_builder_unit* unit, const netio_event_range* range) {
  for (std::size_t i = 0; i < range->count; ++i) {
    CHECK(range->events[i].complete);
    for (std::size_t source = 0; source < units_count; ++source) {
      const netio_event_fragment& fragment = netio_range_fragments(range, source)[i];
      CHECK(has_bytes(&fragment.message, source, range->events[i].id.number, fragment_bytes));
    }
    take(range->events[i].id, range->events[i].again != 0);
    ++told(unit).events;
  }
  CHECK(range->bytes == range->count * units_count * fragment_bytes);
}

// A manager, and two units and two builders that join it.
class Managed {
 public:
  explicit Managed(const char* over) {
    begin(over, 2);
    for (UnitTold& each : units_told) each = {};
    for (BuilderTold& each : builders_told) each = {};
    seen.clear();
  }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  ~Managed() { end(); }

  void make_manager() {
    netio::ManagerOptions options;
    options.plan = {units_count, builders_count, range_events, true};
    options.lease = 200ms;
    options.wait = 1h;
    manager = std::make_unique<netio::EventManager>(context, options);
    address = manager->bind(!address.empty()                ? address
                            : std::string(wire) == "inproc" ? "inproc://c_api_manager"
                            : std::string(wire) == "tcp"    ? "tcp://127.0.0.1:0"
                                                            : "shm://*");
  }
  // The first builder takes single events, and the second one takes ranges.
  void make_managed_builder(std::uint32_t number, std::uint64_t range = range_events) const {
    netio_builder_options options;
    netio_socket_options socket;
    builder_options(&options, number);
    netio_socket_defaults(&socket);
    socket.reconnect_after_min_ns = 1'000'000;
    socket.reconnect_after_max_ns = 20'000'000;
    options.socket = &socket;
    options.plan.managed = 1;
    options.plan.range_events = range;
    netio_builder_unit& builder = builders[number];
    CHECK_OK(netio_builder_unit_init(&there, &builder, &options));
    listen_to_manager(builder);
    if (number == 0) builder.cb_event = on_event;
    if (number == 1) builder.cb_range = on_range;
    builder.cb_closed = [](netio_builder_unit* own) { ++told(own).closed; };
    listen_at(number);
    CHECK_OK(netio_builder_join(&builder, address.c_str()));
  }
  void make_managed_unit(std::uint32_t source, std::uint64_t range = range_events) const {
    netio_readout_options options;
    unit_options(&options, source);
    options.plan.managed = 1;
    options.plan.range_events = range;
    netio_readout_unit& unit = units[source];
    CHECK_OK(netio_readout_unit_init(&here, &unit, &options));
    listen_to_manager(unit);
    unit.cb_begin = [](netio_readout_unit* own, netio_event_id produced) {
      told(own).begins.push_back(produced);
    };
    unit.cb_stop = [](netio_readout_unit* own, netio_event_id at) {
      told(own).stops.push_back(at);
      CHECK_OK(netio_readout_advance(own, at));
      CHECK_OK(netio_readout_finish(own, 60000));
    };
    unit.cb_settled = [](netio_readout_unit* own, netio_event_id below) {
      CHECK(is_below(told(own).settled, below));
      told(own).settled = below;
    };
    unit.cb_finished = [](netio_readout_unit* own) { ++told(own).finished; };
    unit.cb_connection_established = [](netio_readout_unit* own, std::uint32_t builder,
                                        const netio_peer* peer) {
      CHECK(builder < builders_count);
      CHECK(std::string(peer->address) == netio_builder_address(&builders[builder]));
      ++told(own).builder_ups;
    };
    CHECK_OK(netio_readout_join(&unit, address.c_str()));
  }
  void make_members() const {
    for (std::uint32_t each = 0; each < 2; ++each) {
      make_managed_builder(each);
      make_managed_unit(each);
    }
  }
  template <typename Condition>
  void turn_until(Condition condition) {
    while (!condition()) turn();
  }
  void turn() {
    CHECK_OK(netio_run_once(&here.evloop, 0));
    CHECK_OK(netio_run_once(&there.evloop, 0));
    context.loop().run_once(1ms);
  }
  void send(std::uint64_t from, std::uint64_t below) {
    for (std::uint64_t number = from; number < below; ++number) {
      for (std::uint32_t source = 0; source < units_count; ++source) {
        CHECK_OK(netio_readout_send(&units[source], event_of(number), bytes_of(source, number),
                                    fragment_bytes, NETIO_FRAGMENT_GOOD));
      }
    }
  }

  netio::Context context;
  std::string address;
  std::unique_ptr<netio::EventManager> manager;
};

void check_that_each_was_handed_over(std::uint64_t events) {
  std::uint64_t complete = 0, again = 0;
  CHECK(seen.size() == events);
  for (const int times : seen) CHECK(times >= 1);
  for (std::uint32_t number = 0; number < builders_count; ++number) {
    const netio_builder_books books = builder_books_of(number);
    CHECK(books.complete == builders_told[number].events && books.incomplete == 0);
    complete += books.complete;
    again += books.again;
  }
  CHECK(complete >= events && complete - again <= events);
}

void units_begin_and_stop_as_their_manager_says(const char* over) {
  constexpr std::uint64_t events = 10 * range_events;
  Managed all(over);
  all.make_manager();
  all.make_members();
  all.turn_until([] {
    return units_told[0].begins.size() == 1 && units_told[1].begins.size() == 1 &&
           units_told[0].builder_ups == 2 && units_told[1].builder_ups == 2;
  });
  for (std::size_t each = 0; each < 2; ++each) {
    CHECK(is_same(units_told[each].begins[0], netio_event_id{0, 0}));
    CHECK(units_told[each].ups == 1 && builders_told[each].ups == 1);
    CHECK(netio_readout_builders_connected(&units[each]) == 2);
  }
  all.send(0, events);
  CHECK(books_of(0).held == events && books_of(0).held_bytes == events * (fragment_bytes + 64));
  bool stopped = false;
  all.manager->stop({run, events}, [&stopped] { stopped = true; });
  all.turn_until(
      [&] { return stopped && units_told[0].finished == 1 && units_told[1].finished == 1; });
  for (std::uint32_t each = 0; each < 2; ++each) {
    CHECK(!units_told[each].stops.empty() && units_told[each].begins.size() == 1);
    CHECK(is_same(units_told[each].stops[0], event_of(events)));
    CHECK(!is_below(units_told[each].settled, event_of(events)));
    const netio_readout_books books = books_of(each);
    CHECK(books.sent == events && books.settled == events && books.held == 0);
    CHECK(books.built == 0 && books.incomplete == 0);
    CHECK_OK(netio_builder_close(&builders[each], 60000));
  }
  all.turn_until([] { return builders_told[0].closed == 1 && builders_told[1].closed == 1; });
  check_that_each_was_handed_over(events);
  CHECK(builders_told[0].events != 0 && builders_told[1].events != 0);
}

void a_unit_that_is_started_again_is_told_where_to_begin(const char* over) {
  constexpr std::uint64_t events = 6 * range_events;
  Managed all(over);
  all.make_manager();
  all.make_members();
  all.turn_until([] { return units_told[0].builder_ups == 2 && units_told[1].builder_ups == 2; });
  all.send(0, events);
  all.turn_until([] { return seen.size() == events && held() == 0; });
  CHECK_OK(netio_readout_unit_free(&units[1]));
  units_told[1] = {};
  all.make_managed_unit(1);
  all.turn_until([] { return units_told[1].begins.size() == 1 && units_told[1].builder_ups == 2; });
  CHECK(is_same(units_told[1].begins[0], event_of(events)));
  all.send(events, 2 * events);
  all.manager->stop({run, 2 * events}, {});
  all.turn_until([] { return units_told[0].finished == 1 && units_told[1].finished == 1; });
  CHECK(books_of(0).settled == 2 * events && books_of(1).settled == events && held() == 0);
  check_that_each_was_handed_over(2 * events);
}

void members_are_told_that_their_manager_is_gone_and_that_another_is_there(const char* over) {
  constexpr std::uint64_t events = 3 * range_events;
  const auto all_of = [](auto condition) {
    return condition(units_told[0]) && condition(units_told[1]) && condition(builders_told[0]) &&
           condition(builders_told[1]);
  };
  Managed all(over);
  all.make_manager();
  all.make_members();
  all.turn_until([&] { return all_of([](const auto& each) { return each.ups == 1; }); });
  CHECK(all_of([](const auto& each) { return each.downs == 0; }));
  all.send(0, events);
  all.turn_until([] { return seen.size() == events && held() == 0; });
  all.manager.reset();
  all.turn_until([&] {
    return all_of([](const auto& each) { return each.downs == 1 && each.failures >= 2; });
  });
  all.make_manager();
  all.turn_until([&] { return all_of([](const auto& each) { return each.ups == 2; }); });
  all.send(events, 2 * events);
  all.manager->stop({run, 2 * events}, {});
  all.turn_until([] { return units_told[0].finished == 1 && units_told[1].finished == 1; });
  CHECK(all_of([](const auto& each) { return each.refusals == 0; }));
  check_that_each_was_handed_over(2 * events);
}

void who_has_another_plan_than_the_manager_is_refused_in_words(const char* over) {
  Managed all(over);
  all.make_manager();
  all.make_managed_builder(0, 2 * range_events);
  all.make_managed_unit(0, 2 * range_events);
  all.make_managed_builder(1);
  all.make_managed_unit(1);
  all.turn_until([] {
    return units_told[0].refusals >= 1 && builders_told[0].refusals >= 1 &&
           units_told[1].ups == 1 && builders_told[1].ups == 1;
  });
  CHECK(units_told[0].ups == 0 && units_told[0].begins.empty() && builders_told[0].ups == 0);
  CHECK(units_told[1].refusals == 0 && builders_told[1].refusals == 0);
  CHECK(units_told[1].downs == 0 && builders_told[1].downs == 0);
}

}  // namespace

int main() {
  begin_tests();
  fill_pattern();
  for (const char* const over : {"tcp", "shm", "inproc"}) {
    units_begin_and_stop_as_their_manager_says(over);
    a_unit_that_is_started_again_is_told_where_to_begin(over);
    members_are_told_that_their_manager_is_gone_and_that_another_is_there(over);
    who_has_another_plan_than_the_manager_is_refused_in_words(over);
  }
  return 0;
}
