// BuildPlan: which builder has which events, and where its ranges begin and end.
#include "build/build_plan.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

const BuildPlan plan_of_three{2, 3, 10};

TEST(BuildPlan, gives_ranges_to_builders_in_turn) {
  EXPECT_EQ(plan_of_three.builder_of({0, 9}), 0U);
  EXPECT_EQ(plan_of_three.builder_of({0, 10}), 1U);
  EXPECT_EQ(plan_of_three.builder_of({7, 29}), 2U);
  EXPECT_EQ(plan_of_three.builder_of({7, 30}), 0U);
}

TEST(BuildPlan, has_a_fault_in_words_if_nothing_can_be_built) {
  EXPECT_EQ(plan_of_three.fault(), "");
  EXPECT_EQ((BuildPlan{0, 3, 10}.fault()), "a plan of 0 sources: there may be 1 to 65536");
  EXPECT_EQ((BuildPlan{2, 65'537, 10}.fault()),
            "a plan of 65537 builders: there may be 1 to 65536");
  EXPECT_EQ((BuildPlan{2, 3, 0}.fault()),
            "a plan of 0 events in a range: there may be 1 to 281474976710656");
}

TEST(BuildPlan, knows_the_first_event_of_a_builder_behind_a_position) {
  EXPECT_EQ(plan_of_three.first_of(1, {0, 12}), (EventId{0, 12}));
  EXPECT_EQ(plan_of_three.first_of(1, {0, 20}), (EventId{0, 40}));
  EXPECT_EQ(plan_of_three.first_of(0, {0, 5}), (EventId{0, 5}));
  EXPECT_EQ(plan_of_three.first_of(0, {0, 10}), (EventId{0, 30}));
}

TEST(BuildPlan, ends_with_the_run_where_no_further_range_fits) {
  const BuildPlan plan{2, 3, 1};
  const std::uint64_t last = event_number_max;
  EXPECT_EQ(plan.first_of(plan.builder_of({4, last}), {4, last}), (EventId{4, last}));
  const std::uint32_t after_next = (plan.builder_of({4, last}) + 2) % 3;
  EXPECT_EQ(plan.first_of(after_next, {4, last}), end_of_run(4));
  EXPECT_EQ(plan_of_three.end_of_range({4, last}), end_of_run(4));
}

TEST(BuildPlan, knows_the_last_range_that_ended) {
  EXPECT_EQ(plan_of_three.last_end_of(0, {0, 9}), (EventId{0, 0}));
  EXPECT_EQ(plan_of_three.last_end_of(0, {0, 10}), (EventId{0, 10}));
  EXPECT_EQ(plan_of_three.last_end_of(0, {0, 39}), (EventId{0, 10}));
  EXPECT_EQ(plan_of_three.last_end_of(2, {3, 29}), (EventId{3, 0}));
  EXPECT_EQ(plan_of_three.last_end_of(2, {3, 30}), (EventId{3, 30}));
  EXPECT_EQ(plan_of_three.last_end_of(1, end_of_run(3)), end_of_run(3));
}

TEST(BuildPlan, says_what_differs) {
  EXPECT_EQ(plan_of_three.difference("unit", "builder", plan_of_three), "");
  EXPECT_EQ(plan_of_three.difference("unit", "builder", {2, 4, 10}),
            "builders: 3 at the unit, 4 at the builder");
  EXPECT_EQ(plan_of_three.difference("unit", "builder", {1, 3, 10}),
            "sources: 2 at the unit, 1 at the builder");
  EXPECT_EQ(plan_of_three.difference("unit", "builder", {2, 3, 9}),
            "events of a range: 10 at the unit, 9 at the builder");
}

}  // namespace
}  // namespace netio::detail
