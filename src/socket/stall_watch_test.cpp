// Who is late: by numbers and a clock that is given.
#include "socket/stall_watch.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::int64_t period_ns = 1'000;
constexpr std::uint64_t held = 1'000'000;

// Looks four times in each period until it says so, or `periods` are over; how many it took.
template <typename Left, typename Moved>
std::int64_t periods_until_stalled(HoldingWatch& watch, std::int64_t periods, Left left,
                                   Moved moved) {
  for (std::int64_t now_ns = 0; now_ns < periods * period_ns; now_ns += period_ns / 4) {
    if (watch.stalled(left(now_ns), moved(now_ns), now_ns, period_ns)) return now_ns / period_ns;
  }
  return periods;
}

TEST(HoldingWatch, ends_who_gives_nothing_back) {
  HoldingWatch watch;
  const std::int64_t periods = periods_until_stalled(
      watch, 100, [](std::int64_t) { return held; }, [](std::int64_t) { return std::uint64_t{0}; });
  EXPECT_EQ(periods, 1);
}

// A quarter of what is left is never all of it.
TEST(HoldingWatch, ends_who_gives_back_a_part_of_what_is_left_each_time) {
  HoldingWatch watch;
  const auto left_after = [](std::int64_t now_ns) {
    std::uint64_t left = held;
    for (std::int64_t period = 0; period < now_ns / period_ns; ++period) left -= left / 4;
    return left;
  };
  const std::int64_t periods = periods_until_stalled(
      watch, 1'000, left_after, [&](std::int64_t now_ns) { return held - left_after(now_ns); });
  EXPECT_LE(periods, 4);
}

TEST(HoldingWatch, bears_with_who_gives_back_a_quarter_each_time_to_the_end) {
  HoldingWatch watch;
  const auto moved = [](std::int64_t now_ns) {
    return std::min<std::uint64_t>(
        held, held / 4 * static_cast<std::uint64_t>(now_ns / period_ns * 4 + 3) / 4);
  };
  const std::int64_t periods = periods_until_stalled(
      watch, 100, [&](std::int64_t now_ns) { return held - moved(now_ns); }, moved);
  EXPECT_EQ(periods, 100);
}

// Who is given as much as it gives back holds the same at each look.
TEST(HoldingWatch, bears_with_who_is_given_more_meanwhile) {
  HoldingWatch watch;
  const std::int64_t periods = periods_until_stalled(
      watch, 100, [](std::int64_t) { return held; },
      [](std::int64_t now_ns) {
        return held / 3 * static_cast<std::uint64_t>(now_ns / period_ns);
      });
  EXPECT_EQ(periods, 100);
}

TEST(HoldingWatch, ends_who_is_given_more_and_gives_nothing_back) {
  HoldingWatch watch;
  const std::int64_t periods = periods_until_stalled(
      watch, 100, [](std::int64_t now_ns) { return held + static_cast<std::uint64_t>(now_ns); },
      [](std::int64_t) { return std::uint64_t{0}; });
  EXPECT_EQ(periods, 1);
}

TEST(HoldingWatch, begins_anew_when_nobody_waited) {
  HoldingWatch watch;
  EXPECT_FALSE(watch.stalled(held, 0, 0, period_ns));
  watch.stop();
  EXPECT_FALSE(watch.stalled(held, 0, 2 * period_ns, period_ns));
  EXPECT_FALSE(watch.stalled(held, 0, 3 * period_ns, period_ns)) << "the second look decides";
  EXPECT_TRUE(watch.stalled(held, 0, 3 * period_ns + 1, period_ns));
}

}  // namespace
}  // namespace netio::detail
