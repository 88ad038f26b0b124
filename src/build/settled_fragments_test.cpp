// SettledFragments: what is told of fragments whose events are settled later than handed over.
#include "build/settled_fragments.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::uint32_t sources = 130;  // their bits take three words

struct Built {
  explicit Built(std::uint64_t number) { event.id = {0, number}; }
  OpenEvent with(std::initializer_list<std::uint32_t> here) {
    for (const std::uint32_t source : here) fragments[source].here = true;
    event.fragments = fragments;
    return event;
  }
  std::vector<OpenFragment> fragments = std::vector<OpenFragment>(sources);
  OpenEvent event;
};

TEST(SettledFragments, are_counted_when_their_events_are_settled) {
  const std::vector<BuilderSource> books(sources);
  SettledFragments settled(sources, true);
  for (std::uint64_t number = 0; number < 40; ++number) {
    ASSERT_TRUE(settled.make_room());
    settled.handed_over(Built(number).with({0, 63, 129}), number % 2 == 0);
  }
  settled.settle({0, 0}, books);
  EXPECT_EQ(settled.used(0).built, 0U);
  settled.settle({0, 3}, books);
  for (const std::uint32_t source : {0U, 63U, 129U}) {
    EXPECT_EQ(settled.used(source).built, 2U) << source;
    EXPECT_EQ(settled.used(source).incomplete, 1U) << source;
  }
  EXPECT_EQ(settled.used(62).built + settled.used(64).built + settled.used(128).built, 0U);
  settled.settle({0, 40}, books);
  EXPECT_EQ(settled.used(129).built, 20U);
  EXPECT_EQ(settled.used(129).incomplete, 20U);
}

TEST(SettledFragments, of_an_earlier_run_of_the_unit_are_not_counted) {
  const std::vector<BuilderSource> books(sources);
  SettledFragments settled(sources, true);
  ASSERT_TRUE(settled.make_room());
  settled.handed_over(Built(0).with({1, 64}), true);
  settled.begin(64, SourceBooks{1, 1, 0, 0}, 2);
  for (std::uint64_t number = 1; number < 4; ++number) {
    ASSERT_TRUE(settled.make_room());
    settled.handed_over(Built(number).with({1, 64}), true);
  }
  settled.settle({0, 4}, books);
  EXPECT_EQ(settled.used(64).built, 1U);
  EXPECT_EQ(settled.used(1).built, 4U);
}

}  // namespace
}  // namespace netio::detail
