// A loop that is driven by poll(2) on its fd(), without a timeout: whatever is not announced by
// the descriptor hangs, until its time is over.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <poll.h>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <netio/loop.hpp>

#include "support/allocation_counter.hpp"
#include "support/counted_source.hpp"
#include "support/deferred_work.hpp"
#include "support/environment.hpp"

namespace netio {
namespace {

using namespace std::chrono_literals;
using test::CountedSource;
using test::Work;

class ForeignLoop : public testing::Test {
 protected:
  ForeignLoop() { settle(); }

  bool readable(int timeout_ms) {
    pollfd descriptor{loop_.fd(), POLLIN, 0};
    return ::poll(&descriptor, 1, timeout_ms) > 0;
  }
  void turn() {
    while (!readable(-1)) {  // interrupted
    }
    loop_.run_once(0ns);
  }
  // Turns until the descriptor is quiet; it is at most a few turns away.
  void settle() {
    int turns = 0;
    while (readable(0) && turns++ < 10) loop_.run_once(0ns);
    EXPECT_FALSE(readable(0));
  }

  Loop loop_;
};

TEST_F(ForeignLoop, is_quiet_when_there_is_nothing_to_do) { EXPECT_FALSE(readable(5)); }

TEST_F(ForeignLoop, shows_timers_that_were_started_outside_of_a_turn) {
  int expiries = 0;
  Timer timer(loop_, [&] { ++expiries; });
  timer.start_once(1h);
  timer.start_once(1ms);
  while (expiries == 0) turn();
  settle();
  timer.start_periodic(500us);
  while (expiries < 10) turn();
}

TEST_F(ForeignLoop, shows_timers_that_were_running_before_it_became_foreign) {
  Loop loop;
  int expiries = 0;
  Timer timer(loop, [&] { ++expiries; });
  timer.start_once(2ms);
  pollfd descriptor{loop.fd(), POLLIN, 0};
  while (expiries == 0) {
    ::poll(&descriptor, 1, -1);
    loop.run_once(0ns);
  }
}

TEST_F(ForeignLoop, shows_a_timer_that_is_started_again_for_the_same_moment) {
  int expiries = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(loop_, [&] {
    if (++expiries % 2 == 1) timer->start_once(0ns);
  });
  for (int i = 0; i < 200; ++i) {
    timer->start_once(std::chrono::microseconds(i));
    while (timer->running()) turn();
  }
  EXPECT_EQ(expiries, 400);
}

TEST_F(ForeignLoop, is_quiet_again_after_a_timer_was_stopped) {
  Timer timer(loop_, [] { FAIL(); });
  timer.start_once(1ms);
  timer.stop();
  EXPECT_TRUE(readable(1000));  // once in vain, rather than a system call for each stop()
  settle();
  EXPECT_FALSE(readable(5));
}

TEST_F(ForeignLoop, shows_signals_and_posts_of_other_threads) {
  int signals = 0;
  int posts = 0;
  constexpr int rounds = 2000;
  Signal signal(loop_, [&] { ++signals; });
  for (int i = 1; i <= rounds; ++i) {
    std::thread other;
    if (i % 100 == 0) {
      other = std::thread([&] {
        signal.notify();
        loop_.post([&] { ++posts; });
      });
    } else {
      signal.notify();
      loop_.post([&] { ++posts; });
    }
    while (signals < i || posts < i) turn();
    if (other.joinable()) other.join();
  }
}

TEST_F(ForeignLoop, shows_what_is_posted_by_posted_functions) {
  int runs = 0;
  std::function<void()> again = [&] {
    if (++runs < 100) loop_.post(again);
  };
  loop_.post(again);
  while (runs < 100) turn();
  settle();
}

TEST_F(ForeignLoop, shows_work_deferred_outside_of_a_turn) {
  int runs = 0;
  Work work([&] { ++runs; });
  for (int i = 1; i <= 100; ++i) {
    loop_.defer(work);
    turn();
    EXPECT_EQ(runs, i);
    EXPECT_FALSE(readable(0));
  }
}

TEST_F(ForeignLoop, shows_deferred_work_that_was_left_for_the_next_turn) {
  int runs = 0;
  std::unique_ptr<Work> work;
  work = std::make_unique<Work>([&] {
    if (++runs < 1000) loop_.defer(*work);
  });
  loop_.defer(*work);
  while (runs < 1000) turn();
  settle();
}

TEST_F(ForeignLoop, shows_a_source_that_refuses_to_sleep_and_is_quiet_once_it_agrees) {
  CountedSource source;
  source.never_sleeps = true;
  loop_.add_source(source);
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(source.polls, 100);
  source.never_sleeps = false;
  settle();
  loop_.remove_source(source);
}

TEST_F(ForeignLoop, shows_a_source_that_has_more_than_its_budget) {
  CountedSource source;
  source.give(10'000);
  loop_.add_source(source);
  while (source.taken < 10'000) turn();
  settle();
  source.give(10'000);
  while (source.taken < 20'000) turn();
  settle();
  loop_.remove_source(source);
}

TEST_F(ForeignLoop, may_still_be_run_by_itself) {
  CountedSource source;
  loop_.add_source(source);
  Timer timer(loop_, [&] { loop_.stop(); });
  timer.start_once(5ms);
  loop_.run();
  EXPECT_LT(source.polls, 20);  // it slept
  loop_.remove_source(source);
}

TEST_F(ForeignLoop, allocates_nothing_once_it_is_set_up) {
  CountedSource source;
  loop_.add_source(source);
  Timer timer(loop_, [] {});
  Work work([] {});
  EXPECT_EQ(test::allocations_during([&] {
              for (int i = 0; i < 1000; ++i) {
                timer.start_once(1us);
                loop_.defer(work);
                source.give(1);
                while (readable(0)) loop_.run_once(0ns);
              }
            }),
            0U);
  loop_.remove_source(source);
}

// Random operations, within turns and outside, here and on two other threads. Every one of them
// must be seen; nothing but the descriptor says when to turn.
class Stress : public ForeignLoop {
 protected:
  Stress() {
    for (int i = 0; i < 8; ++i) {
      timers_.push_back(std::make_unique<Timer>(loop_, [this] { on_event(timers_due_); }));
      works_.push_back(std::make_unique<Work>([this] { on_event(works_due_); }));
    }
    loop_.add_source(source_);
  }
  ~Stress() override { loop_.remove_source(source_); }

  void on_event(int& due) {
    --due;
    if (random_() % 2 == 0) act();
  }
  void act() {
    const auto i = random_() % 8;
    switch (random_() % 6) {
      case 0:
        ++posts_due_;
        return loop_.post([this] { on_event(posts_due_); });
      case 1:
        if (!timers_[i]->running()) ++timers_due_;
        return timers_[i]->start_once(std::chrono::nanoseconds(random_() % 200'000));
      case 2:
        if (timers_[i]->running()) --timers_due_;
        return timers_[i]->stop();
      case 3:
        if (!works_[i]->scheduled()) ++works_due_;
        return loop_.defer(*works_[i]);
      case 4:
        given_ += 100;
        return source_.give(100);
      default:
        source_.never_sleeps = random_() % 4 == 0;
    }
  }
  bool all_seen() const {
    return timers_due_ == 0 && works_due_ == 0 && posts_due_ == 0 && source_.taken == given_;
  }

  std::mt19937 random_;
  std::vector<std::unique_ptr<Timer>> timers_;
  std::vector<std::unique_ptr<Work>> works_;
  CountedSource source_;
  int timers_due_ = 0;
  int works_due_ = 0;
  int posts_due_ = 0;
  int given_ = 0;
};

TEST_F(Stress, every_operation_is_seen) {
  const auto seed = static_cast<unsigned>(test::seed());
  std::printf("seed %u\n", seed);
  random_.seed(seed);
  constexpr int posts_each = 3000;
  std::atomic<int> posted_seen{0};
  std::atomic<int> notified{0};
  int notified_seen = 0;
  Signal signal(loop_, [&] { notified_seen = notified.load(); });
  const auto disturb = [&](unsigned thread_seed) {
    std::minstd_rand random(thread_seed);
    for (int i = 0; i < posts_each; ++i) {
      loop_.post([&] { ++posted_seen; });
      ++notified;
      signal.notify();
      if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
    }
  };
  std::thread first(disturb, seed + 1);
  std::thread second(disturb, seed + 2);
  for (int round = 0; round < 3000; ++round) {
    for (auto actions = random_() % 4; actions > 0; --actions) act();
    while (!all_seen()) turn();
  }
  while (posted_seen < 2 * posts_each || notified_seen < 2 * posts_each) turn();
  first.join();
  second.join();
  source_.never_sleeps = false;
  settle();
}

}  // namespace
}  // namespace netio
