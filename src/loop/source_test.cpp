// Sources under each idle policy.
#include <atomic>
#include <ctime>
#include <memory>
#include <sys/epoll.h>
#include <thread>

#include <gtest/gtest.h>

#include <netio/loop.hpp>

#include "base/clock.hpp"
#include "support/counted_source.hpp"

namespace netio {
namespace {

using namespace std::chrono_literals;
using test::CountedSource;

std::int64_t thread_cpu_ns() {
  timespec used;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

class SourceTest : public testing::Test {
 protected:
  SourceTest() { loop_.add_source(source_); }
  ~SourceTest() override { loop_.remove_source(source_); }

  // The share of the CPU this thread used while the loop had nothing to do.
  double idle_load() {
    const auto cpu = thread_cpu_ns();
    const auto start = detail::monotonic_ns();
    loop_.run_once(50ms);
    return double(thread_cpu_ns() - cpu) / double(detail::monotonic_ns() - start);
  }

  Loop loop_;
  CountedSource source_;
};

TEST_F(SourceTest, is_polled_within_its_budget_until_it_has_no_more) {
  source_.give(1000);
  EXPECT_TRUE(loop_.run_once(-1ns));
  EXPECT_GT(source_.taken, 0);
  EXPECT_LT(source_.taken, 1000);
  while (loop_.run_once(0ns)) {
  }
  EXPECT_EQ(source_.taken, 1000);
}

TEST_F(SourceTest, wakes_a_sleeping_loop_for_every_item_of_another_thread) {
  constexpr int items = 5000;
  std::atomic<int> seen{0};
  std::thread giver([&] {
    for (int i = 1; i <= items; ++i) {
      source_.give(1);
      seen.wait(i - 1);
    }
  });
  while (source_.taken < items) {
    loop_.run_once(-1ns);
    seen = source_.taken;
    seen.notify_one();
  }
  giver.join();
}

// The item is there once the loop is about to sleep, and the bell is a watch like any other.
TEST_F(SourceTest, with_a_watch_for_a_bell_is_polled_in_the_turn_that_this_wakes) {
  struct Belled final : Source {
    bool poll(int) noexcept override {
      const int items = given.exchange(0);
      taken += items;
      return items != 0;
    }
    bool may_sleep() noexcept override {
      asked = true;
      return true;
    }
    [[nodiscard]] int fd() const noexcept override { return -1; }
    std::atomic<bool> asked{false};
    std::atomic<int> given{0};
    int taken = 0;
  } belled;
  loop_.add_source(belled);
  Signal bell(loop_, [] {});
  std::thread giver([&] {
    while (!belled.asked) std::this_thread::yield();
    belled.given = 1;
    bell.notify();
  });
  EXPECT_TRUE(loop_.run_once(-1ns));
  EXPECT_EQ(belled.taken, 1);
  giver.join();
  loop_.remove_source(belled);
}

TEST_F(SourceTest, that_refuses_to_sleep_is_polled_again_instead) {
  source_.never_sleeps = true;
  EXPECT_FALSE(loop_.run_once(2ms));
  EXPECT_GT(source_.polls, 10);
}

TEST_F(SourceTest, that_refuses_to_sleep_holds_up_neither_timers_nor_descriptors) {
  source_.never_sleeps = true;
  int calls = 0;
  Timer timer(loop_, [&] { ++calls; });
  Signal signal(loop_, [&] { ++calls; });
  timer.start_once(1ms);
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 1);
  signal.notify();
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 2);
}

TEST_F(SourceTest, added_first_is_asked_to_sleep_first_and_a_refusal_ends_the_asking) {
  source_.never_sleeps = true;
  struct Asked final : Source {
    bool poll(int) noexcept override { return false; }
    bool may_sleep() noexcept override {
      ADD_FAILURE();
      return true;
    }
    [[nodiscard]] int fd() const noexcept override { return -1; }
  } second;
  loop_.add_source(second);
  loop_.run_once(1ms);
  loop_.remove_source(second);
}

TEST_F(SourceTest, leaves_the_loop_within_its_own_poll) {
  struct Leaving final : Source {
    explicit Leaving(Loop& l) : loop(l) {}
    bool poll(int) noexcept override {
      ++polls;
      loop.remove_source(*this);
      return true;
    }
    bool may_sleep() noexcept override { return true; }
    [[nodiscard]] int fd() const noexcept override { return -1; }
    Loop& loop;
    int polls = 0;
  };
  Leaving leaving(loop_);
  CountedSource last;
  loop_.add_source(leaving);
  loop_.add_source(last);
  loop_.run_once(0ns);
  EXPECT_EQ(last.polls, 1);  // none is passed over
  loop_.run_once(0ns);
  EXPECT_EQ(leaving.polls, 1);
  loop_.remove_source(last);
}

TEST_F(SourceTest, under_the_sleep_policy_costs_no_cpu_when_idle) { EXPECT_LT(idle_load(), 0.2); }

TEST_F(SourceTest, under_the_adaptive_policy_costs_no_cpu_when_idle_for_long) {
  loop_.set_idle_policy(IdlePolicy::adaptive);
  EXPECT_LT(idle_load(), 0.2);
}

TEST_F(SourceTest, under_the_adaptive_policy_is_polled_for_a_while_before_the_loop_sleeps) {
  loop_.set_idle_policy(IdlePolicy::adaptive);
  source_.give(1);
  loop_.run_once(-1ns);
  source_.polls = 0;
  loop_.run_once(1ms);
  EXPECT_GT(source_.polls, 20);
}

TEST_F(SourceTest, under_the_spin_policy_never_arms_its_wake_up) {
  loop_.set_idle_policy(IdlePolicy::spin);
  const auto start = loop_.now();
  EXPECT_FALSE(loop_.run_once(2ms));
  EXPECT_GE(loop_.now() - start, 2ms);
  EXPECT_GT(source_.polls, 100);
  source_.give(1);
  EXPECT_TRUE(loop_.run_once(-1ns));
  EXPECT_EQ(source_.taken, 1);
}

TEST_F(SourceTest, under_the_spin_policy_holds_up_neither_timers_nor_posts_nor_signals) {
  loop_.set_idle_policy(IdlePolicy::spin);
  int calls = 0;
  Timer timer(loop_, [&] { ++calls; });
  Signal signal(loop_, [&] { ++calls; });
  timer.start_once(100us);
  std::thread poster([&] {
    signal.notify();
    loop_.post([&] { ++calls; });
  });
  while (calls < 3) loop_.run_once(-1ns);
  poster.join();
}

TEST_F(SourceTest, that_is_busy_holds_up_no_descriptor_under_the_spin_policy) {
  loop_.set_idle_policy(IdlePolicy::spin);
  source_.give(1'000'000);
  bool called = false;
  Signal signal(loop_, [&] { called = true; });
  signal.notify();
  while (!called) loop_.run_once(-1ns);
  EXPECT_LE(source_.taken, 16 * 64);
}

}  // namespace
}  // namespace netio
