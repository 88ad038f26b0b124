// Schedules of event building from a fixed seed, for each kind of fault alone and for all of them;
// a schedule repeats; and the judge can fail.
#include "building/schedule.hpp"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sanitized.hpp"

namespace netio::test {
namespace {

constexpr std::uint64_t schedules_each = sanitized ? 50 : 500;

std::string first_wrong(const BuildSettings& settings, BuildTally& tally) {
  for (std::uint64_t seed = 1; seed <= schedules_each; ++seed) {
    const std::string what = BuildSchedule(seed, settings, tally).run();
    if (!what.empty()) return "seed " + std::to_string(seed) + ": " + what;
  }
  return {};
}

BuildSettings with_only(std::size_t fault) {
  BuildSettings settings;
  settings.without = ((1U << build_faults) - 1) & ~(1U << fault);
  return settings;
}

class EventBuildingWithOnly : public testing::TestWithParam<std::size_t> {};

TEST_P(EventBuildingWithOnly, is_settled_and_true) {
  BuildTally tally;
  EXPECT_EQ(first_wrong(with_only(GetParam()), tally), "");
  EXPECT_NE(tally.complete, 0U);
}

std::string name_of_fault(const testing::TestParamInfo<std::size_t>& fault) {
  return std::string(build_part_names[fault.param]);
}
INSTANTIATE_TEST_SUITE_P(fault, EventBuildingWithOnly, testing::Range(std::size_t{0}, build_faults),
                         name_of_fault);

TEST(EventBuilding, is_settled_and_true_with_all_faults) {
  BuildTally tally;
  EXPECT_EQ(first_wrong({}, tally), "");
  EXPECT_NE(tally.again, 0U);
  EXPECT_NE(tally.missing_late, 0U);
  EXPECT_NE(tally.missing_not_connected, 0U);
  EXPECT_NE(tally.missing_not_begun, 0U);
  EXPECT_NE(tally.missing_dropped, 0U);
  EXPECT_NE(tally.granted, 0U);
  EXPECT_NE(tally.turns, 0U);
  EXPECT_NE(tally.kept, 0U);
}

TEST(EventBuilding, loses_nothing_where_builders_and_connections_are_back_soon) {
  BuildSettings settings = with_only(static_cast<std::size_t>(BuildPart::builder_kills));
  settings.without &= ~(1U << static_cast<unsigned>(BuildPart::cuts));
  settings.without |= 1U << static_cast<unsigned>(BuildPart::drops);
  BuildTally tally;
  EXPECT_EQ(first_wrong(settings, tally), "");
  EXPECT_NE(tally.builders_killed, 0U);
  EXPECT_EQ(tally.incomplete, 0U);
  EXPECT_EQ(tally.never_built, 0U);
}

TEST(EventBuilding, repeats_a_schedule) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BuildTally tally;
    BuildSchedule first(seed, {}, tally);
    BuildSchedule second(seed, {}, tally);
    EXPECT_EQ(first.run(), second.run());
    EXPECT_EQ(first.digest(), second.digest()) << "seed " << seed;
  }
}

class EventBuildingOnALie : public testing::TestWithParam<std::size_t> {};

TEST_P(EventBuildingOnALie, is_found) {
  BuildSettings settings;
  settings.lie = static_cast<BuildLie>(GetParam());
  BuildTally tally;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= schedules_each; ++seed) {
    const std::string what = BuildSchedule(seed, settings, tally).run();
    if (what.empty()) continue;  // it was too short for a lie
    if (what.find("refuses unit") != std::string::npos) ++found;
    EXPECT_THAT(what, testing::Not(testing::HasSubstr("does not say so"))) << "seed " << seed;
  }
  EXPECT_GT(found, schedules_each / 2);
}

std::string name_of_lie(const testing::TestParamInfo<std::size_t>& lie) {
  return std::string(build_lie_names[lie.param]);
}
INSTANTIATE_TEST_SUITE_P(on, EventBuildingOnALie,
                         testing::Range(std::size_t{1}, build_lie_names.size()), name_of_lie);

}  // namespace
}  // namespace netio::test
