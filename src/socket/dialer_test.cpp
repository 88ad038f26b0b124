// When a dialer tries again, and when it gives up; with a real loop, whose delays are only bounded
// from below.
#include "socket/dialer.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "transport/transport.hpp"

namespace netio::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class Dialing : public testing::Test {
 protected:
  // Turns the loop until the next attempt, which never comes before this time has passed.
  [[nodiscard]] nanoseconds wait_for_attempt() {
    const nanoseconds begin = loop_.now();
    for (const int before = attempts_; attempts_ == before;) loop_.run_once(milliseconds(100));
    return loop_.now() - begin;
  }
  // How an attempt ends that never came up.
  bool fails_for(DownReason reason, bool met = false, bool wanted = true) {
    return dialer_.ended({.reason = reason, .was_up = false, .met = met, .wanted = wanted});
  }

  Loop loop_;
  SocketOptions options_{.reconnect_after_min = milliseconds(8),
                         .reconnect_after_max = milliseconds(16)};
  int attempts_ = 0;
  Dialer dialer_{loop_, options_, parse_address("tcp://127.0.0.1:9"), [this] { ++attempts_; }};
};

TEST_F(Dialing, tries_again_after_half_of_the_delay_at_least) {
  EXPECT_FALSE(fails_for(DownReason::unreachable));
  EXPECT_TRUE(dialer_.retrying());
  EXPECT_GE(wait_for_attempt(), milliseconds(4));
  EXPECT_FALSE(fails_for(DownReason::unreachable));
  EXPECT_GE(wait_for_attempt(), milliseconds(6));
}

TEST_F(Dialing, does_not_try_again_where_there_is_nothing_to_come_back_for) {
  EXPECT_FALSE(fails_for(DownReason::unreachable, false, false));
  EXPECT_FALSE(dialer_.retrying());
}

TEST_F(Dialing, gives_up_where_a_netio_says_that_it_is_another_pattern) {
  EXPECT_FALSE(fails_for(DownReason::pattern_mismatch));
  EXPECT_FALSE(dialer_.retrying());
}

TEST_F(Dialing, comes_back_slowly_to_where_a_netio_was_met) {
  EXPECT_FALSE(fails_for(DownReason::pattern_mismatch, true));
  EXPECT_TRUE(dialer_.retrying());
  EXPECT_GE(wait_for_attempt(), milliseconds(500));
}

TEST_F(Dialing, tells_the_same_wrong_answer_once) {
  EXPECT_FALSE(fails_for(DownReason::foreign_protocol));
  EXPECT_TRUE(fails_for(DownReason::foreign_protocol));
  EXPECT_FALSE(fails_for(DownReason::name_unknown, true));
  EXPECT_FALSE(fails_for(DownReason::unreachable));
  EXPECT_FALSE(fails_for(DownReason::foreign_protocol));
}

TEST_F(Dialing, waits_for_a_name_that_is_not_known_yet) {
  EXPECT_FALSE(fails_for(DownReason::name_unknown));
  EXPECT_TRUE(dialer_.retrying());
  EXPECT_GE(wait_for_attempt(), milliseconds(500));
  EXPECT_TRUE(fails_for(DownReason::name_unknown));
  EXPECT_TRUE(dialer_.retrying());
  EXPECT_FALSE(fails_for(DownReason::name_temporary));
  EXPECT_TRUE(fails_for(DownReason::name_temporary));
}

TEST_F(Dialing, tells_of_a_connection_that_was_up_in_any_case) {
  EXPECT_FALSE(fails_for(DownReason::foreign_protocol));
  dialer_.came_up();
  EXPECT_FALSE(dialer_.retrying());
  EXPECT_FALSE(dialer_.ended(
      {.reason = DownReason::foreign_protocol, .was_up = true, .met = true, .wanted = true}));
}

// Timers expire in order, however late the loop is.
TEST_F(Dialing, comes_back_at_once_to_where_a_connection_has_lasted) {
  int before = -1;
  Timer half_of_the_delay(loop_, [&] { before = attempts_; });
  const auto lose = [&](milliseconds lasted) {
    dialer_.came_up();
    for (const nanoseconds end = loop_.now() + lasted; loop_.now() < end;) {
      loop_.run_once(milliseconds(5));
    }
    (void)dialer_.ended({.reason = DownReason::lost, .was_up = true, .met = true, .wanted = true});
    half_of_the_delay.start_once(milliseconds(3));
    while (half_of_the_delay.running()) loop_.run_once(milliseconds(100));
  };
  lose(milliseconds(20));
  EXPECT_EQ(before, 1);
  attempts_ = 0;
  lose(milliseconds(0));
  EXPECT_EQ(before, 0) << "else a peer that ends each connection at once is asked without a pause";
}

TEST_F(Dialing, begins_again_with_the_first_delay_where_connections_last_for_longer) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(fails_for(DownReason::unreachable));
    (void)wait_for_attempt();
  }
  dialer_.came_up();
  for (const nanoseconds end = loop_.now() + milliseconds(17); loop_.now() < end;) {
    loop_.run_once(milliseconds(5));
  }
  (void)dialer_.ended({.reason = DownReason::lost, .was_up = true, .met = true, .wanted = true});
  EXPECT_TRUE(dialer_.retrying());
  (void)wait_for_attempt();
  (void)fails_for(DownReason::unreachable);
  Timer first_delay(loop_, [] {});
  first_delay.start_once(milliseconds(9));
  const int before = attempts_;
  while (first_delay.running()) loop_.run_once(milliseconds(100));
  EXPECT_GT(attempts_, before) << "8 ms at most, and not 16";
}

TEST_F(Dialing, comes_with_another_stream_at_once) {
  dialer_.dial_at_once(false);
  EXPECT_FALSE(dialer_.retrying());
  dialer_.dial_at_once(true);
  EXPECT_TRUE(dialer_.retrying());
  (void)wait_for_attempt();
  EXPECT_EQ(attempts_, 1);
}

TEST_F(Dialing, stops) {
  EXPECT_FALSE(fails_for(DownReason::unreachable));
  dialer_.stop();
  for (const nanoseconds end = loop_.now() + milliseconds(30); loop_.now() < end;) {
    loop_.run_once(milliseconds(5));
  }
  EXPECT_EQ(attempts_, 0);
}

}  // namespace
}  // namespace netio::detail
