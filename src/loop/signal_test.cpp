// Wake-ups from threads and signal handlers: none is lost.
#include <atomic>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <netio/loop.hpp>

namespace netio {
namespace {

using namespace std::chrono_literals;

class SignalTest : public testing::Test {
 protected:
  Loop loop_;
};

TEST_F(SignalTest, several_notifications_before_the_turn_make_one_call_back) {
  int calls = 0;
  Signal signal(loop_, [&] { ++calls; });
  EXPECT_FALSE(loop_.run_once(0ns));
  for (int i = 0; i < 5; ++i) signal.notify();
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(loop_.run_once(0ns));
  signal.notify();
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 2);
}

TEST_F(SignalTest, notified_in_its_own_call_back_calls_back_again) {
  int calls = 0;
  std::unique_ptr<Signal> signal;
  signal = std::make_unique<Signal>(loop_, [&] {
    if (++calls < 3) signal->notify();
  });
  signal->notify();
  for (int turn = 0; turn < 5; ++turn) loop_.run_once(0ns);
  EXPECT_EQ(calls, 3);
}

TEST_F(SignalTest, destroys_itself_in_its_call_back) {
  int calls = 0;
  std::unique_ptr<Signal> signal;
  signal = std::make_unique<Signal>(loop_, [&] {
    ++calls;
    signal.reset();
  });
  signal->notify();
  loop_.run_once(-1ns);
  EXPECT_FALSE(loop_.run_once(0ns));
  EXPECT_EQ(calls, 1);
}

// Each thread sleeps until its item was taken, so with one lost wake-up the test hangs.
TEST_F(SignalTest, loses_no_wake_up_of_many_threads) {
  constexpr int thread_count = 4;
  constexpr int items_each = 5000;
  struct Box {
    std::atomic<int> put{0};
    std::atomic<int> taken{0};
  };
  std::vector<Box> boxes(thread_count);
  int taken = 0;
  Signal signal(loop_, [&] {
    for (Box& box : boxes) {
      if (box.put == box.taken) continue;
      ++taken;
      ++box.taken;
      box.taken.notify_one();
    }
    if (taken == thread_count * items_each) loop_.stop();
  });
  std::vector<std::thread> threads;
  for (Box& box : boxes) {
    threads.emplace_back([&box, &signal] {
      for (int i = 1; i <= items_each; ++i) {
        box.put = i;
        signal.notify();
        box.taken.wait(i - 1);
      }
    });
  }
  loop_.run();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(taken, thread_count * items_each);
}

// A plain integer on purpose: the thread sanitizer sees whether notify() publishes it.
TEST_F(SignalTest, call_back_sees_what_was_written_before_the_notification) {
  constexpr int items = 2000;
  int item = 0;
  std::atomic<int> taken{0};
  Signal signal(loop_, [&] {
    EXPECT_EQ(item, taken + 1);
    if (item == items) loop_.stop();
    ++taken;
    taken.notify_one();
  });
  std::thread thread([&] {
    for (int i = 1; i <= items; ++i) {
      item = i;
      signal.notify();
      taken.wait(i - 1);
    }
  });
  loop_.run();
  thread.join();
}

Signal* handler_signal = nullptr;

TEST_F(SignalTest, may_be_notified_in_a_signal_handler) {
  int calls = 0;
  Signal signal(loop_, [&] { ++calls; });
  handler_signal = &signal;
  const auto previous = std::signal(SIGUSR2, [](int) { handler_signal->notify(); });
  std::raise(SIGUSR2);
  std::raise(SIGUSR2);
  loop_.run_once(-1ns);
  std::signal(SIGUSR2, previous);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace netio
