// BuilderProtocol: settings that make no sense, and units that are refused.
#include <string>

#include <gtest/gtest.h>

#include "support/builder_protocol_fixture.hpp"

namespace netio::detail {
namespace {

TEST(BuilderSettings, have_a_fault_in_words_if_they_make_no_sense) {
  BuilderSettings good;
  good.plan = one_builder;
  good.builder_run = 77;
  good.window_bytes = 64;
  good.deadline_ns = 1;
  EXPECT_EQ(good.fault(), "");
  const auto with = [&](auto&& change) {
    BuilderSettings settings = good;
    change(settings);
    return settings.fault();
  };
  EXPECT_EQ(with([](BuilderSettings& s) { s.plan.range_events = 0; }),
            "a plan of 0 events in a range: there may be 1 to 281474976710656");
  EXPECT_EQ(with([](BuilderSettings& s) { s.builder = 1; }), "no builder 1: there are 0 to 0");
  EXPECT_EQ(with([](BuilderSettings& s) { s.builder_run = 0; }), "a run of a builder is never 0");
  EXPECT_EQ(with([](BuilderSettings& s) { s.window_bytes = 63; }),
            "the window does not take one fragment");
  EXPECT_EQ(with([](BuilderSettings& s) { s.deadline_ns = 0; }), "the deadline is no time");
}

TEST_F(BuilderProtocolTest, refuses_a_unit_that_knows_of_a_run_which_has_not_greeted_it) {
  make();
  UnitHello hello;
  hello.plan = one_builder;
  hello.unit_run = 5;
  hello.settled = end_of_all;
  EXPECT_EQ(builder->connected(hello).why,
            "it knows of an earlier run of this builder, and none has greeted it");
  hello.builder_run = 77;
  EXPECT_EQ(builder->connected(hello).why, "it knows more of what is settled than this builder");
  EXPECT_EQ(builder->settled(), EventId{});
}

TEST_F(BuilderProtocolTest, refuses_what_breaks_the_rules) {
  const auto refusal_of = [this](const Fragment& fragment, std::uint64_t window = 1000) {
    make(window);
    meet(0);
    refused.clear();
    builder->received(0, fragment, 1);
    return refused;
  };
  const FragmentStatus good = FragmentStatus::good;
  EXPECT_EQ(refusal_of({{0, 0}, 36, 1, good}), "sent a fragment that did not arrive");
  EXPECT_EQ(refusal_of({{0, UINT64_MAX}, 36, 0, good}), "sent what is no fragment");
  EXPECT_EQ(refusal_of({{0, 0}, UINT64_MAX, 0, good}), "sent what is no fragment");
  EXPECT_EQ(refusal_of({{0, 0}, 1000, 0, good}), "sent more than its window");
  EXPECT_EQ(dropped.size(), 4U);
  make();
  meet(0);
  builder->received(0, UnitMark{{0, 4}, 1});
  EXPECT_EQ(refused, "has sent 1 fragments, and 0 came");
  make();
  meet(0);
  builder->received(0, UnitWaits{{0, 4}, 36, 2});
  EXPECT_EQ(refused, "has sent 2 fragments, and 0 came");
  make(1000, 1);
  meet(0);
  give(0, 0);
  EXPECT_EQ(refused, "sent without a turn");
}

TEST_F(BuilderProtocolTest, does_not_take_two_units_with_one_source) {
  make();
  meet(0);
  UnitHello other{one_builder, 0, 9, {}, {}, 0, 0, {}, {}};
  EXPECT_EQ(builder->connected(other).why, "source 0 is connected already");
  EXPECT_TRUE(builder->connected(other).number_taken);
  other.source = 2;
  EXPECT_EQ(builder->connected(other).why, "no source 2: there are 0 to 1");
  EXPECT_FALSE(builder->connected(other).number_taken);
  other.plan.range_events = 8;
  EXPECT_EQ(builder->connected(other).why,
            "another plan: events of a range: 4 at the builder, 8 at the unit");
}

}  // namespace
}  // namespace netio::detail
