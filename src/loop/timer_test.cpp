// Timers against the real clock.
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <netio/loop.hpp>

#include "base/clock.hpp"

namespace netio {
namespace {

using namespace std::chrono_literals;

class TimerTest : public testing::Test {
 protected:
  Loop loop_;
};

TEST_F(TimerTest, one_shot_expires_once_and_not_before_its_time) {
  int expiries = 0;
  Timer timer(loop_, [&] { ++expiries; });
  const auto start = loop_.now();
  timer.start_once(2ms);
  EXPECT_TRUE(timer.running());
  while (expiries == 0) loop_.run_once(-1ns);
  EXPECT_GE(loop_.now() - start, 2ms);
  EXPECT_FALSE(timer.running());
  loop_.run_once(5ms);
  EXPECT_EQ(expiries, 1);
}

TEST_F(TimerTest, periodic_expires_once_per_period_without_drift) {
  std::vector<std::chrono::nanoseconds> times;
  Timer timer(loop_, [&] { times.push_back(loop_.now()); });
  std::chrono::nanoseconds start{};
  loop_.post([&] {  // in a turn, in which the time stands still
    start = loop_.now();
    timer.start_periodic(1ms);
  });
  while (times.size() < 50) loop_.run_once(-1ns);
  long period_last = 0;
  for (const auto time : times) {
    const long period = (time - start) / 1ms;  // in which period it expired
    EXPECT_GT(period, period_last);
    period_last = period;
  }
}

TEST_F(TimerTest, of_microseconds_expires_within_microseconds) {
  constexpr int expiries_wanted = 1000;
  int expiries = 0;
  Timer timer(loop_, [&] {
    if (++expiries == expiries_wanted) loop_.stop();
  });
  const auto start = loop_.now();
  timer.start_periodic(50us);
  loop_.run();
  EXPECT_GE(loop_.now() - start, 50us * expiries_wanted);
  EXPECT_LT(loop_.now() - start, 5s);  // a clock of ticks would need seconds
}

TEST_F(TimerTest, missed_periods_are_not_made_up_for) {
  int expiries = 0;
  Timer timer(loop_, [&] { ++expiries; });
  timer.start_periodic(1ms);
  const auto busy_until = detail::monotonic_ns() + 10'000'000;
  while (detail::monotonic_ns() < busy_until) {
  }
  loop_.run_once(0ns);
  EXPECT_EQ(expiries, 1);
}

TEST_F(TimerTest, period_of_zero_expires_once_a_turn) {
  int expiries = 0;
  Timer timer(loop_, [&] { ++expiries; });
  timer.start_periodic(0ns);
  for (int turn = 1; turn <= 5; ++turn) {
    EXPECT_TRUE(loop_.run_once(-1ns));
    EXPECT_EQ(expiries, turn);
  }
}

TEST_F(TimerTest, restarted_with_no_delay_by_its_own_call_back_expires_once_a_turn) {
  int expiries = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(loop_, [&] {
    ++expiries;
    timer->start_once(-1s);  // in the past is now
  });
  timer->start_once(0ns);
  for (int turn = 1; turn <= 5; ++turn) {
    loop_.run_once(-1ns);
    EXPECT_EQ(expiries, turn);
  }
}

TEST_F(TimerTest, periodic_stops_within_its_call_back) {
  int expiries = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(loop_, [&] {
    ++expiries;
    timer->stop();
  });
  timer->start_periodic(100us);
  loop_.run_once(-1ns);
  loop_.run_once(2ms);
  EXPECT_EQ(expiries, 1);
  EXPECT_FALSE(timer->running());
}

TEST_F(TimerTest, starting_a_running_one_restarts_it) {
  int expiries = 0;
  Timer timer(loop_, [&] { ++expiries; });
  timer.start_once(1ms);
  timer.start_once(1h);
  loop_.run_once(5ms);
  EXPECT_EQ(expiries, 0);
  timer.start_once(0ns);
  loop_.run_once(-1ns);
  EXPECT_EQ(expiries, 1);
}

TEST_F(TimerTest, destroys_itself_in_its_call_back) {
  int expiries = 0;
  std::unique_ptr<Timer> timer;
  // What the function has captured outlives the timer until it returns.
  auto guard = std::make_shared<int>(7);
  timer = std::make_unique<Timer>(loop_, [&, guard] {
    timer.reset();
    expiries += *guard;
  });
  guard.reset();
  timer->start_periodic(10us);
  loop_.run_once(-1ns);
  loop_.run_once(1ms);
  EXPECT_EQ(expiries, 7);
}

TEST_F(TimerTest, destroyed_by_another_that_is_due_at_the_same_time_does_not_expire) {
  int expiries = 0;
  std::unique_ptr<Timer> second;
  Timer first(loop_, [&] { second.reset(); });
  second = std::make_unique<Timer>(loop_, [&] { ++expiries; });
  first.start_once(0ns);
  second->start_once(0ns);
  loop_.run_once(1ms);
  EXPECT_EQ(expiries, 0);
}

TEST_F(TimerTest, those_of_one_deadline_expire_in_the_order_they_were_started) {
  std::vector<int> order;
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < 20; ++i) {
    timers.push_back(std::make_unique<Timer>(loop_, [&order, i] { order.push_back(i); }));
  }
  Timer starter(loop_, [&] {  // within a turn time stands still: one deadline for all
    for (const auto& timer : timers) timer->start_once(1us);
  });
  starter.start_once(0ns);
  while (order.size() < timers.size()) loop_.run_once(-1ns);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_F(TimerTest, too_far_away_to_count_never_expires) {
  int expiries = 0;
  Timer once(loop_, [&] { ++expiries; });
  Timer periodic(loop_, [&] { ++expiries; });
  once.start_once(std::chrono::nanoseconds::max());
  periodic.start_periodic(std::chrono::nanoseconds::max());
  EXPECT_FALSE(loop_.run_once(1ms));
  EXPECT_EQ(expiries, 0);
}

TEST_F(TimerTest, starts_and_stops_at_random_keep_deadlines_in_order) {
  std::vector<std::unique_ptr<Timer>> timers;
  std::vector<long> deadline(200, -1);
  long last = -1;
  int expiries = 0;
  for (std::size_t i = 0; i < deadline.size(); ++i) {
    timers.push_back(std::make_unique<Timer>(loop_, [&, i] {
      EXPECT_GE(deadline[i], last);
      last = std::exchange(deadline[i], -1);
      ++expiries;
    }));
  }
  int running = 0;
  Timer starter(loop_, [&] {
    std::uint64_t state = 12345;
    const auto random = [&state](std::uint64_t bound) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return (state >> 33U) % bound;
    };
    for (int operation = 0; operation < 5000; ++operation) {
      const auto i = random(deadline.size());
      const bool start = random(3) != 0;
      if (start) timers[i]->start_once(std::chrono::microseconds(random(2000)));
      if (!start) timers[i]->stop();
      deadline[i] = -1;
    }
    for (std::size_t i = 0; i < deadline.size(); i += 2) {
      deadline[i] = static_cast<long>(random(2000));
      timers[i]->start_once(std::chrono::microseconds(deadline[i]));
      timers[i + 1]->stop();
      ++running;
    }
  });
  starter.start_once(0ns);
  loop_.run_once(-1ns);
  while (expiries < running) loop_.run_once(-1ns);
  EXPECT_EQ(expiries, 100);
}

}  // namespace
}  // namespace netio
