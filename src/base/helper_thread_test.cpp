// What a thread of netio has of the thread that starts it: no signals, no core, no priority.
#include "base/helper_thread.hpp"

#include <array>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

struct Traits {
  static Traits of_this_thread() {
    Traits traits;
    pthread_sigmask(SIG_BLOCK, nullptr, &traits.blocked);
    sched_getaffinity(0, sizeof traits.cores, &traits.cores);
    traits.policy = sched_getscheduler(0);
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    traits.name = name.data();
    return traits;
  }
  [[nodiscard]] bool takes_no_signals() const {
    for (int number = 1; number < _NSIG; ++number) {
      const bool kept_from_all = number == SIGKILL || number == SIGSTOP;
      const bool of_the_c_library = number >= __SIGRTMIN && number < SIGRTMIN;
      if (kept_from_all || of_the_c_library) continue;
      if (sigismember(&blocked, number) != 1) return false;
    }
    return true;
  }
  sigset_t blocked{};
  cpu_set_t cores{};
  int policy = -1;
  std::string name;
};

bool same_signals(const Traits& one, const Traits& other) {
  return std::memcmp(&one.blocked, &other.blocked, sizeof one.blocked) == 0;
}
bool same_cores(const Traits& one, const Traits& other) {
  return CPU_EQUAL(&one.cores, &other.cores) != 0;
}

Traits of_helper() {
  // Shared: the thread may still be telling when it was told.
  const auto promise = std::make_shared<std::promise<Traits>>();
  std::future<Traits> traits = promise->get_future();
  start_helper("of-helper", [promise] { promise->set_value(Traits::of_this_thread()); });
  return traits.get();
}
Traits of_joined() {
  Traits traits;
  const pthread_t thread = start_joined("of-joined", [&] { traits = Traits::of_this_thread(); });
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  return traits;
}

// The first core that this thread may use.
int some_core() {
  const Traits here = Traits::of_this_thread();
  int core = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(core), &here.cores)) ++core;
  return core;
}

TEST(HelperThread, takes_no_signals_and_leaves_those_of_its_starter) {
  const Traits before = Traits::of_this_thread();
  ASSERT_FALSE(before.takes_no_signals());
  const Traits helper = of_helper();
  EXPECT_TRUE(helper.takes_no_signals());
  EXPECT_EQ(helper.name, "of-helper");
  const Traits joined = of_joined();
  EXPECT_TRUE(joined.takes_no_signals());
  EXPECT_EQ(joined.name, "of-joined");
  EXPECT_TRUE(same_signals(Traits::of_this_thread(), before));
}

TEST(HelperThread, is_not_held_to_the_core_of_its_starter) {
  const Traits before = Traits::of_this_thread();
  {
    const OnCore outer(some_core());
    const OnCore inner(some_core());
    const Traits pinned = Traits::of_this_thread();
    EXPECT_EQ(CPU_COUNT(&pinned.cores), 1);
    EXPECT_TRUE(same_cores(of_helper(), before));
    EXPECT_TRUE(same_cores(of_joined(), before));
    {
      const HelpersStart helpers;  // those of other libraries
      Traits of_library;
      std::thread([&] { of_library = Traits::of_this_thread(); }).join();
      EXPECT_TRUE(same_cores(of_library, before));
      EXPECT_TRUE(of_library.takes_no_signals());
    }
    EXPECT_TRUE(same_cores(Traits::of_this_thread(), pinned));
  }
  EXPECT_TRUE(same_cores(Traits::of_this_thread(), before));
}

// As it is where a program pins the threads that it starts.
TEST(HelperThread, may_use_the_cores_of_the_process) {
  const Traits process = Traits::of_this_thread();
  if (CPU_COUNT(&process.cores) < 2) GTEST_SKIP() << "this process has one core";
  Traits helper;
  Traits joined;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(some_core()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    helper = of_helper();
    joined = of_joined();
    EXPECT_EQ(CPU_COUNT(&joined.cores), 1);  // it calls the program, which has pinned it
  }).join();
  EXPECT_TRUE(same_cores(helper, process));
}

TEST(HelperThread, has_the_normal_policy_unless_it_calls_the_user) {
  EXPECT_EQ(of_helper().policy, SCHED_OTHER);
  std::optional<Traits> helper;
  std::optional<Traits> joined;
  std::thread([&] {
    const sched_param lowest{1};
    if (sched_setscheduler(0, SCHED_FIFO, &lowest) != 0) return;
    helper = of_helper();
    joined = of_joined();
  }).join();
  if (!helper) GTEST_SKIP() << "this user may not have SCHED_FIFO";
  EXPECT_EQ(helper->policy, SCHED_OTHER);
  EXPECT_EQ(joined->policy, SCHED_FIFO);
}

}  // namespace
}  // namespace netio::detail
