// Delays between attempts grow, end at the last one, and never become none.
#include "socket/retry_delay.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

TEST(RetryDelay, grows_by_a_half_from_the_first_to_the_last) {
  constexpr std::int64_t first_ns = second_ns / 100;
  EXPECT_EQ(retry_delay_ns(first_ns, second_ns, 0), first_ns);
  EXPECT_EQ(retry_delay_ns(first_ns, second_ns, 1), first_ns / 2 * 3);
  EXPECT_EQ(retry_delay_ns(first_ns, second_ns, 2), first_ns / 4 * 9);
  EXPECT_LT(retry_delay_ns(first_ns, second_ns, 11), second_ns);
  EXPECT_EQ(retry_delay_ns(first_ns, second_ns, 12), second_ns);
  EXPECT_EQ(retry_delay_ns(first_ns, second_ns, 1'000'000), second_ns);
}

// A delay that wraps is negative: attempts without a pause.
TEST(RetryDelay, never_shrinks_however_long_the_first_is) {
  for (const std::int64_t first_ns : {std::int64_t{1}, second_ns, 10 * second_ns, 3600 * second_ns,
                                      std::int64_t{INT64_MAX / 2}, std::int64_t{INT64_MAX}}) {
    for (const std::int64_t last_ns : {first_ns, std::int64_t{INT64_MAX}}) {
      std::int64_t before_ns = first_ns;
      for (int failed = 0; failed < 130; ++failed) {
        const std::int64_t delay_ns = retry_delay_ns(first_ns, last_ns, failed);
        EXPECT_GE(delay_ns, before_ns) << first_ns << " after " << failed;
        EXPECT_LE(delay_ns, last_ns);
        before_ns = delay_ns;
      }
    }
  }
}

}  // namespace
}  // namespace netio::detail
