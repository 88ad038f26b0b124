// What a builder keeps account of: open events, events that are lost, events that the user keeps.
#include "build/open_events.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "build/kept_events.hpp"
#include "build/lost_events.hpp"

namespace netio::detail {
namespace {

TEST(OpenEvents, are_in_the_order_of_their_ids_whichever_was_opened_first) {
  OpenEvents events(2);
  OpenEvents::Place place = events.front();
  for (const std::uint64_t number : {7U, 3U, 9U, 5U, 3U}) (void)events.open({0, number}, 1, place);
  EXPECT_EQ(events.size(), 4U);
  for (const std::uint64_t number : {3U, 5U, 7U, 9U}) {
    EXPECT_EQ(events.oldest().id.number, number);
    events.close_oldest();
  }
  EXPECT_TRUE(events.empty());
}

TEST(OpenEvents, begin_empty_though_their_memory_was_used) {
  OpenEvents events(1);
  OpenEvents::Place place = events.front();
  OpenEvent& first = events.open({0, 1}, 1, place);
  first.fragments[0] = {10, 4, FragmentStatus::in_error, true};
  first.here = 1;
  first.cost = 74;
  events.close_oldest();
  const OpenEvent& second = events.open({0, 2}, 5, place);
  EXPECT_EQ(second.here, 0U);
  EXPECT_EQ(second.cost, 0U);
  EXPECT_FALSE(second.fragments[0].here);
  EXPECT_EQ(second.opened_ns, 5);
}

TEST(OpenEvents, are_found_by_every_source_at_its_own_place) {
  OpenEvents events(2);
  OpenEvents::Place ahead = events.front();
  OpenEvents::Place behind = events.front();
  for (std::uint64_t number = 0; number < 200; number += 2) {
    EXPECT_EQ(events.open({0, number}, 1, ahead).id.number, number);
  }
  for (std::uint64_t number = 0; number < 200; ++number) {
    EXPECT_EQ(events.open({0, number}, 1, behind).id.number, number);
    if (number % 3 == 0) events.close_oldest();
  }
  EXPECT_EQ(events.size(), 133U);
  EXPECT_EQ(events.open({0, 198}, 1, ahead).id.number, 198U);
  EXPECT_EQ(events.open({0, 300}, 1, ahead).id.number, 300U);
  EXPECT_EQ(events.open({0, 300}, 1, behind).id.number, 300U);
  EXPECT_EQ(events.size(), 134U);
}

// Sources that have few events, are far apart, and whose events are closed in between.
TEST(OpenEvents, are_those_that_any_source_has_opened) {
  constexpr std::uint64_t sources = 5;
  std::mt19937_64 random(1);
  OpenEvents events(sources);
  std::vector<OpenEvents::Place> places(sources, events.front());
  std::vector<std::uint64_t> next(sources, 0);
  std::set<std::uint64_t> open;
  std::uint64_t closed = 0;  // all below
  for (int step = 0; step < 50'000; ++step) {
    const auto source = random() % sources;
    std::uint64_t number = std::max(next[source], closed) + random() % (source == 0 ? 1 : 50);
    if (random() % 8 == 0 && next[source] > closed) number = next[source] - 1;  // once more
    EXPECT_EQ(events.open({0, number}, 1, places[source]).id.number, number);
    EXPECT_EQ(places[source]->id.number, number);
    open.insert(number);
    next[source] = number + 1;
    for (auto count = random() % 4; count != 0 && open.size() > 100; --count) {
      ASSERT_EQ(events.oldest().id.number, *open.begin());
      closed = *open.begin() + 1;
      open.erase(open.begin());
      events.close_oldest();
    }
    ASSERT_EQ(events.size(), open.size());
  }
  for (; !open.empty(); open.erase(open.begin())) {
    EXPECT_EQ(events.oldest().id.number, *open.begin());
    events.close_oldest();
  }
  EXPECT_TRUE(events.empty());
}

// It would take minutes if each event were looked for among all.
TEST(OpenEvents, of_a_source_far_behind_go_between_those_of_one_that_is_ahead) {
  constexpr std::uint64_t count = 300'000;
  OpenEvents events(2);
  OpenEvents::Place ahead = events.front();
  OpenEvents::Place behind = events.front();
  for (std::uint64_t i = 0; i < count; ++i) (void)events.open({0, 2 * i}, 1, ahead);
  for (std::uint64_t i = 0; i < count; ++i) (void)events.open({0, 2 * i + 1}, 1, behind);
  ASSERT_EQ(events.size(), 2 * count);
  for (std::uint64_t number = 0; number < 2 * count; ++number) {
    ASSERT_EQ(events.oldest().id.number, number);
    events.close_oldest();
  }
}

TEST(LostEvents, have_the_reason_of_their_part) {
  LostEvents lost;
  ASSERT_TRUE(lost.make_room());
  lost.add({0, 2}, {0, 4}, Missing::dropped);
  ASSERT_TRUE(lost.make_room());
  lost.add({0, 4}, {0, 6}, Missing::not_begun);
  EXPECT_EQ(lost.why({0, 1}), Missing::no);
  EXPECT_EQ(lost.why({0, 3}), Missing::dropped);
  EXPECT_EQ(lost.why({0, 4}), Missing::not_begun);
  EXPECT_EQ(lost.why({0, 6}), Missing::no);
  lost.forget({0, 4});
  EXPECT_EQ(lost.size(), 1U);
}

TEST(LostEvents, have_a_bound) {
  LostEvents lost;
  for (std::uint64_t number = 0; number < 3 * LostEvents::lost_max; ++number) {
    ASSERT_TRUE(lost.make_room());
    lost.add({0, 2 * number}, {0, 2 * number + 1}, Missing::dropped);
  }
  EXPECT_EQ(lost.size(), LostEvents::lost_max);
  EXPECT_EQ(lost.why({0, 6 * LostEvents::lost_max - 2}), Missing::dropped);
}

TEST(KeptEvents, are_released_once_and_in_any_order) {
  KeptEvents kept;
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    ASSERT_TRUE(kept.make_room());
    kept.keep({0, number}, 100);
  }
  EXPECT_TRUE(kept.release({0, 2}));
  EXPECT_FALSE(kept.release({0, 2}));
  EXPECT_FALSE(kept.release({0, 4}));
  EXPECT_EQ(kept.oldest().number, 1U);
  EXPECT_EQ(kept.cost(), 200U);
  EXPECT_TRUE(kept.release({0, 1}));
  EXPECT_EQ(kept.oldest().number, 3U);
}

TEST(KeptEvents, need_little_memory_behind_one_that_is_kept_for_long) {
  KeptEvents kept;
  ASSERT_TRUE(kept.make_room());
  kept.keep({0, 0}, 1);
  for (std::uint64_t number = 1; number < 10'000; ++number) {
    ASSERT_TRUE(kept.make_room());
    kept.keep({0, number}, 1);
    ASSERT_TRUE(kept.release({0, number}));
    ASSERT_LE(kept.size(), 3U);
  }
  EXPECT_EQ(kept.oldest().number, 0U);
}

}  // namespace
}  // namespace netio::detail
