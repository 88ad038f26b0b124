// ManagedUnit: what it sends to which builder, what it forgets, and what it tells the manager.
#include "build/managed_unit.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

const BuildPlan plan_of_two_builders{1, 2, 4, true};

// A unit with two builders that have greeted it. What is sent to them is noted with its assignment.
class ManagedUnitTest : public testing::Test, public ManagedUnitOutput {
 protected:
  using Sent = std::pair<std::uint64_t, std::uint64_t>;  // number of the assignment, of the event

  void SetUp() override {
    unit.advance({0, 0});
    for (std::uint32_t builder = 0; builder < 2; ++builder) {
      unit.connected(builder);
      unit.received(builder, BuilderHello{plan_of_two_builders, builder, 9, {}, {}, 10'000, false});
    }
    unit.manager_connected();
  }

  bool say(std::uint32_t builder, const UnitMessage& message) noexcept override {
    if (const auto* mark = std::get_if<UnitMark>(&message)) marks[builder] = mark->below;
    if (const auto* lost = std::get_if<UnitDropped>(&message)) lacks.push_back(*lost);
    return true;
  }
  bool send(std::uint32_t builder, const Fragment& fragment, std::uint64_t) noexcept override {
    sent[builder].push_back({fragment.event.run & UINT32_MAX, fragment.event.number});
    return true;
  }
  std::uint64_t behind(std::uint64_t memory, std::uint64_t) const noexcept override {
    return memory + 1;
  }
  void forget(std::uint64_t memory, std::uint64_t fragments) noexcept override {
    for (; fragments != 0; --fragments) forgotten.push_back(memory++);
  }
  void refuse(std::uint32_t, std::string why) override { refused = std::move(why); }
  void on_room() noexcept override { ++rooms; }
  bool tell_manager(const UnitToManager& message) noexcept override {
    if (const auto* hello = std::get_if<UnitJoins>(&message)) joined = *hello;
    if (const auto* mark = std::get_if<UnitProduced>(&message)) produced = *mark;
    return true;
  }
  void refuse_manager(std::string why) override { refused = std::move(why); }
  void on_welcome(EventId at) noexcept override { welcomed_at = at; }
  void on_stop(EventId at) noexcept override { stop = at; }

  void give(std::uint64_t from, std::uint64_t below) {
    for (; from < below; ++from) {
      ASSERT_EQ(unit.send({0, from}, 36, from, FragmentStatus::good), Status::ok);
    }
  }
  static Assignment assignment(std::uint64_t term, std::uint64_t count, std::uint32_t builder,
                               std::uint64_t from, std::uint64_t below) {
    return {first_assignment(term) + count, builder, {{0, from}, {0, below}}, false};
  }
  void welcome(std::uint64_t term, std::uint64_t assigned, std::vector<Assignment> open = {}) {
    const std::uint64_t first = first_assignment(term);
    std::vector<std::uint64_t> next{first, first};
    for (const Assignment& each : open) {
      if (each.builder != no_builder) next[each.builder] = each.number + 1;
    }
    unit.manager_received(
        UnitWelcome{term, term, {0, assigned}, std::move(open), next, end_of_all});
  }
  void assign(std::uint64_t count, std::uint32_t builder, std::uint64_t from, std::uint64_t below) {
    unit.manager_received(UnitAssigned{assignment(1, count, builder, from, below)});
  }

  UnitSettings settings{plan_of_two_builders, 0, 5, 1000, WhenFull::again};
  ManagedUnit unit{settings, *this};
  std::vector<Sent> sent[2];
  EventId marks[2];
  std::vector<UnitDropped> lacks;
  std::vector<std::uint64_t> forgotten;
  UnitJoins joined;
  UnitProduced produced;
  EventId stop;
  EventId welcomed_at;
  std::string refused;
  int rooms = 0;
};

TEST_F(ManagedUnitTest, sends_nothing_before_it_is_assigned) {
  give(0, 4);
  EXPECT_TRUE(sent[0].empty());
  EXPECT_EQ(produced.below, (EventId{0, 4}));
  welcome(1, 0);
  assign(0, 1, 0, 4);
  EXPECT_EQ(sent[1], (std::vector<Sent>{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(marks[1], (EventId{first_assignment(1) + 1, 0}));
}

TEST_F(ManagedUnitTest, forgets_what_the_manager_says_is_settled_and_nothing_else) {
  give(0, 8);
  welcome(1, 0);
  assign(0, 0, 0, 4);
  assign(0, 1, 4, 8);
  unit.received(0, BuilderDone{{first_assignment(1) + 1, 0}, 400});
  EXPECT_TRUE(forgotten.empty());
  unit.manager_received(UnitSettled{{{0, 4}, {0, 8}}});
  EXPECT_EQ(forgotten, (std::vector<std::uint64_t>{4, 5, 6, 7}));
  EXPECT_EQ(unit.books().held, 4U);
}

TEST_F(ManagedUnitTest, sends_a_range_to_another_builder_when_it_is_assigned_anew) {
  give(0, 4);
  welcome(1, 0);
  assign(0, 0, 0, 4);
  unit.manager_received(UnitRevoked{0, first_assignment(1) + 1});
  EXPECT_TRUE(sent[1].empty());
  assign(0, 1, 0, 4);
  EXPECT_EQ(sent[1].size(), 4U);
}

TEST_F(ManagedUnitTest, is_late_for_what_was_assigned_before_it_was_produced) {
  give(0, 2);
  welcome(1, 0);
  assign(0, 0, 0, 4);
  ASSERT_EQ(lacks.size(), 1U);
  EXPECT_EQ(lacks[0].from.number, 2U);
  EXPECT_EQ(lacks[0].why, Missing::late);
  give(2, 4);
  EXPECT_EQ(sent[0].size(), 2U);
  EXPECT_EQ(unit.books().late, 2U);
}

TEST_F(ManagedUnitTest, says_that_it_had_not_begun) {
  unit.advance({0, 6});
  ManagedUnit later(settings, *this);
  later.connected(0);
  later.advance({0, 2});
  later.received(0, BuilderHello{plan_of_two_builders, 0, 9, {}, {}, 10'000, false});
  later.manager_connected();
  later.manager_received(UnitWelcome{
      1, 1, {0, 4}, {assignment(1, 0, 0, 0, 4)}, {first_assignment(1) + 1, first_assignment(1)}});
  ASSERT_FALSE(lacks.empty());
  EXPECT_EQ(lacks[0].why, Missing::not_begun);
  EXPECT_EQ(lacks[0].below.number, 2U);
}

TEST_F(ManagedUnitTest, may_join_before_it_begins) {
  ManagedUnit later(settings, *this);
  later.connected(0);
  later.received(0, BuilderHello{plan_of_two_builders, 0, 9, {}, {}, 10'000, false});
  produced = {};
  later.manager_connected();
  EXPECT_EQ(joined.begins, end_of_all);
  const std::uint64_t first = first_assignment(1);
  later.manager_received(UnitWelcome{
      1, 1, {0, 4}, {assignment(1, 0, 0, 0, 4)}, {first + 1, first}, end_of_all, {0, 7}});
  EXPECT_EQ(welcomed_at, (EventId{0, 7}));
  ASSERT_EQ(lacks.size(), 1U);
  EXPECT_EQ(lacks[0].why, Missing::not_begun);
  later.advance(welcomed_at);
  EXPECT_EQ(produced.below, (EventId{0, 7}));
}

TEST_F(ManagedUnitTest, tells_a_new_manager_what_is_settled) {
  give(0, 10);
  welcome(1, 0);
  assign(0, 0, 0, 4);
  assign(1, 0, 4, 8);
  unit.manager_received(UnitSettled{{{0, 0}, {0, 4}}});
  unit.manager_disconnected();
  unit.manager_connected();
  EXPECT_EQ(joined.term, 1U);
  EXPECT_EQ(joined.assigned, (EventId{0, 8}));
  EXPECT_EQ(joined.open, (EventSpans{{{0, 4}, {0, 8}}}));
}

TEST_F(ManagedUnitTest, says_what_an_earlier_manager_had_told_it_to_forget) {
  give(0, 8);
  welcome(1, 0);
  assign(0, 0, 0, 4);
  unit.manager_received(UnitSettled{{{0, 0}, {0, 4}}});
  unit.manager_disconnected();
  unit.manager_connected();
  welcome(2, 4, {assignment(2, 0, 1, 0, 4)});
  ASSERT_EQ(lacks.size(), 1U);
  EXPECT_EQ(lacks[0].why, Missing::forgotten);
  EXPECT_EQ(lacks[0].from.run, first_assignment(2));
}

TEST_F(ManagedUnitTest, keeps_a_welcome_of_an_older_manager_out) {
  welcome(2, 0);
  unit.manager_disconnected();
  unit.manager_connected();
  welcome(1, 0);
  EXPECT_EQ(refused, "is older than the manager before");
}

TEST_F(ManagedUnitTest, tells_the_manager_when_its_store_is_full_and_when_it_has_room) {
  welcome(1, 0);
  give(0, 10);
  EXPECT_EQ(unit.send({0, 10}, 36, 10, FragmentStatus::good), Status::again);
  EXPECT_TRUE(produced.busy);
  assign(0, 0, 0, 1);
  assign(1, 0, 1, 2);
  unit.manager_received(UnitSettled{{{0, 0}, {0, 1}}});
  EXPECT_TRUE(produced.busy) << "an eighth of the store is not free";
  EXPECT_EQ(rooms, 0);
  unit.manager_received(UnitSettled{{{0, 1}, {0, 2}}});
  EXPECT_FALSE(produced.busy);
  EXPECT_EQ(rooms, 1);
}

TEST_F(ManagedUnitTest, has_room_for_what_the_manager_does_not_wait_for) {
  welcome(1, 0);
  give(0, 10);
  ASSERT_EQ(unit.send({0, 10}, 36, 10, FragmentStatus::good), Status::again);
  assign(0, 0, 0, 10);
  EXPECT_EQ(rooms, 0);
  assign(1, 0, 10, 11);
  EXPECT_EQ(rooms, 1);
  ASSERT_EQ(unit.send({0, 10}, 36, 10, FragmentStatus::good), Status::ok);
  EXPECT_EQ(unit.books().late, 1U);
  EXPECT_TRUE(produced.busy) << "its store is full";
}

TEST_F(ManagedUnitTest, tells_a_source_that_gives_an_event_up_to_go_on) {
  welcome(1, 0);
  give(0, 10);
  ASSERT_EQ(unit.send({0, 10}, 36, 10, FragmentStatus::good), Status::again);
  unit.advance({0, 10});
  EXPECT_EQ(rooms, 0) << "it may come yet";
  unit.advance({0, 11});
  EXPECT_EQ(rooms, 1);
}

// A builder would wait for it otherwise.
TEST_F(ManagedUnitTest, is_idle_when_others_are_as_far) {
  give(0, 4);
  unit.advance({0, UINT64_MAX});
  welcome(1, 0);
  assign(0, 0, 0, 4);
  unit.manager_received(UnitSettled{{{0, 0}, {0, 4}}});
  EXPECT_EQ(unit.books().held, 0U);
  EXPECT_FALSE(unit.idle());
  assign(0, 1, 4, 8);
  EXPECT_EQ(marks[1], (EventId{first_assignment(1) + 1, 0})) << "it has nothing for these";
  unit.manager_received(UnitSettled{{{0, 8}, {0, UINT64_MAX}}});
  EXPECT_FALSE(unit.idle()) << "another builder may be given them";
  unit.manager_received(UnitSettled{{{0, 4}, {0, 8}}});
  EXPECT_TRUE(unit.idle());
}

// The manager that has stopped may be gone when this unit reaches its end.
TEST_F(ManagedUnitTest, is_idle_when_everything_in_front_of_its_stop_is_settled) {
  give(0, 6);
  welcome(1, 0);
  unit.manager_received(UnitStops{{0, 5}});
  EXPECT_EQ(stop, (EventId{0, 5}));
  assign(0, 0, 0, 4);
  assign(1, 0, 4, 5);
  unit.manager_received(UnitSettled{{{0, 0}, {0, 4}}});
  EXPECT_FALSE(unit.idle());
  unit.manager_received(UnitSettled{{{0, 4}, {0, 5}}});
  EXPECT_TRUE(unit.idle());
  EXPECT_EQ(unit.books().held, 1U);
  unit.manager_received(UnitAsked{});
  unit.manager_disconnected();
  unit.advance(end_of_all);
  EXPECT_TRUE(unit.idle());
  unit.manager_connected();
  welcome(2, 5);
  EXPECT_FALSE(unit.idle()) << "another manager does not stop";
}

TEST_F(ManagedUnitTest, tells_at_once_that_it_has_come_to_its_stop) {
  give(0, 4);
  welcome(1, 0);
  unit.manager_received(UnitStops{{0, 6}});
  give(4, 5);
  EXPECT_EQ(produced.below, (EventId{0, 4}));
  unit.advance({0, 6});
  EXPECT_EQ(produced.below, (EventId{0, 6}));
}

TEST_F(ManagedUnitTest, tells_at_once_that_it_was_beyond_its_stop) {
  give(0, 6);
  welcome(1, 0);
  give(6, 7);
  unit.manager_received(UnitStops{{0, 7}});
  EXPECT_EQ(produced.below, (EventId{0, 7}));
}

TEST_F(ManagedUnitTest, refuses_a_manager_that_breaks_the_rules) {
  welcome(1, 0);
  unit.manager_received(UnitSettled{{{0, 4}, {0, 8}}});
  EXPECT_EQ(refused, "has settled what was not open");
  unit.manager_connected();
  unit.manager_received(UnitAsked{});
  EXPECT_EQ(refused, "did not begin with a welcome");
  unit.manager_connected();
  welcome(1, 0);
  assign(0, 2, 0, 4);
  EXPECT_EQ(refused, "said an assignment that makes no sense");
}

}  // namespace
}  // namespace netio::detail
