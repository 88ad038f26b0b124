// UnitProtocol: what a unit says to a builder, and what it answers to its user.
#include "build/unit_protocol.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/allocation_counter.hpp"
#include "support/unit_protocol_fixture.hpp"

namespace netio::detail {
namespace {

TEST(UnitSettings, have_a_fault_in_words_if_they_make_no_sense) {
  const UnitSettings good{plan_of_two, 0, 5, 500, WhenFull::again};
  EXPECT_EQ(good.fault(), "");
  const auto with = [&](auto&& change) {
    UnitSettings settings = good;
    change(settings);
    return settings.fault();
  };
  EXPECT_EQ(with([](UnitSettings& s) { s.plan.builders = 0; }),
            "a plan of 0 builders: there may be 1 to 65536");
  EXPECT_EQ(with([](UnitSettings& s) { s.source = 1; }), "no source 1: there are 0 to 0");
  EXPECT_EQ(with([](UnitSettings& s) { s.unit_run = 0; }), "a run of a unit is never 0");
  EXPECT_EQ(with([](UnitSettings& s) { s.store_bytes_max = 63; }),
            "the store does not take one fragment");
}

TEST_F(UnitProtocolTest, says_hello_once_it_knows_where_it_begins) {
  unit.connected(0);
  EXPECT_TRUE(said.empty());
  ASSERT_EQ(give(2), Status::ok);
  ASSERT_EQ(count<UnitHello>(), 1U);
  EXPECT_EQ(std::get<UnitHello>(said[0]).begins, (EventId{0, 2}));
}

TEST_F(UnitProtocolTest, begins_where_it_advances_first) {
  unit.advance({0, 0});
  unit.connected(0);
  ASSERT_EQ(count<UnitHello>(), 1U);
  EXPECT_EQ(std::get<UnitHello>(said[0]).begins, (EventId{0, 0}));
}

TEST_F(UnitProtocolTest, sends_what_is_wanted_and_the_ranges_of_the_builder_only) {
  for (std::uint64_t number = 1; number < 5; ++number) ASSERT_EQ(give(number), Status::ok);
  greet(8, 2);
  EXPECT_EQ(sent, (std::vector<std::uint64_t>{2, 3}));
}

TEST_F(UnitProtocolTest, takes_events_in_ascending_order) {
  ASSERT_EQ(give(3), Status::ok);
  EXPECT_EQ(give(3), Status::invalid);
  EXPECT_EQ(give(2), Status::invalid);
  EXPECT_EQ(unit.send({0, UINT64_MAX}, 0, 1, FragmentStatus::good), Status::invalid);
  EXPECT_EQ(unit.send({1, 0}, UINT64_MAX, 1, FragmentStatus::good), Status::too_big);
  EXPECT_EQ(unit.send({1, 0}, 0, 1, FragmentStatus::good), Status::ok);
}

TEST_F(UnitProtocolTest, stays_within_its_window_and_says_that_it_waits) {
  for (std::uint64_t number = 0; number < 3; ++number) ASSERT_EQ(give(number), Status::ok);
  greet(8, 0, 200);
  EXPECT_EQ(sent, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(count<UnitWaits>(), 1U);
  unit.received(0, BuilderDone{{}, 100});
  EXPECT_EQ(sent.size(), 3U);
}

TEST_F(UnitProtocolTest,
       says_that_it_waits_though_the_fragment_before_was_settled_while_it_waited) {
  for (std::uint64_t number = 0; number < 2; ++number) ASSERT_EQ(give(number, 150), Status::ok);
  greet(8, 0, 100);
  EXPECT_EQ(count<UnitWaits>(), 1U) << "with event 0";
  unit.received(0, BuilderDone{{0, 1}, 0});
  EXPECT_EQ(count<UnitWaits>(), 2U) << "with event 1";
}

TEST_F(UnitProtocolTest, sends_a_granted_fragment_whatever_its_size) {
  ASSERT_EQ(give(0, 400), Status::ok);
  greet(8, 0, 100);
  EXPECT_TRUE(sent.empty());
  unit.received(0, BuilderGrant{{0, 0}});
  EXPECT_EQ(sent, (std::vector<std::uint64_t>{0}));
}

TEST_F(UnitProtocolTest, sends_in_its_turn_and_gives_it_back) {
  ASSERT_EQ(give(0), Status::ok);
  greet(8, 0, 1000, true);
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(count<UnitWants>(), 1U);
  unit.received(0, BuilderTurn{});
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_EQ(count<UnitRests>(), 1U);
}

TEST_F(UnitProtocolTest, gives_its_turn_back_while_its_window_is_shut) {
  ASSERT_EQ(give(0), Status::ok);
  ASSERT_EQ(give(1), Status::ok);
  greet(8, 0, 100, true);
  unit.received(0, BuilderTurn{});
  EXPECT_EQ(count<UnitWaits>(), 1U);
  unit.received(0, BuilderDone{{}, 100});
  EXPECT_EQ(sent.size(), 1U) << "it has to ask for a turn once more";
  EXPECT_EQ(count<UnitWants>(), 2U);
}

TEST_F(UnitProtocolTest, answers_again_while_its_store_is_full_and_tells_builders) {
  unit.advance({0, 0});
  greet(8, 0);
  ASSERT_EQ(give(0, 300), Status::ok);
  EXPECT_EQ(give(1, 300), Status::again);
  EXPECT_EQ(count<UnitShort>(), 1U);
  unit.received(0, BuilderDone{{0, 1}, 364});
  EXPECT_EQ(rooms, 1);
  EXPECT_EQ(give(1, 300), Status::ok);
  EXPECT_EQ(forgotten, (std::vector<std::uint64_t>{0}));
}

// A fragment of 36 bytes takes 100 bytes of the store.
TEST_F(UnitProtocolTest, has_room_when_an_eighth_of_its_store_is_free) {
  settings.store_bytes_max = 1600;
  UnitProtocol small(settings, *this);
  for (std::uint64_t number = 0; number < 16; ++number) {
    ASSERT_EQ(small.send({0, number}, 36, number, FragmentStatus::good), Status::ok);
  }
  ASSERT_EQ(small.send({0, 16}, 36, 16, FragmentStatus::good), Status::again);
  small.connected(0);
  small.received(0, BuilderHello{plan_of_two, 0, 8, {}, {}, 10'000, false});
  ASSERT_EQ(count<UnitShort>(), 1U);
  small.received(0, BuilderDone{{0, 1}, 0});
  EXPECT_EQ(rooms, 0);
  EXPECT_EQ(count<UnitBusy>(), 1U);
  small.received(0, BuilderDone{{0, 2}, 0});
  EXPECT_EQ(rooms, 1);
  EXPECT_EQ(count<UnitBusy>(), 2U) << "it is busy no more";
  EXPECT_EQ(count<UnitShort>(), 3U) << "less than half is free: it asks on";
  small.received(0, BuilderDone{{0, 3}, 0});
  EXPECT_EQ(rooms, 1) << "nothing was refused since";
}

// Within a range a fragment takes the short way, but not in front of the question.
TEST_F(UnitProtocolTest, asks_with_the_next_fragment_a_builder_that_has_settled_everything) {
  settings.store_bytes_max = 1000;
  settings.when_full = WhenFull::drop;
  UnitProtocol dropping(settings, *this);
  dropping.advance({0, 0});
  dropping.connected(0);
  dropping.received(0, BuilderHello{plan_of_two, 0, 8, {}, {}, 10'000, false});
  const auto send = [&](std::uint64_t number, std::uint64_t bytes) {
    return dropping.send({0, number}, bytes, number, FragmentStatus::good);
  };
  ASSERT_EQ(send(4, 636), Status::ok);  // of the other builder
  ASSERT_EQ(send(8, 236), Status::ok);
  ASSERT_EQ(send(12, 36), Status::ok);
  ASSERT_EQ(dropping.books().dropped, 1U);
  dropping.received(0, BuilderDone{{0, 9}, 0});
  ASSERT_EQ(send(16, 36), Status::ok);
  ASSERT_EQ(send(17, 36), Status::ok);
  dropping.received(0, BuilderDone{{0, 18}, 0});
  const std::size_t before = count<UnitShort>();
  ASSERT_EQ(send(18, 36), Status::ok);
  EXPECT_EQ(count<UnitShort>(), before + 1);
}

TEST_F(UnitProtocolTest, tells_every_builder_whether_it_is_busy) {
  unit.advance({0, 0});
  greet(8, 0);
  for (const std::uint64_t number : {4U, 5U, 6U}) {  // of the other builder
    ASSERT_EQ(give(number, 100), Status::ok);
  }
  EXPECT_EQ(give(7, 100), Status::again);
  EXPECT_EQ(give(7, 100), Status::again);
  ASSERT_EQ(count<UnitBusy>(), 1U);
  EXPECT_TRUE(std::get<UnitBusy>(said.back()).busy);
  EXPECT_EQ(count<UnitShort>(), 0U) << "it holds nothing of this builder";
  unit.disconnected(0);
  greet(8, 0);
  ASSERT_EQ(count<UnitBusy>(), 2U) << "on each connection";
  unit.received(0, BuilderAsks{});
  ASSERT_EQ(count<UnitBusy>(), 3U) << "and when it is asked";
  EXPECT_TRUE(std::get<UnitBusy>(said.back()).busy);
  unit.connected(1);
  unit.received(1, BuilderHello{plan_of_two, 1, 9, {0, 4}, {0, 4}, 1000, false});
  EXPECT_EQ(count<UnitBusy>(), 3U) << "nothing was settled";
  unit.received(1, BuilderDone{{0, 5}, 0});
  ASSERT_EQ(count<UnitBusy>(), 4U) << "what was refused fits, and an eighth is free";
  EXPECT_FALSE(std::get<UnitBusy>(said.back()).busy);
  EXPECT_EQ(give(7, 100), Status::ok);
}

TEST_F(UnitProtocolTest, says_what_it_holds_for_each_builder) {
  unit.advance({0, 0});
  greet(8, 0);
  for (std::uint64_t number = 1; number < 5; ++number) ASSERT_EQ(give(number), Status::ok);
  EXPECT_EQ(unit.held_for(0).fragments, 3U);
  EXPECT_EQ(unit.held_for(0).cost, 300U);
  EXPECT_EQ(unit.held_for(0).oldest, (EventId{0, 1}));
  EXPECT_EQ(unit.held_for(0).window, 700U);
  EXPECT_EQ(unit.held_for(1).fragments, 1U);
  EXPECT_EQ(unit.held_for(1).oldest, (EventId{0, 4}));
  EXPECT_EQ(unit.held_for(1).window, 0U) << "it has not greeted";
  unit.received(0, BuilderDone{{0, 3}, 200});
  EXPECT_EQ(unit.held_for(0).fragments, 1U);
  EXPECT_EQ(unit.held_for(0).oldest, (EventId{0, 3}));
  EXPECT_EQ(unit.held_for(0).window, 900U);
}

TEST_F(UnitProtocolTest, says_below_which_event_nothing_is_held) {
  EXPECT_EQ(unit.settled(), EventId{});
  unit.advance({0, 0});
  greet(8, 0);
  for (std::uint64_t number = 1; number < 5; ++number) ASSERT_EQ(give(number), Status::ok);
  EXPECT_EQ(unit.settled(), (EventId{0, 1}));
  unit.received(0, BuilderDone{{0, 2}, 0, {1, 0, {}}});
  EXPECT_EQ(unit.settled(), (EventId{0, 2}));
  unit.received(0, BuilderDone{{0, 4}, 0, {3, 0, {}}});
  EXPECT_EQ(unit.settled(), (EventId{0, 4})) << "it holds event 4 for the other builder";
  unit.connected(1);
  unit.received(1, BuilderHello{plan_of_two, 1, 9, {0, 5}, {0, 5}, 1000, false});
  EXPECT_EQ(unit.settled(), (EventId{0, 5}));
  unit.advance(end_of_run(0));
  EXPECT_EQ(unit.settled(), end_of_run(0));
}

TEST_F(UnitProtocolTest, is_busy_no_more_at_its_end) {
  unit.advance({0, 0});
  greet(8, 0);
  ASSERT_EQ(give(0, 400), Status::ok);
  EXPECT_EQ(give(1, 400), Status::again);
  unit.ask_settled();
  ASSERT_EQ(count<UnitBusy>(), 2U);
  EXPECT_FALSE(std::get<UnitBusy>(*std::find_if(said.rbegin(), said.rend(), [](const auto& each) {
                 return std::holds_alternative<UnitBusy>(each);
               })).busy);
}

TEST_F(UnitProtocolTest, asks_at_its_end_what_is_settled_within_a_range) {
  unit.advance({0, 0});
  greet(8, 0);
  ASSERT_EQ(give(0), Status::ok);
  ASSERT_EQ(give(1), Status::ok);
  EXPECT_EQ(count<UnitShort>(), 0U);
  unit.ask_settled();
  EXPECT_EQ(count<UnitShort>(), 1U);
  unit.received(0, BuilderDone{{0, 1}, 0});
  EXPECT_EQ(count<UnitShort>(), 2U) << "an answer is of what was settled then";
  unit.received(0, BuilderDone{{0, 2}, 0});
  EXPECT_EQ(count<UnitShort>(), 2U) << "nothing is held any more";
  EXPECT_TRUE(unit.idle());
}

TEST_F(UnitProtocolTest, drops_and_tells_if_that_was_chosen) {
  settings.when_full = WhenFull::drop;
  UnitProtocol dropping(settings, *this);
  dropping.connected(0);
  ASSERT_EQ(dropping.send({0, 0}, 400, 70, FragmentStatus::good), Status::ok);
  dropping.received(0, BuilderHello{plan_of_two, 0, 8, {}, {}, 1000, false});
  ASSERT_EQ(dropping.send({0, 1}, 400, 71, FragmentStatus::good), Status::ok);
  EXPECT_EQ(forgotten, (std::vector<std::uint64_t>{71}));
  EXPECT_EQ(count<UnitDropped>(), 1U);
  EXPECT_EQ(count<UnitBusy>(), 0U) << "its source need not wait";
  EXPECT_EQ(dropping.books().sent, 2U);
  EXPECT_EQ(dropping.books().dropped, 1U);
}

TEST_F(UnitProtocolTest, holds_nothing_that_was_settled_before_it_came) {
  unit.advance({0, 0});
  greet(8, 0);
  unit.received(0, BuilderDone{{0, 4}, 0});
  ASSERT_EQ(give(2), Status::ok);
  EXPECT_EQ(forgotten, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(unit.books().late, 1U);
  EXPECT_EQ(unit.books().held, 0U);
}

TEST_F(UnitProtocolTest, knows_what_became_of_its_fragments) {
  send_to_run_8(4);
  unit.received(0, BuilderDone{{0, 2}, 0, {1, 1, {}}});
  unit.received(0, BuilderDone{{0, 4}, 0, {2, 1, {}}});
  EXPECT_EQ(unit.books().settled, 3U);
  EXPECT_EQ(unit.books().built, 2U);
  EXPECT_EQ(unit.books().incomplete, 1U);
  EXPECT_EQ(unit.books().late, 1U);
  EXPECT_EQ(unit.books().held, 0U);
}

TEST_F(UnitProtocolTest, does_not_call_late_what_an_earlier_run_of_a_builder_has_settled) {
  send_to_run_8(4);
  unit.received(0, BuilderDone{{0, 1}, 0, {1, 0, {}}});
  greet_again(9, 4, {0, 0, {0, 3}});
  EXPECT_EQ(unit.books().settled, 3U) << "event 3 was handed over without this unit";
  EXPECT_EQ(unit.books().built, 1U);
  EXPECT_EQ(unit.books().incomplete, 0U);
  EXPECT_EQ(unit.books().late, 1U);
}

TEST_F(UnitProtocolTest, adds_up_what_it_is_told_on_each_connection) {
  send_to_run_8(4);
  unit.received(0, BuilderDone{{0, 1}, 0, {1, 0, {}}});
  greet_again(8, 3, {3, 0, {}});
  EXPECT_EQ(unit.books().built, 3U);
  greet_again(8, 3);  // another unit of this source was there in between
  unit.received(0, BuilderDone{{0, 4}, 0, {1, 0, {}}});
  EXPECT_EQ(unit.books().built, 4U);
  EXPECT_EQ(unit.books().late, 0U);
  EXPECT_EQ(refused, "");
}

TEST_F(UnitProtocolTest, takes_a_run_of_a_builder_that_comes_back_after_another_one) {
  send_to_run_8(4);
  unit.received(0, BuilderDone{{0, 2}, 0, {2, 0, {}}});
  greet_again(9, 2, {0, 0, {0, 2}});
  unit.received(0, BuilderDone{{0, 3}, 0, {1, 0, {0, 2}}});
  greet_again(8, 3, {2, 0, {0, 3}});
  unit.received(0, BuilderDone{{0, 4}, 0, {3, 0, {0, 3}}});
  EXPECT_EQ(refused, "");
  EXPECT_EQ(unit.books().built, 4U);
  EXPECT_EQ(unit.books().settled, 4U);
}

TEST_F(UnitProtocolTest, refuses_counts_that_make_no_sense_once) {
  send_to_run_8(2);
  unit.received(0, BuilderDone{{0, 1}, 0, {7, 0, {}}});
  EXPECT_EQ(refused, "used other fragments than those it settled");
  refused.clear();
  greet_again(8, 1, {7, 0, {}});
  unit.received(0, BuilderDone{{0, 2}, 0, {8, 0, {}}});
  EXPECT_EQ(refused, "");
  EXPECT_EQ(unit.books().settled, 2U);
}

TEST_F(UnitProtocolTest, tells_a_new_run_of_a_builder_what_earlier_ones_were_sent) {
  ASSERT_EQ(give(0), Status::ok);
  greet(8, 0);
  unit.disconnected(0);
  said.clear();
  greet(9, 0);
  const auto& second = std::get<UnitHello>(said[0]);
  EXPECT_EQ(second.builder_run, 8U);
  EXPECT_EQ(second.sent_below, (EventId{0, 1}));
  EXPECT_EQ(sent.size(), 2U);
  unit.disconnected(0);
  said.clear();
  unit.connected(0);
  const auto& third = std::get<UnitHello>(said[0]);
  EXPECT_EQ(third.builder_run, 9U);
  EXPECT_EQ(third.runs_before, 1U);
  EXPECT_EQ(third.sent_before, (EventId{0, 1}));
}

TEST_F(UnitProtocolTest, says_how_far_it_is_where_it_has_nothing) {
  unit.advance({0, 0});
  greet(8, 0);
  unit.advance({0, 2});
  ASSERT_EQ(count<UnitMark>(), 1U);
  unit.advance({0, 4});
  EXPECT_EQ(count<UnitMark>(), 2U);
  unit.advance({0, 8});
  EXPECT_EQ(count<UnitMark>(), 2U) << "these are events of the other builder";
}

TEST_F(UnitProtocolTest, ends_a_range_with_the_number_of_its_fragments) {
  unit.advance({0, 0});
  greet(8, 0);
  for (std::uint64_t number = 0; number < 4; ++number) ASSERT_EQ(give(number), Status::ok);
  ASSERT_EQ(count<UnitMark>(), 1U);
  EXPECT_EQ(std::get<UnitMark>(said.back()).fragments, 4U);
}

TEST_F(UnitProtocolTest, refuses_builders_that_break_the_rules) {
  unit.advance({0, 0});
  unit.connected(0);
  unit.received(0, BuilderTurn{});
  EXPECT_EQ(refused, "did not begin with a hello");
  greet(8, 0);
  unit.received(0, BuilderHello{plan_of_two, 0, 8, {}, {}, 0, false});
  EXPECT_EQ(refused, "said hello twice");
  unit.connected(0);
  unit.received(0, BuilderHello{{1, 3, 4}, 0, 8, {}, {}, 0, false});
  EXPECT_EQ(refused, "has another plan: builders: 2 at the unit, 3 at the builder");
  unit.connected(0);
  unit.received(0, BuilderHello{plan_of_two, 1, 8, {}, {}, 0, false});
  EXPECT_EQ(refused, "is builder 1, not 0");
  greet(8, 0, UINT64_MAX);
  unit.received(0, BuilderDone{{}, 1});
  EXPECT_EQ(refused, "returned more of its window than there is");
  const std::string_view other = "used other fragments than those it settled";
  ASSERT_EQ(give(0), Status::ok);
  for (const UsedFragments& used :
       {UsedFragments{1, 1, {}}, UsedFragments{UINT64_MAX, 2, {}}, UsedFragments{0, 2, {}}}) {
    greet(8, 0);
    refused.clear();
    unit.received(0, BuilderDone{{0, 1}, 0, used});
    EXPECT_EQ(refused, other);
  }
  EXPECT_EQ(unit.books().settled, 1U);
  ASSERT_EQ(give(1), Status::ok);
  greet(8, 0);
  unit.received(0, BuilderDone{{0, 2}, 0, {1, 0, {}}});
  refused.clear();
  unit.received(0, BuilderDone{{0, 2}, 0, {0, 0, {}}});
  EXPECT_EQ(refused, other) << "it takes back what it has said";
  EXPECT_EQ(unit.books().built, 1U);
}

TEST_F(UnitProtocolTest, answers_again_without_memory_and_has_changed_nothing) {
  test::fail_allocations(1, 1);
  Status answer = Status::ok;
  {
    const test::Armed armed;
    answer = give(0);
  }
  test::fail_allocations(0, 0);
  EXPECT_EQ(answer, Status::again);
  EXPECT_EQ(unit.books().sent, 0U);
  EXPECT_EQ(unit.books().held, 0U);
  EXPECT_EQ(give(0), Status::ok);
}

TEST_F(UnitProtocolTest, goes_on_when_the_wire_takes_more) {
  unit.advance({0, 0});
  greet(8, 0);
  open = false;
  ASSERT_EQ(give(0), Status::ok);
  ASSERT_EQ(give(1), Status::ok);
  EXPECT_TRUE(sent.empty());
  open = true;
  unit.writable(0);
  EXPECT_EQ(sent, (std::vector<std::uint64_t>{0, 1}));
}

}  // namespace
}  // namespace netio::detail
