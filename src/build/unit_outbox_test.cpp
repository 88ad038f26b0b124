// UnitOutbox: where sending goes on, and what dropped fragments cost.
#include "build/unit_outbox.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

void hold(UnitOutbox& outbox, std::uint64_t number) {
  ASSERT_TRUE(outbox.add({0, number}, 10, number, FragmentStatus::good));
}

const auto always = [](EventId) { return true; };
const auto never = [](EventId) { return false; };
const auto ignored = [](const HeldFragment&) {};

TEST(UnitOutbox, goes_on_with_the_first_that_is_wanted) {
  UnitOutbox outbox;
  for (const std::uint64_t number : {3U, 5U, 9U}) hold(outbox, number);
  outbox.go_to({0, 4});
  ASSERT_NE(outbox.next(), nullptr);
  EXPECT_EQ(outbox.next()->event.number, 5U);
  outbox.go_to({0, 10});
  EXPECT_EQ(outbox.next(), nullptr);
  outbox.go_to({0, 0});
  EXPECT_EQ(outbox.next()->event.number, 3U);
}

TEST(UnitOutbox, forgets_what_is_settled_whether_it_was_sent_or_not) {
  UnitOutbox outbox;
  for (const std::uint64_t number : {3U, 5U, 9U}) hold(outbox, number);
  outbox.sent();
  std::vector<std::uint64_t> forgotten;
  outbox.settle({0, 9}, [&](const HeldFragment& each) { forgotten.push_back(each.memory); });
  EXPECT_EQ(forgotten, (std::vector<std::uint64_t>{3, 5}));
  ASSERT_NE(outbox.next(), nullptr);
  EXPECT_EQ(outbox.next()->event.number, 9U);
}

TEST(UnitOutbox, tells_of_dropped_fragments_that_follow_each_other_at_once) {
  UnitOutbox outbox;
  ASSERT_TRUE(outbox.add_dropped({0, 4}, always));
  outbox.sent();
  ASSERT_TRUE(outbox.add_dropped({0, 5}, always));
  EXPECT_EQ(outbox.size(), 1U);
  ASSERT_NE(outbox.next(), nullptr) << "it has grown, and is sent again";
  EXPECT_EQ(outbox.next()->below(), (EventId{0, 6}));
  ASSERT_TRUE(outbox.add_dropped({0, 9}, never));
  EXPECT_EQ(outbox.size(), 2U);
}

TEST(UnitOutbox, has_a_bound_for_what_it_knows_of_dropped_fragments) {
  UnitOutbox outbox;
  for (std::uint64_t number = 0; number < 5 * UnitOutbox::dropped_max; ++number) {
    ASSERT_TRUE(outbox.add_dropped({0, 2 * number}, never));
  }
  EXPECT_EQ(outbox.size(), UnitOutbox::dropped_max);
  outbox.settle(end_of_run(0), ignored);
  EXPECT_TRUE(outbox.empty());
}

}  // namespace
}  // namespace netio::detail
