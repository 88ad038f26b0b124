// Heartbeats: when they are due, and when a silence is one.
#include "socket/heartbeat.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::int64_t millisecond = 1'000'000;

TEST(Heartbeat, is_looked_at_as_often_as_either_side_needs) {
  Heartbeat heartbeat;
  heartbeat.begin(0, 0, 0, 0, 0);
  EXPECT_EQ(heartbeat.period_ns(), 0);
  heartbeat.begin(0, 1000, 0, 0, 0);
  EXPECT_EQ(heartbeat.period_ns(), 150 * millisecond);
  heartbeat.begin(1000, 0, 0, 0, 0);
  EXPECT_EQ(heartbeat.period_ns(), 125 * millisecond);
  heartbeat.begin(1000, 400, 0, 0, 0);
  EXPECT_EQ(heartbeat.period_ns(), 60 * millisecond);
}

TEST(Heartbeat, is_due_when_nothing_else_was_said) {
  Heartbeat heartbeat;
  heartbeat.begin(0, 1000, 0, 5, 0);
  EXPECT_TRUE(heartbeat.due(5));
  EXPECT_FALSE(heartbeat.due(6));
  EXPECT_TRUE(heartbeat.due(6));
  heartbeat.begin(1000, 0, 0, 5, 0);
  EXPECT_FALSE(heartbeat.due(5)) << "nobody wants to hear of it";
}

TEST(Heartbeat, silence_is_believed_at_the_second_look) {
  using Heard = Heartbeat::Heard;
  Heartbeat heartbeat;
  heartbeat.begin(1000, 0, 0, 0, 7);
  EXPECT_EQ(heartbeat.listen(7, true, 1000 * millisecond), Heard::enough);
  EXPECT_EQ(heartbeat.listen(7, true, 1001 * millisecond), Heard::look_again);
  EXPECT_EQ(heartbeat.listen(7, true, 1063 * millisecond), Heard::look_again) << "too soon";
  EXPECT_EQ(heartbeat.listen(7, true, 1126 * millisecond), Heard::nothing);
  EXPECT_EQ(heartbeat.silent_for_ns(1126 * millisecond), 1126 * millisecond);
  EXPECT_TRUE(heartbeat.last_heard(7));
  EXPECT_FALSE(heartbeat.last_heard(8));
  EXPECT_EQ(heartbeat.listen(8, true, 1127 * millisecond), Heard::enough) << "it goes on";

  heartbeat.begin(1000, 0, 0, 0, 7);
  EXPECT_EQ(heartbeat.listen(7, true, 1001 * millisecond), Heard::look_again);
  EXPECT_EQ(heartbeat.listen(8, true, 1002 * millisecond), Heard::enough)
      << "it had waited to be read";
  EXPECT_EQ(heartbeat.listen(8, true, 2003 * millisecond), Heard::look_again)
      << "and it is asked anew";
}

TEST(Heartbeat, a_side_that_does_not_read_hears_nothing_and_says_nothing_about_it) {
  using Heard = Heartbeat::Heard;
  Heartbeat heartbeat;
  heartbeat.begin(1000, 0, 0, 0, 7);
  EXPECT_EQ(heartbeat.listen(7, false, 5000 * millisecond), Heard::enough);
  EXPECT_EQ(heartbeat.listen(7, true, 5900 * millisecond), Heard::enough) << "counted from then on";
  EXPECT_EQ(heartbeat.listen(7, true, 6001 * millisecond), Heard::look_again);
}

}  // namespace
}  // namespace netio::detail
