// GrowingRing: the order of its items, whatever went through it before.
#include "base/growing_ring.hpp"

#include <array>
#include <deque>
#include <memory>
#include <random>
#include <span>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

TEST(GrowingRing, keeps_its_order_while_it_grows_and_goes_round) {
  GrowingRing<std::unique_ptr<int>> ring;
  std::deque<int> expected;
  std::minstd_rand random(7);
  for (int number = 0; number < 20'000; ++number) {
    const auto draw = random() % 8;
    if (draw < 4) {
      ASSERT_TRUE(ring.make_room());
      EXPECT_EQ(*ring.push_back(std::make_unique<int>(number)), number);
      expected.push_back(number);
    } else if (draw < 7 && !ring.empty()) {
      ring.pop_front();
      expected.pop_front();
    } else if (!ring.empty()) {
      ring.pop_back();
      expected.pop_back();
    }
    ASSERT_EQ(ring.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); i += 1 + expected.size() / 8) {
      ASSERT_EQ(*ring[i], expected[i]);
    }
  }
}

TEST(GrowingRing, makes_room_for_several) {
  GrowingRing<int> ring;
  ASSERT_TRUE(ring.make_room(1'000));
  const int* const first = &ring.push_back(0);
  for (int i = 1; i < 1'000; ++i) ring.push_back(i);
  EXPECT_EQ(&ring[0], first) << "it has not moved";
  EXPECT_EQ(ring[999], 999);
}

TEST(GrowingRing, takes_several_at_once_wherever_its_memory_ends) {
  GrowingRing<int> ring;
  ASSERT_TRUE(ring.make_room(16));
  int next = 0;
  for (int round = 0; round < 100; ++round) {
    const std::array<int, 7> some{next, next + 1, next + 2, next + 3, next + 4, next + 5, next + 6};
    ring.push_back(std::span(some).first(static_cast<std::size_t>(round % 8)));
    for (int i = 0; i < round % 8; ++i) ASSERT_EQ(ring[static_cast<std::size_t>(i)], next++);
    ring.pop_front(ring.size());
  }
}

TEST(GrowingRing, finds_the_first_that_is_not_before) {
  GrowingRing<int> ring;
  ASSERT_TRUE(ring.make_room(16));
  for (int i = 0; i < 10; ++i) ring.push_back(0);
  for (int i = 0; i < 10; ++i) ring.pop_front();  // it goes round
  for (int count = 0; count < 14; ++count) {
    for (int sought = -1; sought <= 2 * count; ++sought) {
      const auto first = ring.first_not([sought](int item) { return item < sought; });
      EXPECT_EQ(first, static_cast<std::size_t>((sought + 1) / 2)) << sought << " of " << count;
    }
    ring.push_back(2 * count);
  }
}

TEST(GrowingRing, holds_nothing_of_what_left) {
  GrowingRing<std::shared_ptr<int>> ring;
  const auto item = std::make_shared<int>(1);
  ASSERT_TRUE(ring.make_room(2));
  ring.push_back(item);
  ring.push_back(item);
  ring.pop_front();
  ring.pop_back();
  EXPECT_EQ(item.use_count(), 1);
}

}  // namespace
}  // namespace netio::detail
