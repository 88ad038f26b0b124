// Real signals, sent to this process.
#include <array>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <netio/loop.hpp>
#include <netio/status.hpp>

namespace netio {
namespace {

using namespace std::chrono_literals;

using Numbers = std::initializer_list<int>;

sigset_t mask_of_this_thread() {
  sigset_t blocked{};  // the kernel fills the first words
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return blocked;
}

// What ends a child that is sent SIGUSR1. One that does not notice is killed.
int end_of(pid_t child) {
  ::kill(child, SIGUSR1);
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
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

TEST_F(PosixSignalsTest, those_not_told_at_the_end_are_discarded) {
  {
    PosixSignals signals(loop_, {SIGUSR1}, [](int) { FAIL(); });
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);  // would end the process if it got through
  }
  PosixSignals later(loop_, {SIGUSR1}, [](int) { FAIL(); });
  EXPECT_FALSE(loop_.run_once(0ns));
}

TEST_F(PosixSignalsTest, change_no_mask) {
  const sigset_t before = mask_of_this_thread();
  {
    PosixSignals signals(loop_, {SIGUSR1, SIGUSR2}, [](int) {});
    const sigset_t meanwhile = mask_of_this_thread();
    EXPECT_EQ(std::memcmp(&meanwhile, &before, sizeof before), 0);
  }
  const sigset_t after = mask_of_this_thread();
  EXPECT_EQ(std::memcmp(&after, &before, sizeof before), 0);
}

TEST_F(PosixSignalsTest, end_a_program_that_was_started_meanwhile) {
  PosixSignals signals(loop_, {SIGUSR1}, [](int) { FAIL(); });
  std::string name = "sleep";
  std::string seconds = "1000";
  const std::array<char*, 3> words{name.data(), seconds.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(::posix_spawnp(&child, "sleep", nullptr, nullptr, words.data(), environ), 0);
  EXPECT_EQ(end_of(child), SIGUSR1);
}

TEST_F(PosixSignalsTest, end_a_child_that_was_forked_meanwhile) {
  PosixSignals signals(loop_, {SIGUSR1}, [](int) { FAIL(); });
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)!::write(ends[1], "!", 1);
    for (;;) ::pause();
  }
  char started = 0;
  ASSERT_EQ(::read(ends[0], &started, 1), 1);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(end_of(child), SIGUSR1);
  EXPECT_FALSE(loop_.run_once(0ns));  // nothing came to the parent
}

TEST_F(PosixSignalsTest, may_be_made_in_a_child_of_its_own) {
  PosixSignals signals(loop_, {SIGUSR1}, [](int) { FAIL(); });
  const pid_t child = ::fork();
  if (child == 0) {
    Loop own;
    int calls = 0;
    const PosixSignals its(own, {SIGUSR1}, [&](int) { ++calls; });
    ::kill(::getpid(), SIGUSR1);
    while (calls == 0) own.run_once(-1ns);
    ::_exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_FALSE(loop_.run_once(0ns));
}

// One that was started before, and took no signals of its own.
TEST_F(PosixSignalsTest, arrive_from_threads_that_were_there_before) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  // It waits in poll(), where the thread sanitizer lets signals through.
  std::thread earlier([from = ends[0]] {
    pollfd end{from, POLLIN, 0};
    while (::poll(&end, 1, -1) < 0) {
    }
  });
  int calls = 0;
  const PosixSignals signals(loop_, {SIGUSR1}, [&](int) { ++calls; });
  ASSERT_EQ(::pthread_kill(earlier.native_handle(), SIGUSR1), 0);
  while (calls == 0) loop_.run_once(-1ns);
  ::close(ends[1]);
  earlier.join();
  ::close(ends[0]);
}

TEST_F(PosixSignalsTest, give_the_signal_back_to_the_handler_it_had) {
  static volatile std::sig_atomic_t handled;
  handled = 0;
  auto* const before = std::signal(SIGUSR1, [](int) { handled = handled + 1; });
  int calls = 0;
  {
    const PosixSignals signals(loop_, {SIGUSR1}, [&](int) { ++calls; });
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
    while (calls == 0) loop_.run_once(-1ns);
    EXPECT_EQ(handled, 0);
  }
  ASSERT_EQ(::raise(SIGUSR1), 0);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(calls, 1);
  std::signal(SIGUSR1, before);
}

TEST_F(PosixSignalsTest, leave_the_signal_to_who_takes_it_after_them) {
  static volatile std::sig_atomic_t handled;
  handled = 0;
  {
    const PosixSignals signals(loop_, {SIGUSR1}, [](int) { FAIL(); });
    std::signal(SIGUSR1, [](int) { handled = handled + 1; });
  }
  ASSERT_EQ(::raise(SIGUSR1), 0);
  EXPECT_EQ(handled, 1);
  std::signal(SIGUSR1, SIG_DFL);
}

// In this thread; those that look names up, if there are any left, have all blocked.
TEST_F(PosixSignalsTest, that_the_program_has_blocked_arrive_and_stay_blocked) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  {
    int calls = 0;
    PosixSignals signals(loop_, {SIGUSR1, SIGUSR2}, [&](int number) {
      EXPECT_EQ(number, SIGUSR1);
      ++calls;
    });
    ASSERT_EQ(::raise(SIGUSR1), 0);
    while (calls == 0) loop_.run_once(-1ns);
    ASSERT_EQ(::raise(SIGUSR1), 0);  // nobody takes it
  }
  const sigset_t after = mask_of_this_thread();
  EXPECT_EQ(::sigismember(&after, SIGUSR1), 1);
  EXPECT_EQ(::sigismember(&after, SIGUSR2), 0);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

TEST_F(PosixSignalsTest, of_one_number_arrive_until_the_last_of_them_goes) {
  int calls = 0;
  auto first =
      std::make_unique<PosixSignals>(loop_, Numbers{SIGUSR1, SIGUSR2}, [](int) { FAIL(); });
  {
    const PosixSignals second(loop_, {SIGUSR1, SIGUSR1}, [&](int) { ++calls; });
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);  // not told yet, and for the one that stays
    first.reset();
    while (calls == 0) loop_.run_once(-1ns);
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
    while (calls == 1) loop_.run_once(-1ns);
  }
  EXPECT_FALSE(loop_.run_once(0ns));
  EXPECT_EQ(calls, 2);
}

TEST_F(PosixSignalsTest, of_one_number_are_told_in_one_of_two_loops) {
  Loop other;
  int calls = 0;
  const PosixSignals here(loop_, {SIGUSR1}, [&](int) { ++calls; });
  const PosixSignals there(other, {SIGUSR1}, [&](int) { ++calls; });
  for (int sent = 1; sent <= 10; ++sent) {
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
    while (calls < sent) (sent % 2 == 0 ? loop_ : other).run_once(-1ns);
  }
  loop_.run_once(0ns);
  other.run_once(0ns);
  EXPECT_EQ(calls, 10);
}

TEST_F(PosixSignalsTest, that_a_child_destroys_are_the_parents_as_before) {
  int calls = 0;
  auto first = std::make_unique<PosixSignals>(loop_, Numbers{SIGUSR1}, [&](int) { ++calls; });
  auto second = std::make_unique<PosixSignals>(loop_, Numbers{SIGUSR1}, [&](int) { FAIL(); });
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
  for (const int number : {-1, 0, _NSIG, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    EXPECT_THROW(PosixSignals(loop_, {SIGUSR1, number}, [](int) {}), Error) << number;
  }
  struct sigaction now {};
  ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
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
