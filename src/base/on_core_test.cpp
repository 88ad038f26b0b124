// A thread is pinned for a time, and has its cores again.
#include "base/on_core.hpp"

#include <thread>

#include <gtest/gtest.h>

#include <netio/status.hpp>

namespace netio::detail {
namespace {

class OnCoreTest : public testing::Test {
 protected:
  static cpu_set_t cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
    return cores;
  }
  static bool has(const cpu_set_t& expected) {
    const cpu_set_t now = cores();
    return CPU_EQUAL(&now, &expected) != 0;
  }
  // This thread's.
  int core(int skip = 0) const {
    int number = 0;
    while (!CPU_ISSET(static_cast<std::size_t>(number), &before_) || skip-- > 0) ++number;
    return number;
  }
  static cpu_set_t only(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(core), &one);
    return one;
  }
  const cpu_set_t before_ = cores();
};

TEST_F(OnCoreTest, gives_the_cores_back) {
  {
    const OnCore on_core(core());
    EXPECT_TRUE(has(only(core())));
  }
  EXPECT_TRUE(has(before_));
}

TEST_F(OnCoreTest, changes_nothing_without_a_core) {
  const OnCore on_core(-1);
  EXPECT_TRUE(has(before_));
}

TEST_F(OnCoreTest, leaves_the_thread_as_it_is_if_there_is_no_such_core) {
  EXPECT_THROW(OnCore(CPU_SETSIZE), Error);
  EXPECT_THROW(OnCore(CPU_SETSIZE - 1), Error);
  EXPECT_TRUE(has(before_));
}

TEST_F(OnCoreTest, nests) {
  if (CPU_COUNT(&before_) < 2) GTEST_SKIP() << "this process has one core";
  {
    const OnCore outer(core());
    {
      const OnCore inner(core(1));
      EXPECT_TRUE(has(only(core(1))));
    }
    EXPECT_TRUE(has(only(core())));
  }
  EXPECT_TRUE(has(before_));
}

TEST_F(OnCoreTest, leaves_the_thread_where_the_program_has_put_it_meanwhile) {
  if (CPU_COUNT(&before_) < 2) GTEST_SKIP() << "this process has one core";
  std::thread([&] {
    const cpu_set_t other = only(core(1));
    {
      const OnCore on_core(core());
      ASSERT_EQ(sched_setaffinity(0, sizeof other, &other), 0);
    }
    EXPECT_TRUE(has(other));
  }).join();
}

}  // namespace
}  // namespace netio::detail
