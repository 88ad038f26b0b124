// BuilderProtocol: which events are handed over, when, and what units are told.
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/allocation_counter.hpp"
#include "support/builder_protocol_fixture.hpp"

namespace netio::detail {
namespace {

TEST_F(BuilderProtocolTest, hands_an_event_over_when_all_have_sent_it) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  EXPECT_TRUE(events.empty());
  give(1, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].complete);
  EXPECT_FALSE(events[0].again);
}

TEST_F(BuilderProtocolTest, does_not_wait_for_units_that_have_nothing) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  builder->received(1, UnitMark{{0, 1}, 0});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].complete);
}

TEST_F(BuilderProtocolTest, keeps_the_order_of_events) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  give(0, 1);
  EXPECT_TRUE(events.empty());
  give(1, 1);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].number, 0U);
  EXPECT_TRUE(events[0].complete) << "unit 1 has nothing for it, because it has sent event 1";
}

TEST_F(BuilderProtocolTest, hands_an_event_over_at_its_deadline) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  pass(deadline - deadline / 8);
  EXPECT_TRUE(events.empty());
  pass(deadline / 4);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].missing, (std::vector<Missing>{Missing::no, Missing::late}));
}

// Another builder, whose events fill its store, may be stopped.
TEST_F(BuilderProtocolTest, waits_for_a_unit_that_is_busy) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  builder->received(1, UnitBusy{true});
  for (int i = 0; i < 20; ++i) {  // it answers as often as it is asked
    pass(deadline / 2);
    ASSERT_TRUE(events.empty());
    builder->received(1, UnitBusy{true});
  }
  builder->received(1, UnitBusy{false});
  pass(deadline - deadline / 8);
  EXPECT_TRUE(events.empty());
  give(1, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].complete);
  give(0, 1);
  pass(deadline + deadline / 8);
  ASSERT_EQ(events.size(), 2U) << "it is busy no more";
  EXPECT_EQ(events[1].missing, (std::vector<Missing>{Missing::no, Missing::late}));
}

TEST_F(BuilderProtocolTest, asks_a_unit_that_is_busy_and_does_not_wait_for_one_that_hangs) {
  make();
  meet(0);
  meet(1);
  builder->received(0, UnitBusy{true});
  pass(2 * deadline);
  EXPECT_EQ(count<BuilderAsks>(), 0U) << "no event waits for it";
  give(1, 0);
  EXPECT_EQ(count<BuilderAsks>(), 1U);
  pass(deadline - deadline / 8);
  builder->received(0, UnitBusy{true});
  EXPECT_TRUE(events.empty());
  pass(deadline);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(count<BuilderAsks>(), 2U) << "it has not answered the second time";
  pass(deadline / 2);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].missing, (std::vector<Missing>{Missing::late, Missing::no}));
  give(1, 1);
  pass(deadline + deadline / 8);
  EXPECT_EQ(events.size(), 2U) << "and is given no more time";
}

// While another one was awaited, it was not asked.
TEST_F(BuilderProtocolTest, asks_a_unit_that_is_busy_before_it_is_late) {
  make(100);
  meet(0);
  meet(1);
  builder->received(1, UnitBusy{true});
  builder->received(0, UnitWaits{{0, 0}, 1000, 0});
  ASSERT_EQ(count<BuilderGrant>(), 1U) << "unit 0 may send, and hangs";
  pass(deadline + deadline / 2);
  builder->received(1, UnitBusy{false});
  give(1, 0);
  pass(deadline);
  EXPECT_TRUE(dropped.empty());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].missing, (std::vector<Missing>{Missing::late, Missing::no}));
}

// Its answer comes behind the fragments that it has sent meanwhile.
TEST_F(BuilderProtocolTest, gives_a_unit_its_time_that_was_busy_and_hung_and_goes_on) {
  make();
  meet(0);
  meet(1);
  builder->received(0, UnitBusy{true});
  give(1, 0);
  pass(2 * deadline);
  ASSERT_EQ(events.size(), 1U);
  give(0, 1);
  give(1, 2);
  EXPECT_EQ(events.size(), 2U) << "unit 1 has nothing for event 1";
  give(0, 2);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_TRUE(events[2].complete);
}

// What a unit said holds for its connection.
TEST_F(BuilderProtocolTest, does_not_wait_for_a_unit_that_is_gone_because_it_was_busy) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  builder->received(1, UnitBusy{true});
  pass(deadline / 2);
  builder->disconnected(1);
  pass(deadline + deadline / 8);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].missing, (std::vector<Missing>{Missing::no, Missing::not_connected}));
}

TEST_F(BuilderProtocolTest, waits_for_a_unit_that_sends_much_which_the_others_do_not_have) {
  make();
  meet(0);
  UnitHello far_ahead;
  far_ahead.begins = {0, 10};
  meet(1, far_ahead);
  give(1, 10);
  for (std::uint64_t number = 0; number < 11; ++number) {
    pass(deadline / 2);
    give(0, number);
  }
  ASSERT_EQ(events.size(), 11U);
  EXPECT_TRUE(events[10].complete);
  EXPECT_TRUE(dropped.empty());
}

TEST_F(BuilderProtocolTest, does_not_wait_for_a_unit_that_has_been_gone_for_a_deadline) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  builder->disconnected(1);
  pass(deadline + deadline / 8);
  ASSERT_EQ(events.size(), 1U);
  give(0, 1);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].missing, (std::vector<Missing>{Missing::no, Missing::not_connected}));
}

TEST_F(BuilderProtocolTest, that_was_away_from_all_units_waits_for_each_to_come_back) {
  make();
  meet(0);
  meet(1);
  builder->disconnected(0);
  builder->disconnected(1);
  pass(4 * deadline);
  meet(0);
  give(0, 0);
  pass(deadline / 2);
  EXPECT_TRUE(events.empty());
  meet(1);
  give(1, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].complete);
}

// A unit that was connected to an earlier run of the builder tries again after a pause, which may
// be as long as the deadline.
TEST_F(BuilderProtocolTest, has_a_longer_limit_for_units_that_it_has_to_meet) {
  meet_within = 10 * deadline;
  make();
  pass(20 * deadline);
  meet(0);
  give(0, 0);
  pass(9 * deadline);
  EXPECT_TRUE(events.empty());
  meet(1);
  give(1, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].complete);

  builder->disconnected(1);
  give(0, 1);
  pass(deadline + deadline / 8);
  ASSERT_EQ(events.size(), 2U) << "this one has been met";

  // The builder was away, and unit 1 is back first.
  pass(20 * deadline);
  builder->disconnected(0);
  pass(20 * deadline);
  meet(1);
  give(1, 2);
  pass(9 * deadline);
  EXPECT_EQ(events.size(), 2U);
  pass(deadline + deadline / 8);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[2].missing, (std::vector<Missing>{Missing::not_connected, Missing::no}));
}

// Also if another one is lost meanwhile, and nothing is open.
TEST_F(BuilderProtocolTest, takes_a_leap_for_a_small_step_while_it_has_to_meet_a_unit) {
  meet_within = 10 * deadline;
  make();
  meet(0);
  builder->disconnected(0);
  meet(0);
  pass(2 * deadline);
  builder->at(now += 50 * deadline);
  give(0, 0);
  EXPECT_TRUE(events.empty());
  meet(1);
  give(1, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].complete);
}

TEST_F(BuilderProtocolTest, that_was_away_meets_only_units_that_it_waited_for) {
  meet_within = 10 * deadline;
  make();
  meet(0);
  meet(1);
  builder->disconnected(1);
  pass(2 * deadline);
  builder->disconnected(0);
  pass(20 * deadline);
  meet(0);
  give(0, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].missing, (std::vector<Missing>{Missing::no, Missing::not_connected}));
}

TEST_F(BuilderProtocolTest, gives_a_unit_its_time_once_it_is_able_to_send) {
  make(100);
  meet(0);
  meet(1);
  give(0, 0);
  builder->received(0, UnitWaits{{0, 1}, 36, 1});
  pass(deadline - deadline / 8);
  give(1, 0);
  builder->received(1, UnitMark{{0, 2}, 1});
  ASSERT_EQ(events.size(), 1U);
  pass(deadline / 2);
  EXPECT_EQ(events.size(), 1U) << "its window was shut until event 0 was handed over";
  give(0, 1);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(events[1].complete);
}

TEST_F(BuilderProtocolTest, takes_a_leap_of_the_clock_for_a_small_step) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  builder->at(50 * deadline);
  EXPECT_TRUE(events.empty());
  give(1, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].complete);
}

TEST_F(BuilderProtocolTest, says_why_fragments_are_missing) {
  make();
  meet(0);
  UnitHello second;
  second.begins = {0, 1};
  meet(1, second);
  give(0, 0);
  builder->received(1, UnitDropped{{0, 1}, {0, 2}, 0});
  give(0, 1);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].missing[1], Missing::not_begun);
  EXPECT_EQ(events[1].missing[1], Missing::dropped);
}

TEST_F(BuilderProtocolTest, marks_what_an_earlier_run_may_have_handed_over) {
  make();
  UnitHello first;
  first.builder_run = 76;
  first.sent_below = {0, 1};
  meet(0, first);
  meet(1);
  for (const std::uint64_t number : {0U, 1U}) {
    give(0, number);
    give(1, number);
  }
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(events[0].again);
  EXPECT_FALSE(events[1].again);
}

TEST_F(BuilderProtocolTest, marks_everything_while_a_unit_is_away_that_may_know_more) {
  make();
  UnitHello first;
  first.builder_run = 76;
  meet(0, first);
  give(0, 0);
  pass(2 * deadline);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].again);
}

TEST_F(BuilderProtocolTest, takes_what_an_earlier_run_has_settled) {
  make();
  meet(0);
  give(0, 0);
  UnitHello second;
  second.builder_run = 76;
  second.settled = {0, 4};
  meet(1, second);
  EXPECT_EQ(dropped, (std::vector<std::uint64_t>{0}));
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(builder->books(0).late, 1U);
  EXPECT_EQ(builder->settled(), (EventId{0, 4}));
}

TEST_F(BuilderProtocolTest, grants_the_oldest_event_whatever_its_size) {
  make(100);
  meet(0);
  meet(1);
  builder->received(0, UnitWaits{{0, 0}, 5000, 0});
  EXPECT_EQ(count<BuilderGrant>(), 1U);
  give(0, 0, 5000);
  EXPECT_EQ(refused, "");
  give(1, 0);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(BuilderProtocolTest, tells_a_unit_that_waits_with_a_late_fragment_to_go_on) {
  make(100);
  meet(0);
  meet(1);
  give(1, 2);
  builder->received(1, UnitMark{{0, 3}, 1});
  pass(2 * deadline);
  ASSERT_EQ(events.size(), 1U);
  builder->received(0, UnitWaits{{0, 1}, 500, 0});
  EXPECT_EQ(count<BuilderWanted>(), 1U);
}

TEST_F(BuilderProtocolTest, hands_nothing_over_while_the_user_keeps_all_that_he_may) {
  keep = true;
  keep_max = 250;
  make();
  meet(0);
  meet(1);
  for (const std::uint64_t number : {0U, 1U}) {
    give(0, number);
    give(1, number);
  }
  EXPECT_EQ(events.size(), 1U);
  EXPECT_TRUE(builder->release({0, 0}));
  EXPECT_EQ(events.size(), 2U);
  EXPECT_FALSE(builder->release({0, 0}));
}

TEST_F(BuilderProtocolTest, settles_what_is_kept_with_its_release) {
  keep = true;
  make();
  meet(0);
  meet(1);
  give(0, 0);
  give(1, 0);
  EXPECT_EQ(builder->settled(), (EventId{0, 0}));
  EXPECT_TRUE(builder->release({0, 0}));
  EXPECT_EQ(builder->settled(), (EventId{0, 1}));
}

TEST_F(BuilderProtocolTest, gives_turns_first_to_units_that_the_oldest_event_misses) {
  make(1000, 1);
  meet(0);
  meet(1);
  builder->received(0, UnitWants{});
  EXPECT_EQ(count<BuilderTurn>(), 1U);
  give(0, 0);
  builder->received(1, UnitWants{});
  builder->received(0, UnitRests{});
  builder->received(0, UnitWants{});
  give(1, 0);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_EQ(count<BuilderTurn>(), 1U);
  builder->received(1, UnitRests{});
  EXPECT_EQ(count<BuilderTurn>(), 2U);
}

TEST_F(BuilderProtocolTest, does_not_wait_for_ever_for_the_turn_of_a_unit_that_hangs) {
  make(1000, 1);
  meet(0);
  meet(1);
  builder->received(1, UnitWants{});
  builder->received(0, UnitWants{});
  EXPECT_EQ(count<BuilderTurn>(), 0U);
  pass(deadline + deadline / 8);
  EXPECT_EQ(count<BuilderTurn>(), 1U);
}

TEST_F(BuilderProtocolTest, hands_an_event_over_though_the_missing_unit_hangs_with_its_turn) {
  make(1000, 1);
  meet(0);
  meet(1);
  builder->received(1, UnitWants{});
  give(1, 0);
  builder->received(0, UnitWants{});
  builder->received(1, UnitRests{});
  EXPECT_EQ(count<BuilderTurn>(), 1U);
  pass(deadline + deadline / 8);
  EXPECT_EQ(events.size(), 1U);
}

// Each call fails at each of its allocations first, and is made again then.
TEST_F(BuilderProtocolTest, changes_nothing_where_memory_runs_out) {
  make(1'000'000);
  said.reserve(1000);
  std::uint64_t failed = 0;
  const auto must_repeat = [&](const auto& call) {
    for (std::uint64_t first = 1; first < 10; ++first) {
      const std::size_t open = builder->open_events();
      const std::uint64_t received = builder->books(0).received;
      test::fail_allocations(first, 1);
      try {
        const test::Armed armed;
        call();
        return;
      } catch (const std::bad_alloc&) {
        ++failed;
        EXPECT_EQ(builder->books(0).received, received);
        EXPECT_EQ(builder->open_events(), open);
      }
    }
    FAIL() << "the call does not succeed";
  };
  must_repeat([&] { (void)builder->connected({one_builder, 0, 1, {}, {}, 0, 0, {}, {}}); });
  for (std::uint64_t number = 0; number < 100; ++number) {
    const Fragment fragment{{0, number}, 36, number, FragmentStatus::good};
    must_repeat([&] { builder->received(0, fragment, number); });
  }
  must_repeat([&] { builder->received(0, UnitDropped{{0, 100}, {0, 102}, 100}); });
  must_repeat([&] { builder->received(0, UnitWaits{{0, 103}, 36, 100}); });
  test::fail_allocations(0, 0);
  EXPECT_GT(failed, 5U);
  EXPECT_EQ(builder->open_events(), 101U);
  EXPECT_EQ(refused, "");
}

}  // namespace
}  // namespace netio::detail
