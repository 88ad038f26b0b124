// ManagedBuilder: what it hands over, and when it may.
#include "build/managed_builder.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::int64_t lease_of_builder = 1'000'000;
const BuildPlan plan_of_one_builder{1, 1, 4, true};

// A builder with one unit and a manager whose words the test says.
class ManagedBuilderTest : public testing::Test, public ManagedBuilderOutput {
 protected:
  void SetUp() override {
    ManagedBuilderSettings settings;
    settings.building.plan = plan_of_one_builder;
    settings.building.builder_run = 77;
    settings.building.window_bytes = 10'000;
    settings.building.deadline_ns = 100 * lease_of_builder;
    ASSERT_EQ(settings.fault(), "");
    builder.emplace(settings, *this);
    builder->at(0);
    ASSERT_EQ(builder->connected(UnitHello{plan_of_one_builder, 0, 5, {}, {}, 0, 0, {}, {}}).why,
              "");
    builder->manager_connected();
  }

  bool say(std::uint32_t, const BuilderMessage&) noexcept override { return true; }
  bool hand_over(const BuiltEvent& event, EventId) noexcept override {
    events.push_back(event.id);
    again = event.again;
    return false;
  }
  void drop(std::uint32_t, EventId, std::uint64_t memory) noexcept override {
    dropped.push_back(memory);
  }
  void refuse(std::uint32_t, std::string why) override { refused = std::move(why); }
  bool tell_manager(const BuilderToManager& message) noexcept override {
    if (const auto* said = std::get_if<BuilderReports>(&message)) report = *said;
    return true;
  }
  void refuse_manager(std::string why) override { refused = std::move(why); }
  std::int64_t clock_ns() noexcept override { return now; }

  void welcome(std::uint64_t term, std::uint64_t first = 0) {
    builder->manager_received(
        BuilderWelcome{term, term, lease_of_builder, first_assignment(term) + first, {}});
  }
  void expect(std::uint64_t term, std::uint64_t count, bool marked = false) {
    const std::uint64_t from = 4 * count;
    builder->manager_received(
        BuilderExpects{{first_assignment(term) + count, 0, {{3, from}, {3, from + 4}}, marked}});
  }
  void answer() { builder->manager_received(BuilderLease{report.number}); }
  void give(std::uint64_t term, std::uint64_t count, std::uint64_t number) {
    builder->add(
        0, Fragment{{first_assignment(term) + count, number}, 36, given++, FragmentStatus::good},
        number);
    builder->added(0);
  }

  std::optional<ManagedBuilder> builder;
  std::int64_t now = 0;
  std::uint64_t given = 0;
  std::vector<EventId> events;
  bool again = false;
  std::vector<std::uint64_t> dropped;
  BuilderReports report;
  std::string refused;
};

TEST_F(ManagedBuilderTest, hands_over_what_it_expects_while_it_has_a_lease) {
  welcome(1);
  expect(1, 0, true);
  give(1, 0, 2);
  EXPECT_TRUE(events.empty());
  answer();
  EXPECT_EQ(events, (std::vector<EventId>{{3, 2}}));
  EXPECT_TRUE(again);
}

TEST_F(ManagedBuilderTest, waits_with_fragments_of_an_assignment_that_it_has_not_heard_of) {
  welcome(1);
  answer();
  give(1, 0, 2);
  EXPECT_TRUE(events.empty());
  expect(1, 0);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(ManagedBuilderTest, has_its_lease_from_the_time_of_its_report_and_not_of_the_answer) {
  welcome(1);
  expect(1, 0);
  now = lease_of_builder - 1;
  answer();
  give(1, 0, 0);
  EXPECT_EQ(events.size(), 1U);
  now = lease_of_builder;
  give(1, 0, 1);
  EXPECT_EQ(events.size(), 1U);
  builder->at(now);
  answer();
  EXPECT_EQ(events.size(), 2U);
}

TEST_F(ManagedBuilderTest, drops_what_was_taken_away) {
  welcome(1);
  expect(1, 0);
  give(1, 0, 2);
  builder->manager_received(BuilderRevoked{first_assignment(1) + 1});
  EXPECT_EQ(dropped, (std::vector<std::uint64_t>{2}));
  answer();
  EXPECT_TRUE(events.empty());
}

TEST_F(ManagedBuilderTest, hands_nothing_over_once_a_unit_follows_a_newer_manager) {
  welcome(1);
  expect(1, 0);
  answer();
  give(2, 0, 0);
  builder->received(0, UnitMark{{first_assignment(2) + 1, 0}, given});
  EXPECT_TRUE(events.empty());
  EXPECT_FALSE(builder->has_lease());
  welcome(1);
  EXPECT_EQ(refused, "is older than a manager before");
}

TEST_F(ManagedBuilderTest, tells_the_manager_which_assignments_are_done) {
  welcome(1);
  expect(1, 0);
  answer();
  give(1, 0, 1);
  builder->received(0, UnitMark{{first_assignment(1) + 1, 0}, given});
  EXPECT_EQ(report.done, first_assignment(1) + 1);
}

TEST_F(ManagedBuilderTest, drops_events_that_are_not_in_their_assignment) {
  welcome(1);
  expect(1, 0);
  answer();
  give(1, 0, 4);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(dropped, (std::vector<std::uint64_t>{4}));
}

TEST_F(ManagedBuilderTest, asks_for_its_lease_four_times_while_it_runs) {
  welcome(1);
  const std::uint64_t first = report.number;
  for (now = 0; now < lease_of_builder; now += lease_of_builder / 16) builder->at(now);
  EXPECT_GE(report.number, first + 3);
}

}  // namespace
}  // namespace netio::detail
