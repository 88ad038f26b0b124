// What an account is charged for, with the time passed in.
#include "pattern/publish/allowances.hpp"

#include <string>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::int64_t account_second_ns = 1'000'000'000;
constexpr std::size_t aside_bytes_max = 1000;
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
  Account account_{block_for_max_ns, 0, 0};
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
  Allowances allowances(block_for_max_ns, aside_bytes_max, 0);
  charge(0, 40);
  EXPECT_FALSE(allowances.may_block(account_, 19 * account_second_ns));
  EXPECT_TRUE(allowances.may_block(account_, 20 * account_second_ns));
}

TEST(Accounts, may_put_aside_as_much_as_they_leave_for_others) {
  Allowances allowances(block_for_max_ns, aside_bytes_max, 0);
  Account& one = *allowances.account_of("tcp://192.0.2.1:4000", 0);
  Account& other = *allowances.account_of("tcp://192.0.2.2:4000", 0);
  EXPECT_EQ(allowances.may_put_aside(one), 500U);
  allowances.put_aside(one, 400);
  EXPECT_EQ(allowances.may_put_aside(one), 100U);
  EXPECT_EQ(allowances.may_put_aside(other), 300U);
  allowances.put_aside(one, 700);  // not asked whether it may
  EXPECT_EQ(allowances.may_put_aside(one), 0U);
  EXPECT_EQ(allowances.may_put_aside(other), 0U);
  allowances.take_from_aside(one, 1100);
  EXPECT_EQ(allowances.may_put_aside(other), 500U);
}

// A host is allowed 2^21 in advance, and 2^18 a second.
TEST(Accounts, fill_up_by_a_few_milliseconds_a_turn_while_changes_wait) {
  constexpr std::int64_t ms = 1'000'000;
  constexpr double a_millisecond = 262'144 / 1000.0;
  Allowances allowances(block_for_max_ns, aside_bytes_max, 0);
  Account& account = *allowances.account_of("tcp://192.0.2.1:4000", 0);
  allowances.charge_change(account, 2'097'152 + 15 * a_millisecond);
  allowances.put_aside(account, 1);
  EXPECT_FALSE(allowances.may_change(account, 9 * ms));
  EXPECT_FALSE(allowances.may_change(account, 14 * ms));
  EXPECT_TRUE(allowances.may_change(account, 16 * ms));
  // A turn of ten seconds.
  allowances.charge_change(account, 16 * a_millisecond);
  EXPECT_FALSE(allowances.may_change(account, 10'000 * ms));
  EXPECT_TRUE(allowances.may_change(account, 10'006 * ms));
  // The turn in which the last one was done, and then, when nothing waits, all time.
  allowances.take_from_aside(account, 1);
  allowances.charge_change(account, 900 * a_millisecond);
  EXPECT_FALSE(allowances.may_change(account, 10'500 * ms));
  EXPECT_FALSE(allowances.may_change(account, 11'380 * ms));
  EXPECT_TRUE(allowances.may_change(account, 11'400 * ms));
}

TEST(Accounts, are_one_for_each_host_whatever_the_scheme_and_port) {
  Allowances allowances(block_for_max_ns, aside_bytes_max, 0);
  const auto account_of = [&](const char* address) { return allowances.account_of(address, 0); };
  const auto host = account_of("tcp://192.0.2.1:4000");
  EXPECT_EQ(account_of("tcp://192.0.2.1:4001"), host);
  EXPECT_EQ(account_of("ofi+tcp://192.0.2.1:4002"), host);
  EXPECT_EQ(account_of("verbs://192.0.2.1:4003"), host);
  EXPECT_NE(account_of("tcp://192.0.2.2:4000"), host);
  const auto host6 = account_of("tcp://[2001:db8::1]:4000");
  EXPECT_EQ(account_of("ofi+tcp://[2001:db8::1]:4001"), host6);
  EXPECT_NE(account_of("tcp://[2001:db8::2]:4000"), host6);
}

TEST(Accounts, are_one_for_all_peers_in_shared_memory) {
  Allowances allowances(block_for_max_ns, aside_bytes_max, 0);
  const auto account = allowances.account_of("shm://name", 0);
  EXPECT_EQ(allowances.account_of("shm:///a/path", 0), account);
  EXPECT_NE(allowances.account_of("inproc://name", 0), account);
  EXPECT_NE(allowances.account_of("tcp://shm:4000", 0), account);
}

TEST(Accounts, of_very_many_hosts_are_bounded_and_the_last_ones_share_one) {
  Allowances allowances(block_for_max_ns, aside_bytes_max, 0);
  const auto host = [](int number) { return "tcp://host" + std::to_string(number) + ":1"; };
  // None of them is as it was at first, so none is forgotten.
  for (int i = 0; i < 4096; ++i) allowances.charge_change(*allowances.account_of(host(i), 0), 1);
  const auto shared = allowances.account_of(host(5000), 0);
  EXPECT_EQ(allowances.account_of(host(5001), 0), shared);
  EXPECT_NE(allowances.account_of(host(1), 0), shared);
  // Later those that nobody uses are.
  EXPECT_NE(allowances.account_of(host(5002), account_second_ns), shared);
}

}  // namespace
}  // namespace netio::detail
