// Event building with an event manager over every transport: units, builders and the manager are in
// contexts of one thread.
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

constexpr std::uint32_t units_count = 3;
constexpr std::uint32_t builders_count = 2;
constexpr std::uint64_t range_events = 16;

// A busy machine may stop a builder for longer than its lease. Then an event is handed over again,
// and is marked.
class ManagedBuilding : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_absent(); !why.empty()) GTEST_SKIP() << why;
  }

  static BuildPlan plan() { return {units_count, builders_count, range_events, true}; }

  void make_manager(const std::string& address) {
    ManagerOptions options;
    options.plan = plan();
    options.lease = 200ms;
    options.wait = 1s;
    options.socket = hasty_socket();
    manager_ = std::make_unique<EventManager>(manager_context_, options);
    manager_address_ = manager_->bind(address);
  }
  void make_builder(std::uint32_t number) {
    BuilderOptions options;
    options.plan = plan();
    options.builder = number;
    options.deadline = 2s;
    options.socket = hasty_socket();
    builders_[number] = std::make_unique<BuilderUnit>(there_, options);
    builders_[number]->on_event([this, number](const Event& event) { take(number, event); });
    builders_[number]->bind(GetParam().address);
    builders_[number]->join(manager_address_);
  }
  void make_unit(std::uint32_t source) {
    ReadoutOptions options;
    options.plan = plan();
    options.source = source;
    options.socket = hasty_socket();
    units_[source] = std::make_unique<ReadoutUnit>(here_, options);
    units_[source]->join(manager_address_);
  }
  void make_all() {
    make_manager(GetParam().address);
    for (std::uint32_t number = 0; number < builders_count; ++number) make_builder(number);
    for (std::uint32_t source = 0; source < units_count; ++source) make_unit(source);
  }

  void take(std::uint32_t builder, const Event& event) {
    EXPECT_EQ(event.id().run, 7U);
    EXPECT_TRUE(event.again() || !seen_.contains(event.id())) << event.id().number;
    ++seen_[event.id()];
    ++built_by_[builder];
    for (std::uint32_t source = 0; source < event.size(); ++source) {
      const EventFragment fragment = event[source];
      if (!fragment.here) continue;
      EXPECT_TRUE(same_bytes(fragment.bytes(), fragment_bytes(source, event.id())))
          << event.id().number;
    }
    if (!event.complete()) ++incomplete_;
    if (on_event_) on_event_(event);
  }
  void send(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t number = first; number < first + count; ++number) {
      for (std::uint32_t source = 0; source < units_count; ++source) {
        if (!units_[source]) continue;
        const std::vector<std::byte> fragment = fragment_bytes(source, {7, number});
        ASSERT_SOON(pump_, units_[source]->send({7, number}, fragment) == Status::ok);
      }
    }
  }
  // Everything below this is built, and the stores are empty.
  void stop(std::uint64_t below) {
    for (const auto& unit : units_) {
      if (unit) unit->advance({7, below});
    }
    bool stopped = false;
    manager_->stop({7, below}, [&] { stopped = true; });
    ASSERT_SOON(pump_, stopped);
    ASSERT_SOON(pump_, held() == 0);
  }
  [[nodiscard]] std::uint64_t held() const {
    std::uint64_t held = 0;
    for (const auto& unit : units_) held += unit ? unit->books().held : 0;
    return held;
  }

  Context here_{memory_to_build()};
  Context there_{memory_to_build()};
  Context manager_context_{memory_to_build()};
  Pump pump_{&here_, &there_, &manager_context_};
  std::string manager_address_;
  std::unique_ptr<EventManager> manager_;
  std::vector<std::unique_ptr<BuilderUnit>> builders_{builders_count};
  std::vector<std::unique_ptr<ReadoutUnit>> units_{units_count};
  std::map<EventId, int> seen_;
  std::vector<std::uint64_t> built_by_ = std::vector<std::uint64_t>(builders_count);
  std::uint64_t incomplete_ = 0;
  std::function<void(const Event&)> on_event_;
};

TEST_P(ManagedBuilding, a_unit_is_told_what_is_settled_and_how_full_it_is) {
  make_manager(GetParam().address);
  for (std::uint32_t source = 0; source < units_count; ++source) make_unit(source);
  std::vector<EventId> told;
  int high = 0;
  int low = 0;
  units_[0]->on_settled([&](EventId below) {
    EXPECT_TRUE(told.empty() || told.back() < below);
    told.push_back(below);
  });
  units_[0]->on_high_watermark([&] { ++high; });
  units_[0]->on_low_watermark([&] { ++low; });
  send(0, 40);
  EXPECT_EQ(units_[0]->settled(), (EventId{7, 0}));
  pump_.turns(2);
  EXPECT_EQ(high + low, 0);
  for (std::uint32_t number = 0; number < builders_count; ++number) make_builder(number);
  stop(40);
  ASSERT_SOON(pump_, !told.empty() && told.back() >= EventId{7, 40});
  EXPECT_GE(units_[0]->settled(), (EventId{7, 40}));
  EXPECT_EQ(units_[0]->fill(), 0.0);
  EXPECT_EQ(high + low, 0);
}

TEST_P(ManagedBuilding, hands_over_every_event_and_ends_where_it_is_stopped) {
  make_all();
  std::vector<EventId> stops;
  units_[0]->on_stop([&](EventId at) { stops.push_back(at); });
  send(0, 1000);
  stop(1000);
  EXPECT_EQ(seen_.size(), 1000U);
  EXPECT_EQ(incomplete_, 0U);
  EXPECT_GT(built_by_[0], 0U);
  EXPECT_GT(built_by_[1], 0U);
  ASSERT_FALSE(stops.empty());
  EXPECT_EQ(stops[0], (EventId{7, 1000}));
  EXPECT_EQ(units_[0]->books().sent, 1000U);
  EXPECT_EQ(units_[0]->books().settled, 1000U);
}

TEST_P(ManagedBuilding, others_take_over_what_a_builder_had_that_is_gone) {
  make_all();
  send(0, 200);
  ASSERT_SOON(pump_, seen_.size() > 50);
  builders_[1].reset();
  send(200, 400);
  stop(600);
  EXPECT_EQ(seen_.size(), 600U);
  EXPECT_EQ(incomplete_, 0U);
  EXPECT_GE(manager_->books().again, 0U);
  // It comes back, at another address, and has its share again.
  make_builder(1);
  ASSERT_SOON(pump_, manager_->books().builders[1].lease == LeaseState::held);
}

TEST_P(ManagedBuilding, a_builder_that_was_restarted_is_found_where_it_is_now) {
  make_all();
  send(0, 200);
  ASSERT_SOON(pump_, built_by_[1] > 20);
  builders_[1].reset();
  make_builder(1);
  const std::uint64_t before = built_by_[1];
  // It is given ranges when two leases of the one before are over.
  for (std::uint64_t first = 200; built_by_[1] == before && first < 100'000; first += 100) {
    send(first, 100);
    pump_.run_for(20ms);
  }
  EXPECT_GT(built_by_[1], before);
  EXPECT_EQ(incomplete_, 0U);
}

TEST_P(ManagedBuilding, a_new_manager_goes_on_and_loses_nothing) {
  make_all();
  send(0, 300);
  ASSERT_SOON(pump_, seen_.size() > 50);
  const std::string address = manager_address_;
  const std::uint64_t term = manager_->books().term;
  manager_.reset();
  send(300, 300);
  // A term is a time in seconds, unless a peer knows a higher one.
  make_manager(address);
  send(600, 300);
  stop(900);
  EXPECT_GT(manager_->books().term, term);
  EXPECT_EQ(seen_.size(), 900U);
  EXPECT_EQ(incomplete_, 0U);
}

TEST_P(ManagedBuilding, events_of_a_unit_that_is_gone_are_incomplete_and_no_others) {
  make_all();
  send(0, 160);
  ASSERT_SOON(pump_, seen_.size() == 160);
  units_[2].reset();
  send(160, 160);
  ASSERT_SOON(pump_, seen_.size() == 320);
  EXPECT_EQ(incomplete_, 160U);
  make_unit(2);
  EventId begin;
  bool greeted = false;
  units_[2]->on_begin([&](EventId produced) {
    begin = produced;
    greeted = true;
  });
  ASSERT_SOON(pump_, greeted && units_[2]->builders_connected() == builders_count);
  EXPECT_EQ(begin, (EventId{7, 320}));
  send(320, 160);
  stop(480);
  EXPECT_EQ(seen_.size(), 480U);
  EXPECT_EQ(incomplete_, 160U);
}

TEST_P(ManagedBuilding, who_is_told_another_plan_is_refused_in_words) {
  make_all();
  ReadoutOptions options;
  options.plan = plan();
  options.plan.sources = 4;
  options.source = 3;
  options.socket = hasty_socket();
  ReadoutUnit other(here_, options);
  std::string why;
  bool was_up = false;
  other.on_manager_up([&](const PeerInfo&) { was_up = true; });
  other.on_manager_refused([&](std::string_view told) { why = told; });
  other.join(manager_address_);
  ASSERT_SOON(pump_, !why.empty());
  EXPECT_NE(why.find("sources: 3 at the manager, 4 at the unit"), std::string::npos) << why;
  EXPECT_FALSE(was_up);
  EXPECT_THROW(other.join(manager_address_), Error);
  EXPECT_THROW(other.connect(0, manager_address_), Error);
  options.plan.managed = false;
  ReadoutUnit without(here_, options);
  EXPECT_THROW(without.join(manager_address_), Error);
  send(0, 64);
  stop(64);
  EXPECT_EQ(seen_.size(), 64U);
}

TEST_P(ManagedBuilding, ends_in_order) {
  make_all();
  send(0, 100);
  stop(100);
  std::size_t ended = 0;
  for (const auto& unit : units_) unit->finish(10s, [&] { ++ended; });
  for (const auto& builder : builders_) builder->close(10s, [&] { ++ended; });
  ASSERT_SOON(pump_, ended == units_count + builders_count);
  manager_->close(10s, [&] { ++ended; });
  ASSERT_SOON(pump_, ended == units_count + builders_count + 1);
  EXPECT_EQ(seen_.size(), 100U);
}

// The manager is gone as soon as everything is settled. What units still had to say to it is not
// waited for, nor what they hold beyond its stop.
TEST_P(ManagedBuilding, units_end_with_a_manager_that_stops_in_front_of_what_they_have) {
  make_all();
  send(0, 100);
  ASSERT_SOON(pump_, seen_.size() == 100);
  send(100, 5);
  std::size_t ended = 0;
  for (const auto& unit : units_) {
    unit->on_stop([&](EventId) {
      unit->advance(end_of_run(7));
      unit->finish(1h, [&] { ++ended; });
    });
  }
  manager_->stop({7, 96}, [&] { manager_->close(1s, [&] { ++ended; }); });
  ASSERT_SOON(pump_, ended == units_count + 1);
  for (const auto& unit : units_) EXPECT_LE(unit->books().held, 9U);
}

ON_EVERY_TRANSPORT(ManagedBuilding);

}  // namespace
}  // namespace netio::test
