// Turns, posts, deferred work, time and threads; that a turn allocates nothing.
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <netio/loop.hpp>
#include <netio/status.hpp>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "support/allocation_counter.hpp"
#include "support/deferred_work.hpp"

namespace netio {
namespace {

using namespace std::chrono_literals;
using test::Work;

class LoopTest : public testing::Test {
 protected:
  Loop loop_;
};

TEST_F(LoopTest, with_nothing_to_do_waits_as_long_as_told) {
  const auto start = loop_.now();
  EXPECT_FALSE(loop_.run_once(0ns));
  EXPECT_FALSE(loop_.run_once(3ms));
  EXPECT_GE(loop_.now() - start, 3ms);
}

TEST_F(LoopTest, stop_before_run_makes_it_return_at_once_and_is_used_up) {
  loop_.stop();
  EXPECT_TRUE(loop_.stopped());
  loop_.run();
  EXPECT_FALSE(loop_.stopped());
  int turns = 0;
  Timer timer(loop_, [&] {
    if (++turns == 3) loop_.stop();
  });
  timer.start_periodic(0ns);
  loop_.run();
  EXPECT_EQ(turns, 3);
}

TEST_F(LoopTest, stop_in_a_call_back_lets_the_turn_finish) {
  bool deferred_ran = false;
  Work work([&] { deferred_ran = true; });
  loop_.post([&] {
    loop_.stop();
    loop_.defer(work);
  });
  loop_.run();
  EXPECT_TRUE(deferred_ran);
}

TEST_F(LoopTest, posted_from_many_threads_all_run_here_in_order_of_each) {
  constexpr int thread_count = 4;
  constexpr int posts_each = 5000;
  std::vector<int> last(thread_count, 0);
  int done = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 1; i <= posts_each; ++i) {
        loop_.post([&, thread, i] {
          EXPECT_EQ(last[static_cast<std::size_t>(thread)]++, i - 1);
          if (++done == thread_count * posts_each) loop_.stop();
        });
      }
    });
  }
  loop_.run();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, thread_count * posts_each);
}

TEST_F(LoopTest, posted_behind_a_function_that_forks_is_the_parents_alone) {
  const pid_t parent = ::getpid();
  pid_t child = -1;
  bool ran = false;
  loop_.post([&] { child = ::fork(); });
  loop_.post([&] { ran = true; });
  try {
    loop_.run_once(0ns);
  } catch (const Error&) {  // the loop of the child is a copy
  }
  if (::getpid() != parent) ::_exit(ran ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(ran);
}

TEST_F(LoopTest, posted_while_posted_functions_run_waits_for_the_next_turn) {
  int runs = 0;
  std::function<void()> again = [&] {
    ++runs;
    loop_.post(again);
  };
  loop_.post(again);
  for (int turn = 1; turn <= 3; ++turn) {
    loop_.run_once(-1ns);
    EXPECT_EQ(runs, turn);
  }
}

TEST(Loop, destroys_what_was_posted_and_never_ran) {
  auto guard = std::make_shared<int>(0);
  {
    Loop loop;
    loop.post([guard] { FAIL(); });
    EXPECT_EQ(guard.use_count(), 2);
  }
  EXPECT_EQ(guard.use_count(), 1);
}

TEST(Loop, is_destroyed_after_work_that_was_deferred_and_never_ran) {
  Work work([] { FAIL(); });
  {
    Loop loop;
    loop.defer(work);
  }
  EXPECT_FALSE(work.scheduled());
}

TEST_F(LoopTest, runs_deferred_work_once_at_the_end_of_the_turn) {
  std::vector<int> order;
  Work first([&] { order.push_back(1); });
  Work second([&] { order.push_back(2); });
  loop_.post([&] {
    loop_.defer(first);
    loop_.defer(second);
    loop_.defer(first);
    EXPECT_TRUE(loop_.in_turn());
    order.push_back(0);
  });
  loop_.run_once(-1ns);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(first.scheduled());
}

TEST_F(LoopTest, does_not_run_inside_of_its_own_call_back) {
  bool called = false;
  loop_.post([&] {
    called = true;
    EXPECT_THROW(loop_.run_once(0ns), Error);
    EXPECT_THROW(loop_.run(), Error);
  });
  loop_.run_once(-1ns);
  EXPECT_TRUE(called);
  EXPECT_FALSE(loop_.in_turn());
}

TEST_F(LoopTest, deferred_outside_of_a_turn_keeps_the_next_from_sleeping) {
  int runs = 0;
  Work work([&] { ++runs; });
  loop_.defer(work);
  EXPECT_TRUE(loop_.run_once(-1ns));
  EXPECT_EQ(runs, 1);
}

TEST_F(LoopTest, deferred_by_deferred_work_runs_in_the_same_turn) {
  int runs = 0;
  Work second([&] { ++runs; });
  Work first([&] { loop_.defer(second); });
  loop_.defer(first);
  loop_.run_once(0ns);
  EXPECT_EQ(runs, 1);
}

TEST_F(LoopTest, deferred_work_that_never_ends_does_not_keep_the_turn) {
  int runs = 0;
  std::unique_ptr<Work> work;
  work = std::make_unique<Work>([&] {
    ++runs;
    loop_.defer(*work);
  });
  loop_.defer(*work);
  loop_.run_once(-1ns);
  EXPECT_EQ(runs, 16);
  loop_.run_once(-1ns);  // does not sleep
  EXPECT_EQ(runs, 32);
}

TEST_F(LoopTest, deferred_work_may_cancel_or_destroy_other_or_itself) {
  int runs = 0;
  Work cancelled([&] { ++runs; });
  auto destroyed = std::make_unique<Work>([&] { ++runs; });
  std::unique_ptr<Work> itself;
  Work first([&] {
    cancelled.cancel();
    destroyed.reset();
  });
  itself = std::make_unique<Work>([&] {
    Work* dying = itself.release();
    loop_.defer(*dying);  // destroyed while scheduled, by its own run
    runs += 10;
    delete dying;
  });
  for (Work* work : {&first, &cancelled, destroyed.get(), itself.get()}) loop_.defer(*work);
  loop_.run_once(0ns);
  EXPECT_EQ(runs, 10);
  EXPECT_FALSE(loop_.run_once(0ns));
}

TEST_F(LoopTest, time_stands_still_within_a_turn) {
  loop_.post([&] {
    const auto before = loop_.now();
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(loop_.now(), before);
  });
  loop_.run_once(-1ns);
  const auto before = loop_.now();
  std::this_thread::sleep_for(1ms);
  EXPECT_GE(loop_.now(), before + 1ms);
}

TEST_F(LoopTest, belongs_to_the_thread_that_runs_it_and_else_to_nobody) {
  const auto nobodys = [this] {
    EXPECT_TRUE(loop_.on_owner_thread() && !loop_.runs_here());
    std::thread([&] { EXPECT_TRUE(loop_.on_owner_thread() && !loop_.runs_here()); }).join();
  };
  int calls = 0;
  const auto ours = [&] {
    ++calls;
    EXPECT_TRUE(loop_.on_owner_thread() && loop_.runs_here());
    std::thread([&] { EXPECT_TRUE(!loop_.on_owner_thread() && !loop_.runs_here()); }).join();
  };
  nobodys();
  loop_.post(ours);
  loop_.run_once(-1ns);
  nobodys();
  loop_.post(ours);
  loop_.post([&] { loop_.stop(); });
  loop_.run();
  nobodys();
  EXPECT_EQ(calls, 2);
}

// A timer of the first thread, run by a second one and destroyed by a third.
TEST_F(LoopTest, goes_from_thread_to_thread_while_it_does_not_run) {
  int expiries = 0;
  std::optional<Timer> timer(std::in_place, loop_, [&] {
    ++expiries;
    loop_.stop();
  });
  timer->start_once(0ns);
  std::thread([&] { loop_.run(); }).join();
  EXPECT_EQ(expiries, 1);
  timer->start_once(0ns);
  loop_.run();
  EXPECT_EQ(expiries, 2);
  std::thread([&] {
    timer->start_once(0ns);
    loop_.run_once(-1ns);
  }).join();
  EXPECT_EQ(expiries, 3);
  timer.reset();
}

TEST_F(LoopTest, that_runs_is_run_by_no_other_thread) {
  std::string said;
  loop_.post([&] {
    std::thread([&] {
      try {
        loop_.run();
      } catch (const Error& error) {
        said = error.what();
      }
    }).join();
    loop_.stop();
  });
  loop_.run();
  EXPECT_NE(said.find("another thread"), std::string::npos) << said;
}

// Whichever is first, the other one is told, and ends the run.
TEST_F(LoopTest, that_two_threads_begin_at_once_is_run_by_one_of_them) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> refused = 0;
    std::latch both(2);
    const auto run = [&] {
      both.arrive_and_wait();
      try {
        loop_.run();
      } catch (const Error&) {
        ++refused;
        loop_.post([&] { loop_.stop(); });
      }
    };
    std::thread other(run);
    run();
    other.join();
    ASSERT_EQ(refused, 1) << "in round " << round;
  }
}

TEST_F(LoopTest, tells_when_a_run_begins_and_not_of_its_turns) {
  int begun = 0;
  int turns = 0;
  loop_.at_begin([&] { ++begun; });
  std::function<void()> again = [&] {
    if (++turns == 3) return loop_.stop();
    loop_.post(again);
  };
  loop_.post(again);
  loop_.run();
  EXPECT_EQ(begun, 1);
  loop_.run_once(0ns);
  EXPECT_EQ(begun, 2);
}

TEST_F(LoopTest, allocates_nothing_once_it_is_set_up) {
  constexpr int turns = 1000;
  const detail::FileDescriptor fd(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  int calls = 0;
  // Captures too large to be stored within a std::function: a copy of it would show.
  struct Large {
    int* calls;
    char bytes[64] = {};
  } large{&calls};
  Watch watch(loop_, fd.get(), EPOLLIN, [large](std::uint32_t) { ++*large.calls; });
  Timer timer(loop_, [large] { ++*large.calls; });
  Timer other(loop_, [] {});
  Signal signal(loop_, [large] { ++*large.calls; });
  Work work([&calls] { ++calls; });
  timer.start_periodic(0ns);
  const auto turn = [&] {
    loop_.defer(work);
    signal.notify();
    other.start_once(1h);
    loop_.post([&calls] { ++calls; });
    loop_.run_once(-1ns);
    other.stop();
  };
  for (int i = 0; i < 10; ++i) turn();
  calls = 0;
  EXPECT_EQ(test::allocations_during([&] {
              for (int i = 0; i < turns; ++i) turn();
            }),
            0U);
  EXPECT_EQ(calls, 5 * turns);
}

TEST(AllocationCounter, counts_on_this_thread_only) {
  const auto allocate = [] { ::operator delete(::operator new(16)); };  // not optimised away
  EXPECT_EQ(test::allocations_during(allocate), 1U);
  std::thread thread;
  const auto to_start_one = test::allocations_during([&] { thread = std::thread([] {}); });
  thread.join();
  EXPECT_EQ(test::allocations_during([&] {
              thread = std::thread(allocate);
              thread.join();
            }),
            to_start_one);
}

}  // namespace
}  // namespace netio
