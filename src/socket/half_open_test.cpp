// The rule by which connections whose greeting is not over give way, with time passed in.
#include "socket/half_open.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::int64_t ms = 1'000'000;

// Says what it is told to, when it is heard.
struct ScriptedNewcomer final : Newcomer {
  enum class Waits { nothing, a_part, the_whole };

  [[nodiscard]] bool half_open() const noexcept override { return !up && why.empty(); }
  bool hear_greeting() noexcept override {
    ++heard;
    up = waits == Waits::the_whole;
    return waits != Waits::nothing;
  }
  void give_way(const std::string& reason) noexcept override { why = reason; }

  Waits waits = Waits::nothing;
  bool up = false;
  int heard = 0;
  std::string why;
};

class HalfOpenList : public testing::Test {
 protected:
  void come(std::size_t count, std::int64_t now_ns) {
    for (std::size_t i = 0; i < count; ++i) {
      all_.push_back(std::make_unique<ScriptedNewcomer>());
      list_.add(*all_.back(), now_ns);
    }
  }
  [[nodiscard]] std::size_t ended() const {
    std::size_t count = 0;
    for (const auto& one : all_) count += one->why.empty() ? 0U : 1U;
    return count;
  }

  HalfOpen list_{4};
  std::vector<std::unique_ptr<ScriptedNewcomer>> all_;
};

TEST_F(HalfOpenList, leaves_as_many_as_may_stay_alone) {
  come(4, 0);
  list_.look(3'600'000 * ms);
  EXPECT_EQ(ended(), 0U);
  EXPECT_FALSE(list_.crowded());
  EXPECT_FALSE(list_.full());
}

TEST_F(HalfOpenList, ends_the_oldest_that_are_too_many_once_they_had_their_time) {
  come(3, 0);
  come(3, 5 * ms);
  list_.look(9 * ms);
  EXPECT_EQ(ended(), 0U);
  EXPECT_TRUE(list_.crowded());
  EXPECT_FALSE(list_.full());
  list_.look(10 * ms);
  EXPECT_EQ(ended(), 2U);
  EXPECT_FALSE(all_[0]->why.empty());
  EXPECT_FALSE(all_[1]->why.empty());
  EXPECT_FALSE(list_.crowded());
}

TEST_F(HalfOpenList, is_full_with_twice_as_many_and_not_for_long) {
  come(7, 0);
  EXPECT_FALSE(list_.full());
  come(1, 0);
  EXPECT_TRUE(list_.full());
  list_.look(ms);
  EXPECT_TRUE(list_.full());
  list_.look(10 * ms);
  EXPECT_EQ(ended(), 4U);
  EXPECT_FALSE(list_.full());
}

TEST_F(HalfOpenList, hears_whom_it_would_end) {
  come(8, 0);
  all_[0]->waits = ScriptedNewcomer::Waits::the_whole;
  all_[1]->waits = ScriptedNewcomer::Waits::the_whole;
  list_.look(10 * ms);
  EXPECT_TRUE(all_[0]->up);
  EXPECT_TRUE(all_[1]->up);
  EXPECT_EQ(ended(), 2U);  // and two are no longer half open
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(all_[i]->heard, 0);
}

TEST_F(HalfOpenList, lets_a_hello_that_has_begun_go_on_and_ends_younger_silent_ones_instead) {
  come(6, 0);
  all_[0]->waits = ScriptedNewcomer::Waits::a_part;
  list_.look(10 * ms);
  EXPECT_TRUE(all_[0]->half_open());
  EXPECT_FALSE(all_[1]->why.empty());
  EXPECT_FALSE(all_[2]->why.empty());
  come(40, 20 * ms);
  list_.look(509 * ms);
  EXPECT_TRUE(all_[0]->half_open());
  EXPECT_EQ(ended(), 42U);
  all_[0]->waits = ScriptedNewcomer::Waits::the_whole;
  come(4, 509 * ms);
  list_.look(520 * ms);
  EXPECT_TRUE(all_[0]->up);
}

TEST_F(HalfOpenList, ends_a_hello_that_was_begun_and_not_finished_in_its_time) {
  come(8, 0);
  for (const auto& one : all_) one->waits = ScriptedNewcomer::Waits::a_part;
  list_.look(10 * ms);
  EXPECT_TRUE(list_.full());
  list_.look(509 * ms);
  EXPECT_EQ(ended(), 0U);
  list_.look(510 * ms);
  EXPECT_EQ(ended(), 4U);
  EXPECT_NE(all_[0]->why.find("did not finish its greeting"), std::string::npos) << all_[0]->why;
}

TEST_F(HalfOpenList, forgets_those_that_are_up_or_ended) {
  come(6, 0);
  for (const auto& one : all_) one->up = true;
  list_.look(0);
  EXPECT_TRUE(list_.empty());
  for (const auto& one : all_) EXPECT_EQ(one->heard, 0);
}

}  // namespace
}  // namespace netio::detail
