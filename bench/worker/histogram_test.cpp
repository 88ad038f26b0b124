// Histogram: exact where it says so, three digits elsewhere, and its percentile text.
#include "worker/histogram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace netio::bench {
namespace {

TEST(Histogram, is_exact_below_2048_ns) {
  for (std::uint64_t ns = 0; ns < 2048; ++ns) {
    Histogram one;
    one.add(ns);
    EXPECT_EQ(one.at(0.5), ns);
    EXPECT_EQ(one.steps().front().first, ns);
  }
}

TEST(Histogram, keeps_three_digits_up_to_the_longest_time) {
  for (std::uint64_t ns = 2048; ns < (std::uint64_t{1} << 62U); ns = ns * 5 / 3 + 1) {
    Histogram one;
    one.add(ns);
    EXPECT_GE(one.at(1), ns);
    EXPECT_LE(one.at(1) - ns, ns / 1000);
    EXPECT_LE(one.steps().front().first, ns);
  }
  Histogram longest;
  longest.add(~std::uint64_t{0});
  EXPECT_EQ(longest.at(1), ~std::uint64_t{0});
}

TEST(Histogram, finds_the_share_asked_for) {
  Histogram all;
  for (std::uint64_t ns = 1; ns <= 1000; ++ns) all.add(ns);
  EXPECT_EQ(all.at(0), 1U);
  EXPECT_EQ(all.at(0.5), 500U);
  EXPECT_EQ(all.at(0.99), 990U);
  EXPECT_EQ(all.at(0.999), 999U);
  EXPECT_EQ(all.at(1), 1000U);
  EXPECT_DOUBLE_EQ(all.mean(), 500.5);
}

TEST(Histogram, comes_back_from_its_steps) {
  Histogram first;
  for (std::uint64_t ns = 3; ns < 100'000'000; ns = ns * 3 + 1) first.add(ns, ns % 7 + 1);
  Histogram second;
  for (const auto& [ns, count] : first.steps()) second.add(ns, count);
  EXPECT_EQ(second.steps(), first.steps());
  EXPECT_EQ(second.total(), first.total());
  first.add(second);
  EXPECT_EQ(first.total(), 2 * second.total());
}

TEST(Histogram, without_any_time_is_zero) {
  EXPECT_EQ(Histogram().at(0.5), 0U);
  EXPECT_DOUBLE_EQ(Histogram().mean(), 0);
}

// Value, percentile, count so far, 1/(1-p); the last line has no fourth column.
TEST(Histogram, writes_the_percentile_text) {
  Histogram all;
  all.add(1000, 3);
  all.add(2000, 1);
  const std::string text = all.percentile_text();
  EXPECT_THAT(text, testing::HasSubstr("1.000 0.750000000000          3           4.00\n"));
  EXPECT_THAT(text, testing::HasSubstr("2.000 1.000000000000          4\n"));
  EXPECT_THAT(text, testing::HasSubstr("Total count    =            4]"));
}

}  // namespace
}  // namespace netio::bench
