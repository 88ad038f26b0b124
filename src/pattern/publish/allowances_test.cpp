// What an account is charged for, with the time passed in.
#include "pattern/publish/allowances.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::int64_t account_second_ns = 1'000'000'000;
constexpr std::int64_t block_for_max_ns = 10 * account_second_ns;

class HoldingAccount : public testing::Test {
 protected:
  // In seconds. No time passes for the allowance.
  void charge(std::int64_t from, std::int64_t to) {
    account_.charge_held(from * account_second_ns, to * account_second_ns);
  }
  [[nodiscard]] double left(std::int64_t at = 0) {
    return account_.holding.left(at * account_second_ns) / static_cast<double>(account_second_ns);
  }
  Account account_{block_for_max_ns, 0};
};

TEST_F(HoldingAccount, has_four_times_the_longest_time) { EXPECT_EQ(left(), 40); }

TEST_F(HoldingAccount, is_charged_once_for_the_same_time) {
  charge(10, 20);
  charge(10, 20);
  charge(12, 20);
  EXPECT_EQ(left(), 30);
}

TEST_F(HoldingAccount, is_charged_for_what_one_began_earlier_than_another) {
  charge(19, 20);
  EXPECT_EQ(left(), 39);
  charge(10, 20);
  EXPECT_EQ(left(), 30);
  charge(15, 21);
  EXPECT_EQ(left(), 29);
}

TEST_F(HoldingAccount, is_charged_for_times_that_lie_apart) {
  charge(1, 3);
  charge(5, 9);
  EXPECT_EQ(left(), 34);
  charge(10, 11);
  EXPECT_EQ(left(), 33);
}

// However much is charged, the time until it is whole again is bounded.
TEST_F(HoldingAccount, is_never_below_zero_and_gets_a_sixteenth_of_the_time) {
  for (std::int64_t i = 0; i < 100; ++i) charge(10 * i, 10 * i + 10);
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(left(16), 1);
  EXPECT_EQ(left(640), 40);
  EXPECT_EQ(left(10'000), 40);
}

TEST_F(HoldingAccount, may_block_with_an_eighth_of_the_longest_time) {
  Allowances allowances(block_for_max_ns, 0);
  charge(0, 40);
  EXPECT_FALSE(allowances.may_block(account_, 19 * account_second_ns));
  EXPECT_TRUE(allowances.may_block(account_, 20 * account_second_ns));
}

}  // namespace
}  // namespace netio::detail
