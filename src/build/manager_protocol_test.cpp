// ManagerProtocol: which ranges go to whom, when they are taken away, and how a term begins.
#include "build/manager_protocol.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::int64_t lease_of_manager = 80'000;

ManagerSettings settings_for(std::uint32_t sources, std::uint32_t builders) {
  ManagerSettings settings;
  settings.plan = {sources, builders, 4, true};
  settings.manager_run = 7;
  settings.lease_ns = lease_of_manager;
  settings.wait_ns = lease_of_manager;
  return settings;
}

TEST(ManagerSettings, have_a_fault_in_words_if_they_make_no_sense) {
  const ManagerSettings good = settings_for(1, 1);
  EXPECT_EQ(good.fault(), "");
  const auto with = [&](auto&& change) {
    ManagerSettings settings = good;
    change(settings);
    return settings.fault();
  };
  EXPECT_EQ(with([](ManagerSettings& s) { s.plan.managed = false; }), "the plan has no manager");
  EXPECT_EQ(with([](ManagerSettings& s) { s.plan.sources = 0; }),
            "a plan of 0 sources: there may be 1 to 65536");
  EXPECT_EQ(with([](ManagerSettings& s) { s.manager_run = 0; }), "a run of a manager is never 0");
  EXPECT_EQ(with([](ManagerSettings& s) { s.term_least = 0; }), "a term is from 1 to 4294967295");
  EXPECT_EQ(with([](ManagerSettings& s) { s.lease_ns = 0; }), "the lease is no time");
}

// A manager with units and builders whose words the test says.
class ManagerProtocolTest : public testing::Test, public ManagerOutput {
 protected:
  void make(std::uint32_t sources, std::uint32_t builders) {
    settings = settings_for(sources, builders);
    assigned.assign(builders, {});
    numbers.assign(builders, 0);
    manager.emplace(settings, *this);
  }
  bool say_to_unit(std::uint32_t source, const ManagerToUnit& message) noexcept override {
    if (source != 0) return true;
    if (const auto* said = std::get_if<UnitWelcome>(&message)) welcome = *said;
    if (const auto* said = std::get_if<UnitSettled>(&message)) settled.push_back(said->span);
    return true;
  }
  bool say_to_builder(std::uint32_t builder, const ManagerToBuilder& message) noexcept override {
    if (const auto* said = std::get_if<BuilderExpects>(&message)) {
      assigned[builder].push_back(said->assignment);
    }
    if (std::holds_alternative<BuilderRevoked>(message)) ++revoked;
    if (std::holds_alternative<BuilderLease>(message)) ++leases;
    return true;
  }
  void refuse_unit(std::uint32_t, std::string why) override { refused = std::move(why); }
  void refuse_builder(std::uint32_t, std::string why) override { refused = std::move(why); }
  void on_superseded(std::uint64_t term) noexcept override { superseded = term; }
  void on_stopped(EventId at) noexcept override { stopped = at; }
  std::int64_t clock_ns() noexcept override { return now; }

  void pass(std::int64_t time) {
    for (const std::int64_t end = now + time; now < end;) {
      now += lease_of_manager / 16;
      manager->at(now);
    }
  }
  std::string join_unit(std::uint32_t source, UnitJoins hello = {}) {
    hello.plan = settings.plan;
    hello.source = source;
    hello.unit_run = source + 1;
    return manager->unit_connected(hello).why;
  }
  std::string join_builder(std::uint32_t builder, BuilderJoins hello = {}) {
    hello.plan = settings.plan;
    hello.builder = builder;
    hello.builder_run = builder + 1;
    return manager->builder_connected(hello).why;
  }
  void produce(std::uint32_t source, std::uint64_t below, bool busy = false) {
    manager->received(source, UnitProduced{{0, below}, {0, 0}, {}, busy, manager->term()});
  }
  // The builder is done with all assignments below this one.
  void report(std::uint32_t builder, std::uint64_t done, std::uint32_t credit = 2) {
    manager->received(builder, BuilderReports{++numbers[builder],
                                              first_assignment(manager->term()) + done, credit});
  }
  void begin(std::uint32_t sources, std::uint32_t builders) {
    make(sources, builders);
    for (std::uint32_t each = 0; each < sources; ++each) ASSERT_EQ(join_unit(each), "");
    for (std::uint32_t each = 0; each < builders; ++each) ASSERT_EQ(join_builder(each), "");
    pass(2 * lease_of_manager + lease_of_manager / 4);
    ASSERT_EQ(manager->term(), 1U);
  }

  ManagerSettings settings;
  std::optional<ManagerProtocol> manager;
  std::int64_t now = 0;
  std::vector<std::vector<Assignment>> assigned;  // to each builder
  std::vector<std::uint64_t> numbers;
  std::vector<EventSpan> settled;
  UnitWelcome welcome;
  int revoked = 0;
  int leases = 0;
  std::uint64_t superseded = 0;
  EventId stopped;
  std::string refused;
};

TEST_F(ManagerProtocolTest, learns_for_two_leases_before_its_term_begins) {
  make(1, 1);
  ASSERT_EQ(join_unit(0), "");
  pass(2 * lease_of_manager - lease_of_manager / 4);
  EXPECT_EQ(manager->term(), 0U);
  pass(lease_of_manager / 2);
  EXPECT_EQ(manager->term(), 1U);
  EXPECT_EQ(welcome.term, 1U);
}

TEST_F(ManagerProtocolTest, assigns_a_range_when_all_units_have_produced_it) {
  begin(2, 1);
  report(0, 0);
  produce(0, 4);
  EXPECT_TRUE(assigned[0].empty());
  produce(1, 5);
  ASSERT_EQ(assigned[0].size(), 1U);
  EXPECT_EQ(assigned[0][0].span, (EventSpan{{0, 0}, {0, 4}}));
  EXPECT_FALSE(assigned[0][0].again);
}

TEST_F(ManagerProtocolTest, assigns_a_part_of_a_range_if_a_store_is_full) {
  begin(1, 1);
  report(0, 0);
  produce(0, 3, true);
  ASSERT_EQ(assigned[0].size(), 1U);
  EXPECT_EQ(assigned[0][0].span, (EventSpan{{0, 0}, {0, 3}}));
}

TEST_F(ManagerProtocolTest, does_not_wait_for_a_unit_that_hangs_or_is_gone) {
  begin(3, 1);
  report(0, 0);
  produce(0, 4);
  manager->unit_disconnected(2);
  for (int i = 0; i < 10; ++i) {
    pass(lease_of_manager / 4);
    report(0, 0);
  }
  EXPECT_EQ(assigned[0].size(), 1U);
  EXPECT_TRUE(manager->is_behind(1));
  EXPECT_TRUE(manager->is_behind(2));
}

TEST_F(ManagerProtocolTest, goes_on_waiting_after_it_was_stopped_itself) {
  begin(2, 2);
  report(0, 0);
  produce(0, 8);
  produce(1, 4);
  ASSERT_EQ(assigned[0].size(), 1U);
  now += 20 * lease_of_manager;
  manager->at(now);
  EXPECT_FALSE(manager->is_behind(1));
  EXPECT_EQ(revoked, 0);
  report(1, 0);
  EXPECT_TRUE(assigned[1].empty());
}

TEST_F(ManagerProtocolTest, does_not_wait_for_a_unit_that_has_not_begun) {
  make(2, 1);
  UnitJoins not_begun;
  not_begun.begins = end_of_all;
  ASSERT_EQ(join_unit(0), "");
  ASSERT_EQ(join_unit(1, not_begun), "");
  ASSERT_EQ(join_builder(0), "");
  pass(2 * lease_of_manager + lease_of_manager / 4);
  report(0, 0);
  produce(0, 4);
  produce(1, 4);
  ASSERT_EQ(assigned[0].size(), 1U);
  manager->unit_disconnected(1);
  ASSERT_EQ(join_unit(1, not_begun), "");
  EXPECT_TRUE(manager->is_behind(1));
  report(0, 1);
  produce(0, 8);
  EXPECT_EQ(assigned[0].size(), 2U);
  produce(1, 8);
  produce(0, 12);
  EXPECT_EQ(assigned[0].size(), 2U) << "it has begun, and is waited for";
}

// Units are started one after the other, and the first one begins at once.
TEST_F(ManagerProtocolTest, waits_for_units_that_have_not_begun_before_anything_is_assigned) {
  make(3, 1);
  ASSERT_EQ(join_builder(0), "");
  pass(10 * lease_of_manager);
  UnitJoins not_begun;
  not_begun.begins = end_of_all;
  ASSERT_EQ(join_unit(0), "");
  produce(0, 8);
  report(0, 0);
  EXPECT_TRUE(assigned[0].empty()) << "nobody has waited for the others yet";
  for (const std::uint32_t source : {1U, 2U}) ASSERT_EQ(join_unit(source, not_begun), "");
  produce(1, 8);
  report(0, 0);
  EXPECT_TRUE(assigned[0].empty());
  produce(2, 8);
  EXPECT_EQ(assigned[0].size(), 2U);
}

TEST_F(ManagerProtocolTest, tells_a_unit_to_begin_above_what_others_have_produced_if_it_is_late) {
  UnitJoins not_begun;
  not_begun.begins = end_of_all;
  make(2, 1);
  ASSERT_EQ(join_builder(0), "");
  ASSERT_EQ(join_unit(1), "");
  pass(2 * lease_of_manager + lease_of_manager / 4);
  produce(1, 7);
  ASSERT_EQ(join_unit(0, not_begun), "");
  EXPECT_EQ(welcome.produced, EventId{}) << "nothing is assigned";
  report(0, 0);
  produce(0, 4);
  ASSERT_EQ(assigned[0].size(), 1U);
  manager->unit_disconnected(0);
  ASSERT_EQ(join_unit(0, not_begun), "");
  EXPECT_EQ(welcome.produced, (EventId{0, 7}));
}

TEST_F(ManagerProtocolTest, gives_a_builder_no_more_than_its_credit_and_settles_what_is_done) {
  begin(1, 1);
  report(0, 0, 2);
  produce(0, 16);
  EXPECT_EQ(assigned[0].size(), 2U);
  report(0, 1, 2);
  EXPECT_EQ(settled, (std::vector<EventSpan>{{{0, 0}, {0, 4}}}));
  EXPECT_EQ(assigned[0].size(), 3U);
}

TEST_F(ManagerProtocolTest, takes_ranges_away_two_leases_after_its_last_answer) {
  begin(1, 2);
  report(0, 0, 2);
  produce(0, 8);
  ASSERT_EQ(assigned[0].size(), 2U);
  for (int i = 0; i < 7; ++i) {
    pass(lease_of_manager / 4);
    report(1, 0, 2);
  }
  EXPECT_TRUE(assigned[1].empty());
  pass(lease_of_manager / 2);
  report(1, 0, 2);
  ASSERT_EQ(assigned[1].size(), 2U);
  EXPECT_TRUE(assigned[1][0].again);
  EXPECT_EQ(revoked, 1);
  report(0, 2, 2);
  EXPECT_TRUE(settled.empty()) << "the builder has lost them";
}

TEST_F(ManagerProtocolTest, gives_shares_by_speed) {
  begin(1, 2);
  report(0, 0, 2);
  report(1, 0, 2);
  produce(0, 4000);
  for (std::uint64_t round = 1; round <= 12; ++round) {
    report(0, round);
    if (round % 3 == 0) report(1, round / 3);
  }
  EXPECT_EQ(assigned[0].size(), 14U);
  EXPECT_EQ(assigned[1].size(), 6U);
}

TEST_F(ManagerProtocolTest, gives_a_builder_that_is_done_at_once_twice_its_share_at_most) {
  begin(1, 4);
  for (std::uint32_t each = 0; each < 4; ++each) report(each, 0, 100);
  produce(0, 40);
  ASSERT_EQ(assigned[0].size(), 3U);
  for (std::uint32_t each = 1; each < 4; ++each) report(each, 0, 1);  // these are slow
  produce(0, 4000);
  for (std::uint64_t round = 0; round < 50; ++round) report(0, assigned[0].size(), 100);
  std::size_t all = 0;
  for (const auto& each : assigned) all += each.size();
  EXPECT_LE(assigned[0].size(), all / 2 + 2);
}

TEST_F(ManagerProtocolTest, assigns_again_what_a_manager_before_may_have_left_open) {
  make(1, 1);
  UnitJoins hello;
  hello.term = 4;
  hello.manager_run = 3;
  hello.assigned = {0, 12};
  hello.open = {{{0, 4}, {0, 8}}};
  ASSERT_EQ(join_unit(0, hello), "");
  ASSERT_EQ(join_builder(0), "");
  manager->received(0, UnitProduced{{0, 20}, {0, 12}, {0, 12}, false, 4});
  pass(2 * lease_of_manager + lease_of_manager / 4);
  EXPECT_EQ(manager->term(), 5U);
  report(0, 0, 10);
  ASSERT_EQ(assigned[0].size(), 3U);
  EXPECT_EQ(assigned[0][0].span, hello.open[0]);
  EXPECT_EQ(assigned[0][1].span, (EventSpan{{0, 12}, {0, 16}}));
  for (const Assignment& each : assigned[0]) EXPECT_TRUE(each.again);
  manager->received(0, UnitProduced{{0, 24}, {0, 20}, {0, 20}, false, 5});
  ASSERT_EQ(assigned[0].size(), 4U);
  EXPECT_FALSE(assigned[0][3].again);
}

TEST_F(ManagerProtocolTest,
       passes_over_nothing_that_a_unit_holds_which_was_not_there_when_it_learned) {
  make(1, 1);
  settings.term_least = 9;
  manager.emplace(settings, *this);
  ASSERT_EQ(join_builder(0), "");
  pass(2 * lease_of_manager + lease_of_manager / 4);
  ASSERT_EQ(manager->term(), 9U);
  report(0, 0, 10);
  UnitJoins hello;
  hello.term = 4;
  hello.manager_run = 3;
  hello.assigned = {0, 12};
  hello.open = {{{0, 4}, {0, 8}}};
  ASSERT_EQ(join_unit(0, hello), "");
  manager->received(0, UnitProduced{{0, 16}, {0, 12}, {0, 12}, false, 4});
  ASSERT_FALSE(assigned[0].empty());
  EXPECT_EQ(assigned[0][0].span, (EventSpan{{0, 0}, {0, 4}}));
  EXPECT_TRUE(settled.empty());
}

TEST_F(ManagerProtocolTest, does_nothing_more_once_a_peer_knows_another_manager_of_its_term) {
  begin(1, 2);
  manager->unit_disconnected(0);
  UnitJoins hello;
  hello.term = 1;
  hello.manager_run = 8;
  EXPECT_EQ(join_unit(0, hello), "this manager is superseded");
  EXPECT_EQ(superseded, 1U);
  const int before = leases;
  report(1, 0);
  EXPECT_EQ(leases, before);
}

TEST_F(ManagerProtocolTest, has_stopped_when_everything_below_is_settled) {
  begin(1, 1);
  report(0, 0);
  manager->stop({0, 6});
  produce(0, 6);
  EXPECT_EQ(assigned[0].size(), 2U);
  report(0, 1);
  EXPECT_EQ(stopped, EventId{});
  report(0, 2);
  EXPECT_EQ(stopped, (EventId{0, 6}));
}

// A host's clock may be wrong by any number of years.
TEST_F(ManagerProtocolTest, has_a_higher_term_than_one_whose_clock_was_ahead) {
  using std::chrono::seconds;
  EXPECT_EQ(least_term_at(seconds(-5)), 1U);
  EXPECT_EQ(least_term_at(seconds(1'764'000'000)), 1'764'000'000U);
  UnitJoins unit;
  unit.term = least_term_at(seconds(INT64_MAX));
  unit.manager_run = 4;
  make(1, 1);
  settings.term_least = least_term_at(seconds(1'764'000'000));
  manager.emplace(settings, *this);
  ASSERT_EQ(join_unit(0, unit), "");
  pass(2 * lease_of_manager + lease_of_manager / 4);
  EXPECT_EQ(manager->term(), unit.term + 1);
}

TEST_F(ManagerProtocolTest, refuses_peers_that_break_the_rules) {
  begin(1, 1);
  report(0, 0);
  --numbers[0];
  report(0, 0);
  EXPECT_EQ(refused, "repeats a report");
  manager->received(0, UnitProduced{{0, 4}, {0, 5}, {}, false, 1});
  EXPECT_EQ(refused, "holds what it has not produced");
  EXPECT_EQ(join_unit(1), "no source 1: there are 0 to 0");
  manager->unit_disconnected(0);
  UnitJoins unit;
  unit.term = unit.manager_run = 1;
  unit.assigned = {0, 9};
  unit.open = {{{0, 0}, {0, 8}}, {{0, 4}, {0, 9}}};
  EXPECT_EQ(join_unit(0, unit), "open ranges that overlap, or are not in their order");
  manager->builder_disconnected(0);
  BuilderJoins builder;
  builder.newest_term = term_max + 1;
  EXPECT_EQ(join_builder(0, builder), "a term that makes no sense");
}

}  // namespace
}  // namespace netio::detail
