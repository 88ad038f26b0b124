// Event building over every transport: units and builders in processes of their own are elsewhere
// (tests/integration); here they are in contexts of one thread.
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t sources_count = 3;
constexpr std::uint32_t builders_count = 2;

BuildPlan plan() { return {sources_count, builders_count, 16}; }

// Which fragment it is, in its first words, and the rest by them.
std::vector<std::byte> fragment_of(std::uint32_t source, EventId event, std::size_t bytes) {
  return payload(mix(event.number * 64 + source) ^ event.run, bytes);
}
// Some are empty, most are small, some fill pages, and some are larger than a page.
std::size_t size_of(std::uint32_t source, std::uint64_t number) {
  const std::uint64_t drawn = mix(number * 31 + source);
  if (drawn % 64 == 0) return 100'000 + drawn % 50'000;
  if (drawn % 16 == 1) return 10'000 + drawn % 20'000;
  return drawn % 400;
}

class EventBuilding : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }

  ReadoutOptions readout(std::uint32_t source) const {
    ReadoutOptions options;
    options.plan = plan();
    options.source = source;
    options.socket.reconnect_after_min = source < hasty_ ? 1ms : 1s;
    options.socket.reconnect_after_max = source < hasty_ ? 20ms : 1s;
    return options;
  }
  BuilderOptions building(std::uint32_t number) const {
    BuilderOptions options;
    options.plan = plan();
    options.builder = number;
    options.deadline = deadline_;
    return options;
  }
  void make_builder(std::uint32_t number, const std::string& address) {
    builders_[number] = std::make_unique<BuilderUnit>(there_, building(number));
    builders_[number]->on_event([this, number](const Event& event) { take(number, event); });
    addresses_[number] = builders_[number]->bind(address);
  }
  void make_builders() {
    for (std::uint32_t number = 0; number < builders_count; ++number) {
      make_builder(number, GetParam().address);
    }
  }
  void make_unit(std::uint32_t source) {
    units_[source] = std::make_unique<ReadoutUnit>(here_, readout(source));
    for (std::uint32_t number = 0; number < builders_count; ++number) {
      units_[source]->connect(number, addresses_[number]);
    }
  }
  void make_units() {
    for (std::uint32_t source = 0; source < sources_count; ++source) make_unit(source);
  }

  void take(std::uint32_t builder, const Event& event) {
    const std::uint64_t range = event.id().number / plan().range_events;
    EXPECT_EQ(range % builders_count, builder);
    EXPECT_EQ(event.size(), sources_count);
    EXPECT_TRUE(event.again() || !seen_.contains(event.id())) << event.id().number;
    ++seen_[event.id()];
    for (std::uint32_t source = 0; source < event.size(); ++source) {
      const EventFragment fragment = event[source];
      if (!fragment.here) continue;
      const std::vector<std::byte> wanted =
          fragment_of(source, event.id(), size_of(source, event.id().number));
      EXPECT_TRUE(same_bytes(fragment.bytes(), wanted)) << event.id().number;
      ++fragments_;
    }
    if (!event.complete()) ++incomplete_;
    if (on_event_) on_event_(event);
  }
  // Sends a fragment of each of these events from each unit.
  void send(EventId first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const EventId event{first.run, first.number + i};
      for (std::uint32_t source = 0; source < sources_count; ++source) {
        const auto fragment = fragment_of(source, event, size_of(source, event.number));
        ASSERT_SOON(pump_, units_[source]->send(event, fragment) == Status::ok);
      }
    }
  }
  void advance(EventId below) {
    for (const auto& unit : units_) unit->advance(below);
  }
  [[nodiscard]] std::uint64_t held() const {
    std::uint64_t held = 0;
    for (const auto& unit : units_) held += unit->books().held;
    return held;
  }

  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Pump pump_{&here_, &there_};
  std::vector<std::string> addresses_ = std::vector<std::string>(builders_count);
  std::vector<std::unique_ptr<BuilderUnit>> builders_{builders_count};
  std::vector<std::unique_ptr<ReadoutUnit>> units_{sources_count};
  std::chrono::nanoseconds deadline_ = 5s;  // of builders
  std::uint32_t hasty_ = sources_count;     // units that try again at once
  std::map<EventId, int> seen_;
  std::uint64_t fragments_ = 0;
  std::uint64_t incomplete_ = 0;
  std::function<void(const Event&)> on_event_;
};

TEST_P(EventBuilding, hands_over_every_event_with_what_was_sent) {
  make_builders();
  make_units();
  constexpr std::uint64_t count = 3000;
  send({1, 0}, count);
  advance(end_of_run(1));
  ASSERT_SOON(pump_, held() == 0);
  EXPECT_EQ(seen_.size(), count);
  EXPECT_EQ(fragments_, count * sources_count);
  EXPECT_EQ(incomplete_, 0U);
  std::uint64_t complete = 0;
  for (const auto& builder : builders_) {
    const BuilderBooks books = builder->books();
    complete += books.complete;
    EXPECT_EQ(books.incomplete + books.again + books.open + books.open_bytes, 0U);
    for (const auto& source : books.sources) EXPECT_EQ(source.received, source.built);
  }
  EXPECT_EQ(complete, count);
  for (const auto& unit : units_) {
    EXPECT_EQ(unit->books().sent, count);
    EXPECT_EQ(unit->books().settled, count);
    EXPECT_EQ(unit->books().built, count);
    EXPECT_EQ(unit->books().resent, 0U);
  }
}

TEST_P(EventBuilding, a_builder_that_was_restarted_is_sent_again_what_is_not_settled) {
  make_builders();
  make_units();
  send({1, 0}, 200);
  // Bound anew, under another address if the wire gives it one.
  ASSERT_SOON(pump_, seen_.size() > 100);
  builders_[1].reset();
  send({1, 200}, 200);
  make_builder(1, addresses_[1]);
  send({1, 400}, 200);
  advance(end_of_run(1));
  ASSERT_SOON(pump_, held() == 0);
  EXPECT_EQ(seen_.size(), 600U);
  EXPECT_EQ(incomplete_, 0U);
  std::uint64_t again = 0;
  for (const auto& [event, times] : seen_) again += static_cast<std::uint64_t>(times - 1);
  EXPECT_LE(again, builders_[1]->books().again);
  for (const auto& unit : units_) {
    EXPECT_EQ(unit->books().settled, 600U);
    EXPECT_EQ(unit->books().incomplete + unit->books().late, 0U);
  }
}

// The pause between two attempts of a unit is longer than the deadline.
TEST_P(EventBuilding, a_builder_that_was_restarted_waits_for_units_that_try_later_than_others) {
  hasty_ = 1;
  make_builders();
  make_units();
  send({1, 0}, 100);
  ASSERT_SOON(pump_, seen_.size() == 100);
  deadline_ = 200ms;
  builders_[1].reset();
  ASSERT_SOON(pump_, units_[2]->builders_connected() == 1);
  send({1, 100}, 100);
  make_builder(1, addresses_[1]);
  advance(end_of_run(1));
  ASSERT_SOON(pump_, held() == 0);
  EXPECT_EQ(seen_.size(), 200U);
  EXPECT_EQ(incomplete_, 0U);
}

// With a wide window, the wire is full before the window is.
TEST_P(EventBuilding, a_builder_that_is_back_is_sent_nothing_of_its_last_connection) {
  constexpr std::uint64_t events = 4000;
  BuilderOptions options = building(0);
  options.plan = {1, 1, 16};
  options.window_bytes = std::size_t{16} << 20U;
  Context wide(BuilderUnit::with_memory(options, memory_to_build()));
  ReadoutOptions unit_options = readout(0);
  unit_options.plan = options.plan;
  ReadoutUnit unit(here_, unit_options);
  int refused = 0;
  std::map<EventId, int> seen;
  unit.on_refused([&](std::uint32_t, std::string_view) { ++refused; });
  auto builder = std::make_unique<BuilderUnit>(wide, options);
  const auto watch = [&] {
    builder->on_event([&](const Event& event) { ++seen[event.id()]; });
    builder->on_refused([&](const PeerInfo&, std::string_view) { ++refused; });
  };
  watch();
  const std::string address = builder->bind(GetParam().address);
  unit.connect(0, address);
  Pump pump{&here_, &wide};
  Pump unit_only{&here_};
  ASSERT_EQ(unit.send({1, 0}, fragment_of(0, {1, 0}, 2'000)), Status::ok);
  ASSERT_SOON(pump, seen.size() == 1);
  for (std::uint64_t number = 1; number < events; ++number) {
    const EventId event{1, number};
    ASSERT_SOON(unit_only, unit.send(event, fragment_of(0, event, 2'000)) == Status::ok);
    if (number % 64 == 0) unit_only.turns(1);
  }
  builder.reset();
  builder = std::make_unique<BuilderUnit>(wide, options);
  watch();
  static_cast<void>(builder->bind(address));
  unit.advance(end_of_run(1));
  ASSERT_SOON(pump, unit.books().held == 0);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(seen.size(), events);
}

TEST_P(EventBuilding, kept_events_last_and_come_home_from_another_thread) {
  make_builders();
  std::vector<KeptEvent> kept;
  on_event_ = [&](const Event& event) {
    if (event.id().number % 7 == 0) kept.push_back(event.keep());
  };
  make_units();
  send({0, 0}, 500);
  advance(end_of_run(0));
  ASSERT_SOON(pump_, held() == 0);
  EXPECT_EQ(kept.size(), 72U);
  std::thread([&] {
    for (KeptEvent& event : kept) {
      for (std::uint32_t source = 0; source < sources_count; ++source) {
        EXPECT_TRUE(
            same_bytes(event.fragments()[source].bytes(),
                       fragment_of(source, event.id(), size_of(source, event.id().number))));
      }
      event.release();
    }
  }).join();
  const auto kept_bytes = [&] {
    return builders_[0]->books().kept_bytes + builders_[1]->books().kept_bytes;
  };
  EXPECT_NE(kept_bytes(), 0U);
  ASSERT_SOON(pump_, kept_bytes() == 0);
}

TEST_P(EventBuilding, the_deadline_hands_over_what_is_here_and_says_what_is_missing) {
  for (std::uint32_t number = 0; number < builders_count; ++number) {
    BuilderOptions options = building(number);
    options.deadline = 50ms;
    builders_[number] = std::make_unique<BuilderUnit>(there_, options);
    builders_[number]->on_event([this, number](const Event& event) {
      take(number, event);
      EXPECT_FALSE(event.complete());
      EXPECT_EQ(event[2].missing, Missing::late);
    });
    addresses_[number] = builders_[number]->bind(GetParam().address);
  }
  make_units();
  units_[2]->advance({1, 0});  // it is there, and sends nothing
  ASSERT_SOON(pump_, units_[2]->builders_connected() == builders_count);
  for (std::uint64_t number = 0; number < 32; ++number) {
    for (std::uint32_t source = 0; source < 2; ++source) {
      const EventId event{1, number};
      ASSERT_EQ(units_[source]->send(event, fragment_of(source, event, size_of(source, number))),
                Status::ok);
    }
  }
  ASSERT_SOON(pump_, seen_.size() == 32);
  EXPECT_EQ(builders_[0]->books().sources[2].missing_by[static_cast<std::size_t>(Missing::late)],
            16U);
}

TEST_P(EventBuilding, a_unit_knows_as_its_builders_do_what_became_of_each_fragment) {
  deadline_ = 50ms;
  make_builders();
  make_units();
  units_[2]->advance({1, 0});
  ASSERT_SOON(pump_, units_[2]->builders_connected() == builders_count);
  const auto send_to = [&](std::uint32_t source, std::uint64_t first, std::uint64_t below) {
    for (EventId event{1, first}; event.number < below; event = event.next()) {
      const auto fragment = fragment_of(source, event, size_of(source, event.number));
      ASSERT_SOON(pump_, units_[source]->send(event, fragment) == Status::ok);
    }
  };
  for (const std::uint32_t source : {0U, 1U}) send_to(source, 0, 32);
  ASSERT_SOON(pump_, seen_.size() == 32);
  send_to(2, 0, 16);  // too late, and the other range it has not at all
  for (const std::uint32_t source : {0U, 1U, 2U}) send_to(source, 32, 64);
  advance(end_of_run(1));
  ASSERT_SOON(pump_, held() == 0);
  for (std::uint32_t source = 0; source < sources_count; ++source) {
    const ReadoutBooks books = units_[source]->books();
    BuilderBooks::Source told;
    for (const auto& builder : builders_) {
      const BuilderBooks::Source each = builder->books().sources[source];
      told.built += each.built;
      told.incomplete += each.incomplete;
      told.late += each.late;
    }
    EXPECT_EQ(books.sent, source == 2 ? 48U : 64U);
    EXPECT_EQ(books.sent, books.built + books.incomplete + books.late) << source;
    EXPECT_EQ(books.built, told.built) << source;
    EXPECT_EQ(books.incomplete, told.incomplete) << source;
    EXPECT_GE(books.late, told.late) << source;
  }
  EXPECT_GE(units_[0]->books().incomplete, 32U);
  EXPECT_GE(units_[2]->books().late, 16U);
}

TEST_P(EventBuilding, a_unit_is_told_what_is_settled_up_to_the_end_of_a_run) {
  make_builders();
  make_units();
  std::vector<EventId> told;
  units_[0]->on_settled([&](EventId below) {
    EXPECT_EQ(below, units_[0]->settled());
    EXPECT_TRUE(told.empty() || told.back() < below);
    told.push_back(below);
  });
  send({1, 0}, 100);
  advance(end_of_run(1));
  ASSERT_SOON(pump_, !told.empty() && told.back() == end_of_run(1));
  EXPECT_EQ(units_[0]->books().held, 0U);
  send({2, 0}, 10);
  EXPECT_GE(units_[0]->settled(), end_of_run(1));
  EXPECT_LE(units_[0]->settled(), (EventId{2, 10}));
  advance(end_of_run(2));
  ASSERT_SOON(pump_, told.back() == end_of_run(2));
}

TEST_P(EventBuilding, both_sides_list_their_peers_by_number) {
  make_builders();
  make_unit(0);
  make_unit(2);
  for (const std::uint32_t source : {0U, 2U}) units_[source]->advance({1, 0});
  ASSERT_SOON(pump_, units_[0]->builders_connected() + units_[2]->builders_connected() == 4);
  ASSERT_SOON(pump_, builders_[1]->peers()[0].up && builders_[1]->peers()[2].up);
  EXPECT_FALSE(builders_[1]->peers()[1].up);
  builders_[0].reset();
  ASSERT_SOON(pump_, units_[2]->builders_connected() == 1);
  const std::vector<PeerSnapshot> peers = units_[2]->peers();
  ASSERT_EQ(peers.size(), builders_count);
  EXPECT_FALSE(peers[0].up);
  EXPECT_TRUE(peers[1].up);
  EXPECT_NE(peers[1].id, 0U);
  const std::vector<Counters> counters = units_[2]->counters();
  ASSERT_EQ(counters.size(), builders_count);
  EXPECT_EQ(counters[0].connects, 1U);
  EXPECT_EQ(counters[0].disconnects, 1U);
  EXPECT_EQ(counters[1].disconnects, 0U);
}

TEST_P(EventBuilding, another_plan_is_refused_in_words) {
  make_builders();
  ReadoutOptions options = readout(0);
  options.plan.sources = 4;
  ReadoutUnit other(here_, options);
  std::string here;
  std::string there;
  bool was_up = false;
  other.on_up([&](std::uint32_t, const PeerInfo&) { was_up = true; });
  other.on_down([&](std::uint32_t, const PeerInfo&, const Down&) { was_up = true; });
  other.on_refused([&](std::uint32_t, std::string_view why) { here = why; });
  builders_[0]->on_refused([&](const PeerInfo&, std::string_view why) { there = why; });
  other.connect(0, addresses_[0]);
  other.advance({0, 0});
  ASSERT_SOON(pump_, !here.empty() && !there.empty());
  EXPECT_FALSE(was_up);
  EXPECT_EQ(other.builders_connected(), 0U);
  EXPECT_NE(here.find("sources: 3 at the builder, 4 at the unit"), std::string::npos) << here;
  EXPECT_NE(there.find("sources: 3 at the builder, 4 at the unit"), std::string::npos) << there;
  make_units();
  send({0, 0}, 64);
  advance(end_of_run(0));
  ASSERT_SOON(pump_, held() == 0);
  EXPECT_EQ(seen_.size(), 64U);
}

TEST_P(EventBuilding, a_refusal_is_told_once_until_the_builder_was_met) {
  BuilderOptions another = building(0);
  another.plan.sources = 5;
  hasty_ = sources_count;
  ReadoutUnit unit(here_, readout(0));
  std::vector<std::string> told;
  unit.on_refused([&](std::uint32_t, std::string_view why) { told.emplace_back(why); });
  unit.on_down([&](std::uint32_t, const PeerInfo&, const Down&) { told.emplace_back("down"); });
  unit.on_up([&](std::uint32_t, const PeerInfo&) { told.emplace_back("up"); });
  const auto refuse = [&](const std::string& at) {
    auto builder = std::make_unique<BuilderUnit>(there_, another);
    int refusals = 0;
    builder->on_refused([&](const PeerInfo&, std::string_view) { ++refusals; });
    addresses_[0] = builder->bind(at);
    if (told.empty()) unit.connect(0, addresses_[0]);
    EXPECT_SOON(pump_, refusals == 4);
  };
  refuse(GetParam().address);
  ASSERT_EQ(told.size(), 1U);
  // The builder is gone, so attempts fail for another reason.
  ASSERT_SOON(pump_, told.back() == "down");
  make_builder(0, addresses_[0]);
  ASSERT_SOON(pump_, told.back() == "up");
  builders_[0].reset();
  ASSERT_SOON(pump_, told.back() == "down");
  const std::size_t before = told.size();
  refuse(addresses_[0]);
  EXPECT_EQ(std::count(told.begin() + static_cast<std::ptrdiff_t>(before), told.end(), told[0]), 1);
}

TEST_P(EventBuilding, nothing_is_handed_over_between_pause_and_resume) {
  make_builders();
  make_units();
  on_event_ = [&](const Event&) {
    if (seen_.size() == 5) builders_[0]->pause();
  };
  send({0, 0}, 16);  // all of them are of the first builder
  ASSERT_SOON(pump_, seen_.size() == 5 && builders_[0]->books().open == 11);
  pump_.turns(100);
  EXPECT_EQ(seen_.size(), 5U);
  send({0, 16}, 8);
  ASSERT_SOON(pump_, seen_.size() == 13) << "the other builder goes on";
  builders_[0]->resume();
  EXPECT_EQ(seen_.size(), 13U) << "from inside resume()";
  advance(end_of_run(0));
  ASSERT_SOON(pump_, held() == 0);
  EXPECT_EQ(seen_.size(), 24U);
  EXPECT_EQ(incomplete_, 0U);
}

// The loop was not turned since.
TEST_P(EventBuilding, what_another_thread_has_released_is_settled_by_close) {
  BuilderOptions options = building(0);
  options.plan = {1, 1, 16};
  options.settle_released = true;
  std::vector<KeptEvent> kept;
  auto builder = std::make_unique<BuilderUnit>(there_, options);
  builder->on_event([&](const Event& event) { kept.push_back(event.keep()); });
  ReadoutOptions unit_options = readout(0);
  unit_options.plan = options.plan;
  ReadoutUnit unit(here_, unit_options);
  unit.connect(0, builder->bind(GetParam().address));
  for (std::uint64_t number = 0; number < 30; ++number) {
    ASSERT_EQ(unit.send({1, number}, fragment_of(0, {1, number}, 100)), Status::ok);
  }
  ASSERT_SOON(pump_, kept.size() == 30);
  builder->pause();
  std::thread([&] {
    for (std::size_t i = 0; i < 20; ++i) kept[i].release();
  }).join();
  bool closed = false;
  builder->close(10s, [&] { closed = true; });
  ASSERT_SOON(pump_, closed);
  ASSERT_SOON(pump_, unit.builders_connected() == 0);
  EXPECT_EQ(unit.books().settled, 20U);
  EXPECT_EQ(unit.books().held, 10U);
}

TEST_P(EventBuilding, a_builder_that_takes_smaller_fragments_is_refused_and_nothing_is_lost) {
  for (const std::size_t bytes : {std::size_t{3'000}, std::size_t{100'000}}) {
    BuilderOptions options = building(0);
    options.plan = {1, 1, 16};
    options.socket.message_bytes_max = 1'000;
    auto small = std::make_unique<BuilderUnit>(there_, options);
    int came = 0;
    small->on_event([&](const Event&) { ++came; });
    ReadoutOptions unit_options = readout(0);
    unit_options.plan = options.plan;
    ReadoutUnit unit(here_, unit_options);
    std::string refused;
    unit.on_refused([&](std::uint32_t, std::string_view why) { refused = why; });
    unit.connect(0, small->bind(GetParam().address));
    const std::vector<std::byte> fragment(bytes);
    ASSERT_EQ(unit.send({0, 0}, std::as_bytes(std::span("small", 5))), Status::ok);
    ASSERT_EQ(unit.send({0, 1}, fragment), Status::ok);
    ASSERT_SOON(pump_, !refused.empty() && came >= 1);
    EXPECT_NE(refused.find("takes fragments of at most 1000 bytes"), std::string::npos) << refused;
    EXPECT_NE(refused.find("one of " + std::to_string(bytes)), std::string::npos) << refused;
    EXPECT_GE(unit.books().held, 1U);
  }
}

TEST_P(EventBuilding, a_builder_may_be_closed_in_the_call_for_an_event) {
  make_builders();
  int closed = 0;
  on_event_ = [&](const Event&) {
    if (seen_.size() == 5) builders_[0]->close(10s, [&] { ++closed; });
  };
  make_units();
  send({0, 0}, 16);  // all of them are of the first builder
  ASSERT_SOON(pump_, closed == 1);
  // What it has handed over is settled, and nothing else.
  ASSERT_SOON(pump_, held() == (16 - 5) * sources_count);
  EXPECT_EQ(seen_.size(), 5U);
}

TEST_P(EventBuilding, who_is_no_unit_is_turned_away_and_told_of) {
  make_builders();
  std::string refused;
  builders_[0]->on_refused([&](const PeerInfo&, std::string_view why) { refused = why; });
  Push other(here_);
  other.connect(addresses_[0]);
  ASSERT_SOON(pump_, !refused.empty());
  EXPECT_NE(refused.find("push"), std::string::npos) << refused;
}

TEST_P(EventBuilding, ends_in_order) {
  make_builders();
  make_units();
  send({0, 0}, 100);
  advance(end_of_run(0));
  int ended = 0;
  for (const auto& unit : units_) unit->finish(10s, [&] { ++ended; });
  ASSERT_SOON(pump_, ended == static_cast<int>(sources_count));
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(units_[0]->send({0, 100}, std::span<const std::byte>()), Status::closed);
  for (const auto& builder : builders_) builder->close(10s, [&] { ++ended; });
  ASSERT_SOON(pump_, ended == static_cast<int>(sources_count + builders_count));
}

// A builder tells what is settled when a range ends, and here none does.
TEST_P(EventBuilding, a_unit_ends_within_a_range_when_all_is_settled) {
  make_builders();
  make_units();
  send({0, 0}, 101);
  int ended = 0;
  for (const auto& unit : units_) unit->finish(1h, [&] { ++ended; });
  ASSERT_SOON(pump_, ended == static_cast<int>(sources_count));
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(seen_.size(), 101U);
}

ON_EVERY_TRANSPORT(EventBuilding);

}  // namespace
}  // namespace netio::test
