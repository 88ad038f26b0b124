// BuilderProtocol: what it tells units of the fragments that it has used.
#include <cstdint>

#include "support/builder_protocol_fixture.hpp"

namespace netio::detail {
namespace {

class BuilderUsedTest : public BuilderProtocolTest {
 protected:
  // What source 0 was told last, with what is settled.
  [[nodiscard]] BuilderDone told() const {
    BuilderDone last;
    for (const BuilderMessage& each : said) {
      if (const auto* const done = std::get_if<BuilderDone>(&each)) last = *done;
    }
    return last;
  }
  [[nodiscard]] BuilderHello greeted() const {
    BuilderHello last;
    for (const BuilderMessage& each : said) {
      if (const auto* const hello = std::get_if<BuilderHello>(&each)) last = *hello;
    }
    return last;
  }
};

TEST_F(BuilderUsedTest, tells_what_was_in_complete_events_and_what_in_others) {
  make();
  meet(0);
  meet(1);
  for (const std::uint64_t number : {0U, 1U, 2U, 3U}) give(0, number);
  give(1, 0);
  pass(4 * deadline);
  EXPECT_EQ(events.size(), 4U);
  EXPECT_EQ(told().settled, (EventId{0, 4}));
  EXPECT_EQ(told().used.built, 1U);
  EXPECT_EQ(told().used.incomplete, 3U);
  EXPECT_EQ(told().used.since, EventId{});
  builder->disconnected(0);
  UnitHello again;
  again.begins = {0, 0};
  meet(0, again);
  EXPECT_EQ(greeted().settled, (EventId{0, 4}));
  EXPECT_EQ(greeted().used.built, 1U) << "it is the same run of the unit";
  EXPECT_EQ(greeted().used.incomplete, 3U);
}

TEST_F(BuilderUsedTest, tells_nothing_of_what_is_kept) {
  make();
  meet(0);
  meet(1);
  for (const std::uint64_t number : {0U, 1U, 2U}) {
    keep = number == 1;
    give(0, number);
    give(1, number);
  }
  builder->tell_settled();
  EXPECT_EQ(told().settled, (EventId{0, 1}));
  EXPECT_EQ(told().used.built, 1U);
  ASSERT_TRUE(builder->release({0, 1}));
  builder->tell_settled();
  EXPECT_EQ(told().settled, (EventId{0, 3}));
  EXPECT_EQ(told().used.built, 3U);
}

TEST_F(BuilderUsedTest, counts_anew_for_another_run_of_a_unit) {
  make();
  meet(0);
  meet(1);
  give(0, 0);
  give(1, 0);
  keep = true;
  give(0, 1);
  give(1, 1);
  keep = false;
  give(0, 2);
  builder->disconnected(0);
  UnitHello other;
  other.unit_run = 50;
  other.begins = {0, 3};
  meet(0, other);
  EXPECT_EQ(greeted().used.built, 0U);
  give(0, 3);
  for (const std::uint64_t number : {2U, 3U}) give(1, number);
  ASSERT_EQ(events.size(), 4U);
  ASSERT_TRUE(builder->release({0, 1}));
  builder->tell_settled();
  EXPECT_EQ(told().settled, (EventId{0, 4}));
  EXPECT_EQ(told().used.built, 1U) << "events 0 to 2 have fragments of the earlier run";
  EXPECT_EQ(builder->books(0).built, 4U);
}

TEST_F(BuilderUsedTest, tells_what_an_earlier_run_of_its_own_has_settled) {
  make();
  meet(0);
  give(0, 0);
  give(0, 1);
  UnitHello knows;
  knows.builder_run = 7;
  knows.settled = {0, 1};
  knows.begins = {0, 1};
  meet(1, knows);
  EXPECT_EQ(dropped, (std::vector<std::uint64_t>{0}));
  give(1, 1);
  builder->tell_settled();
  EXPECT_EQ(told().settled, (EventId{0, 2}));
  EXPECT_EQ(told().used.built, 1U);
  EXPECT_EQ(told().used.since, (EventId{0, 1}));
}

// It has used some of it since, because the unit that knows was away.
TEST_F(BuilderUsedTest, tells_what_an_earlier_run_has_settled_whenever_it_hears_of_it) {
  make();
  meet(0);
  give(0, 0);
  give(0, 1);
  pass(4 * deadline);
  ASSERT_EQ(events.size(), 2U);
  UnitHello knows;
  knows.builder_run = 7;
  knows.settled = {0, 1};
  meet(1, knows);
  builder->disconnected(0);
  meet(0);
  EXPECT_EQ(greeted().settled, (EventId{0, 2}));
  EXPECT_EQ(greeted().used.incomplete, 2U);
  EXPECT_EQ(greeted().used.since, (EventId{0, 1}));
}

TEST_F(BuilderUsedTest, tells_at_once_what_it_has_used_when_it_hears_that_more_is_settled) {
  make(10'000);
  meet(0);
  for (const std::uint64_t number : {0U, 1U}) give(0, number);
  pass(4 * deadline);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(count<BuilderDone>(), 0U) << "no range has ended";
  UnitHello knows;
  knows.builder_run = 7;
  knows.settled = {0, 3};
  knows.begins = {0, 3};
  meet(1, knows);
  ASSERT_EQ(count<BuilderDone>(), 1U);
  EXPECT_EQ(told().settled, (EventId{0, 3}));
  EXPECT_EQ(told().used.incomplete, 2U);
  EXPECT_EQ(told().used.since, (EventId{0, 3}));
}

}  // namespace
}  // namespace netio::detail
