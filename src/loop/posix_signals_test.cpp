// Real signals, sent to this process.
#include <csignal>
#include <memory>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <netio/loop.hpp>
#include <netio/status.hpp>

namespace netio {
namespace {

using namespace std::chrono_literals;

bool is_blocked(int number) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return ::sigismember(&blocked, number) == 1;
}

class PosixSignalsTest : public testing::Test {
 protected:
  Loop loop_;
};

TEST_F(PosixSignalsTest, arrive_as_call_backs_in_the_loop) {
  std::vector<int> seen;
  PosixSignals signals(loop_, {SIGUSR1, SIGINT}, [&](int number) { seen.push_back(number); });
  ASSERT_EQ(::kill(::getpid(), SIGINT), 0);
  ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
  EXPECT_TRUE(seen.empty());
  while (seen.size() < 2) loop_.run_once(-1ns);
  EXPECT_EQ(seen[0] + seen[1], SIGINT + SIGUSR1);
  EXPECT_NE(seen[0], seen[1]);
}

TEST_F(PosixSignalsTest, those_pending_at_the_end_are_discarded) {
  {
    PosixSignals signals(loop_, {SIGUSR1}, [](int) { FAIL(); });
    ASSERT_TRUE(is_blocked(SIGUSR1));
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);  // would end the process if it got through
  }
  EXPECT_FALSE(is_blocked(SIGUSR1));
}

TEST_F(PosixSignalsTest, blocked_before_stay_blocked_after) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  {
    PosixSignals signals(loop_, {SIGUSR1, SIGUSR2}, [](int) {});
  }
  EXPECT_TRUE(is_blocked(SIGUSR1));
  EXPECT_FALSE(is_blocked(SIGUSR2));
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

TEST_F(PosixSignalsTest, of_one_number_stay_blocked_until_the_last_of_them_goes) {
  int calls = 0;
  auto first = std::make_unique<PosixSignals>(loop_, std::initializer_list<int>{SIGUSR1, SIGUSR2},
                                              [](int) { FAIL(); });
  {
    const PosixSignals second(loop_, {SIGUSR1, SIGUSR1}, [&](int) { ++calls; });
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);  // pending, and for the one that stays
    first.reset();
    ASSERT_TRUE(is_blocked(SIGUSR1));
    EXPECT_FALSE(is_blocked(SIGUSR2));
    while (calls == 0) loop_.run_once(-1ns);
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
    while (calls == 1) loop_.run_once(-1ns);
  }
  EXPECT_FALSE(is_blocked(SIGUSR1));
}

TEST_F(PosixSignalsTest, that_a_child_destroys_are_the_parents_as_before) {
  int calls = 0;
  auto first = std::make_unique<PosixSignals>(loop_, std::initializer_list<int>{SIGUSR1},
                                              [&](int) { ++calls; });
  auto second = std::make_unique<PosixSignals>(loop_, std::initializer_list<int>{SIGUSR1},
                                               [&](int) { FAIL(); });
  const pid_t child = ::fork();
  if (child == 0) {
    first.reset();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  second.reset();
  ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
  loop_.run_once(10s);
  EXPECT_EQ(calls, 1);
}

TEST_F(PosixSignalsTest, destroy_themselves_in_their_call_back) {
  int calls = 0;
  std::unique_ptr<PosixSignals> signals;
  signals =
      std::make_unique<PosixSignals>(loop_, std::initializer_list<int>{SIGUSR1, SIGUSR2}, [&](int) {
        ++calls;
        signals.reset();
      });
  ::kill(::getpid(), SIGUSR1);
  ::kill(::getpid(), SIGUSR2);
  loop_.run_once(-1ns);
  EXPECT_FALSE(loop_.run_once(0ns));
  EXPECT_EQ(calls, 1);
}

TEST_F(PosixSignalsTest, of_an_impossible_number_are_refused) {
  EXPECT_THROW(PosixSignals(loop_, {-1}, [](int) {}), Error);
}

TEST_F(PosixSignalsTest, that_interrupt_a_wait_do_not_end_it) {
  int expiries = 0;
  Timer timer(loop_, [&] { ++expiries; });
  timer.start_once(20ms);
  std::signal(SIGALRM, [](int) {});
  ::ualarm(2000, 2000);
  EXPECT_TRUE(loop_.run_once(-1ns));
  ::ualarm(0, 0);
  EXPECT_EQ(expiries, 1);
}

}  // namespace
}  // namespace netio
