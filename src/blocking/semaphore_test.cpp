// What one thread adds is what the other takes.
#include "blocking/semaphore.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

using namespace std::chrono_literals;

TEST(Semaphore, gives_as_many_as_were_signalled) {
  Semaphore semaphore;
  EXPECT_FALSE(semaphore.wait(0ns));
  for (int i = 0; i < 3; ++i) semaphore.signal();
  EXPECT_TRUE(semaphore.wait(0ns));
  EXPECT_TRUE(semaphore.wait(1ns));
  EXPECT_TRUE(semaphore.wait(-1ns));
  EXPECT_FALSE(semaphore.wait(0ns));
}

TEST(Semaphore, owes_nothing_after_a_wait_that_was_over) {
  Semaphore semaphore;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(semaphore.wait(1ns));
    EXPECT_FALSE(semaphore.wait(1ms));
    semaphore.signal();
    EXPECT_TRUE(semaphore.wait(std::chrono::nanoseconds::max()));
  }
  EXPECT_FALSE(semaphore.wait(0ns));
}

// The waiter sleeps for most of them, for ever or until a time that may be over just then.
TEST(Semaphore, loses_no_signal_and_makes_none_between_threads) {
  constexpr int count = 20'000;
  Semaphore ping;
  Semaphore pong;
  std::thread other([&] {
    for (int i = 0; i < count; ++i) {
      while (!ping.wait(i % 3 == 0 ? 1us : -1ns)) {
      }
      pong.signal();
    }
  });
  for (int i = 0; i < count; ++i) {
    ping.signal();
    while (!pong.wait(i % 5 == 0 ? 1us : -1ns)) {
    }
  }
  other.join();
  EXPECT_FALSE(ping.wait(0ns));
  EXPECT_FALSE(pong.wait(0ns));
}

}  // namespace
}  // namespace netio::detail
