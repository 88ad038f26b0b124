// No wait ends by the time of day: setting the clock makes none of them longer.
#include <atomic>
#include <thread>

#include <netio/blocking.hpp>

#include "conformance/conformance.hpp"
#include "support/kernel_wait.hpp"

namespace netio::test {
namespace {

constexpr std::chrono::hours long_limit{1};

class TimeOfDay : public testing::Test {
 protected:
  void SetUp() override {
    if (!waits_can_be_seen()) GTEST_SKIP() << "this kernel does not tell what a thread waits for";
  }
  static blocking::QueueOptions queue_options(std::size_t messages_max) {
    return {small_context(), {}, messages_max};
  }
  // Until the thread sleeps with a time limit. It has to have one.
  static bool waits_by_time_of_day(const std::atomic<pid_t>& thread) {
    std::optional<TimedFutexWait> wait;
    while (thread == 0 || !(wait = timed_futex_wait_of(thread))) std::this_thread::yield();
    return wait->by_time_of_day;
  }
};

TEST_F(TimeOfDay, does_not_end_the_wait_for_a_message) {
  blocking::QueuedPull pull(queue_options(16));
  const std::string address = pull.bind("tcp://127.0.0.1:0");
  std::atomic<pid_t> thread{0};
  Status status = Status::again;
  std::thread reader([&] {
    thread = this_thread_id();
    status = pull.receive(long_limit).status;
  });
  EXPECT_FALSE(waits_by_time_of_day(thread));
  blocking::QueuedPush push(queue_options(16));
  push.connect(address);
  EXPECT_EQ(push.send("the end", soon_max), Status::ok);
  reader.join();
  EXPECT_EQ(status, Status::ok);
}

TEST_F(TimeOfDay, does_not_end_the_wait_for_room) {
  blocking::QueuedPush push(queue_options(4));
  while (push.send("nobody takes it", 0ns) == Status::ok) {
  }
  std::atomic<pid_t> thread{0};
  Status status = Status::again;
  std::thread writer([&] {
    thread = this_thread_id();
    status = push.send("one more", long_limit);
  });
  EXPECT_FALSE(waits_by_time_of_day(thread));
  blocking::QueuedPull pull(queue_options(16));
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  writer.join();
  EXPECT_EQ(status, Status::ok);
  EXPECT_EQ(pull.receive(soon_max).status, Status::ok);
}

}  // namespace
}  // namespace netio::test
