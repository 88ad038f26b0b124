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
  EXPECT_EQ((BuildPlan{0, 3, 10}.fault()), "there are no sources");
  EXPECT_EQ((BuildPlan{2, 0, 10}.fault()), "there are no builders");
  EXPECT_EQ((BuildPlan{2, 3, 0}.fault()), "a range has no events");
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
  EXPECT_EQ(plan_of_three.difference(plan_of_three), "");
  EXPECT_EQ(plan_of_three.difference({2, 4, 10}), "builders: 3 here, 4 there");
  EXPECT_EQ(plan_of_three.difference({1, 3, 10}), "sources: 2 here, 1 there");
  EXPECT_EQ(plan_of_three.difference({2, 3, 9}), "events of a range: 10 here, 9 there");
}

}  // namespace
}  // namespace netio::detail
