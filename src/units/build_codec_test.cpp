// Each message of event building comes back as it was, and nothing else is taken for one.
#include "units/build_codec.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

const BuildPlan plan{3, 2, 1000};

template <typename Said, typename Message>
Message back(const BuildBytes& bytes) {
  Said said;
  EXPECT_EQ(decode(bytes.bytes(), said), nullptr);
  EXPECT_TRUE(std::holds_alternative<Message>(said));
  return std::get<Message>(said);
}

TEST(BuildCodec, what_a_unit_says_comes_back) {
  const UnitHello hello{plan, 2, 3, {4, 5}, {6, 7}, 8, 9, {10, 11}, {12, 13}};
  const auto same = back<UnitSaid, UnitHello>(BuildBytes(UnitMessage(hello)));
  EXPECT_EQ(same.plan, plan);
  EXPECT_EQ(same.source, 2U);
  EXPECT_EQ(same.unit_run, 3U);
  EXPECT_EQ(same.begins, (EventId{4, 5}));
  EXPECT_EQ(same.settled, (EventId{6, 7}));
  EXPECT_EQ(same.builder_run, 8U);
  EXPECT_EQ(same.runs_before, 9U);
  EXPECT_EQ(same.sent_below, (EventId{10, 11}));
  EXPECT_EQ(same.sent_before, (EventId{12, 13}));
  const auto dropped =
      back<UnitSaid, UnitDropped>(BuildBytes(UnitMessage(UnitDropped{{1, 2}, {1, 9}, 4})));
  EXPECT_EQ(dropped.from, (EventId{1, 2}));
  EXPECT_EQ(dropped.below, (EventId{1, 9}));
  EXPECT_EQ(dropped.before, 4U);
  const auto mark = back<UnitSaid, UnitMark>(BuildBytes(UnitMessage(UnitMark{{1, 2}, 3})));
  EXPECT_EQ(mark.below, (EventId{1, 2}));
  EXPECT_EQ(mark.fragments, 3U);
  const auto waits = back<UnitSaid, UnitWaits>(BuildBytes(UnitMessage(UnitWaits{{1, 2}, 3, 4})));
  EXPECT_EQ(waits.event, (EventId{1, 2}));
  EXPECT_EQ(waits.bytes, 3U);
  EXPECT_EQ(waits.before, 4U);
  back<UnitSaid, UnitWants>(BuildBytes(UnitMessage(UnitWants{})));
  back<UnitSaid, UnitRests>(BuildBytes(UnitMessage(UnitRests{})));
  back<UnitSaid, UnitShort>(BuildBytes(UnitMessage(UnitShort{})));
  for (const bool busy : {false, true}) {
    EXPECT_EQ((back<UnitSaid, UnitBusy>(BuildBytes(UnitMessage(UnitBusy{busy}))).busy), busy);
  }
  const auto introduced = back<UnitSaid, UnitIntroduces>(BuildBytes(UnitIntroduces{plan, 2, 1}));
  EXPECT_EQ(introduced.plan, plan);
  EXPECT_EQ(introduced.source, 2U);
  EXPECT_EQ(introduced.builder, 1U);
  EXPECT_EQ((back<UnitSaid, NextRun>(BuildBytes(NextRun{7})).run), 7U);
  EXPECT_EQ((back<UnitSaid, NextStatus>(BuildBytes(NextStatus{FragmentStatus::in_error})).status),
            FragmentStatus::in_error);
}

TEST(BuildCodec, what_a_builder_says_comes_back) {
  const BuilderHello hello{plan, 1, 2, {3, 4}, {5, 6}, 7, true, {8, 9, {10, 11}}};
  const auto same = back<BuilderSaid, BuilderHello>(BuildBytes(BuilderMessage(hello)));
  EXPECT_EQ(same.plan, plan);
  EXPECT_EQ(same.builder, 1U);
  EXPECT_EQ(same.builder_run, 2U);
  EXPECT_EQ(same.wanted, (EventId{3, 4}));
  EXPECT_EQ(same.settled, (EventId{5, 6}));
  EXPECT_EQ(same.window, 7U);
  EXPECT_TRUE(same.turns);
  EXPECT_EQ(same.used.built, 8U);
  EXPECT_EQ(same.used.incomplete, 9U);
  EXPECT_EQ(same.used.since, (EventId{10, 11}));
  const auto done = back<BuilderSaid, BuilderDone>(
      BuildBytes(BuilderMessage(BuilderDone{{1, 2}, 3, {4, 5, {6, 7}}})));
  EXPECT_EQ(done.settled, (EventId{1, 2}));
  EXPECT_EQ(done.returned, 3U);
  EXPECT_EQ(done.used.built, 4U);
  EXPECT_EQ(done.used.incomplete, 5U);
  EXPECT_EQ(done.used.since, (EventId{6, 7}));
  EXPECT_EQ(
      (back<BuilderSaid, BuilderGrant>(BuildBytes(BuilderMessage(BuilderGrant{{1, 2}}))).event),
      (EventId{1, 2}));
  EXPECT_EQ(
      (back<BuilderSaid, BuilderWanted>(BuildBytes(BuilderMessage(BuilderWanted{{1, 2}}))).from),
      (EventId{1, 2}));
  back<BuilderSaid, BuilderAccepts>(BuildBytes(BuilderAccepts{}));
  back<BuilderSaid, BuilderTurn>(BuildBytes(BuilderMessage(BuilderTurn{})));
  back<BuilderSaid, BuilderAsks>(BuildBytes(BuilderMessage(BuilderAsks{})));
}

TEST(BuildCodec, a_reason_comes_back_and_a_long_one_is_cut) {
  const BuildBytes bytes(Refused{"it is Tuesday"});
  EXPECT_EQ((back<UnitSaid, Refused>(bytes).why), "it is Tuesday");
  EXPECT_EQ((back<BuilderSaid, Refused>(bytes).why), "it is Tuesday");
  const std::string text(5000, 'x');
  const BuildBytes cut((Refused{text}));
  EXPECT_EQ(cut.bytes().size(), BuildBytes::bytes_max);
}

TEST(BuildCodec, no_other_length_is_taken) {
  for (const BuildBytes& bytes :
       {BuildBytes(UnitMessage(UnitHello{})), BuildBytes(UnitMessage(UnitMark{})),
        BuildBytes(NextRun{}), BuildBytes(UnitMessage(UnitWants{}))}) {
    std::vector<std::byte> longer(bytes.bytes().begin(), bytes.bytes().end());
    UnitSaid said;
    for (std::size_t size = 0; size < longer.size(); ++size) {
      EXPECT_NE(decode(std::span(longer).first(size), said), nullptr) << size;
    }
    longer.push_back({});
    EXPECT_NE(decode(longer, said), nullptr);
  }
}

TEST(BuildCodec, numbers_that_are_out_of_range_are_not_taken) {
  UnitSaid said;
  const auto refuses = [&](const BuildBytes& good, std::size_t word, std::uint64_t value) {
    std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
    ASSERT_EQ(decode(bytes, said), nullptr);
    std::memcpy(bytes.data() + word * 8, &value, 8);
    EXPECT_NE(decode(bytes, said), nullptr) << word;
  };
  refuses(BuildBytes(UnitMessage(UnitHello{})), 0, 99);
  refuses(BuildBytes(UnitMessage(UnitHello{})), 1, build_version + 1);
  refuses(BuildBytes(UnitMessage(UnitHello{})), 2, std::uint64_t{1} << 32U);
  refuses(BuildBytes(UnitMessage(UnitDropped{})), 6, static_cast<std::uint64_t>(Missing::count_));
  refuses(BuildBytes(UnitMessage(UnitBusy{})), 1, 2);
  refuses(BuildBytes(NextStatus{}), 1, 3);
}

}  // namespace
}  // namespace netio::detail
