// Where the limits of this process leave no room for shared memory, it says so, and blames nobody.
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include "conformance/conformance.hpp"
#include "support/child.hpp"
#include "support/limit.hpp"
#include "support/sanitized.hpp"

namespace netio::test {
namespace {

std::size_t address_space_used() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(ShmResources, memory_that_finds_no_room_here_is_not_the_peers_fault) {
  Context here(small_context());
  Context there(small_context());
  Pump pump{&here, &there};
  Pull pull(there);
  Push push(here);
  Seen at_push(push);
  push.connect(pull.bind("shm://*"));
  {
    const Limit little(RLIMIT_AS, address_space_used() + (std::size_t{1} << 30U));
    ASSERT_SOON(pump, !at_push.downs.empty() && pull.counters().rejected != 0);
  }
  for (const Seen::Gone& gone : at_push.downs) {
    EXPECT_NE(gone.down.reason, DownReason::protocol_error) << gone.down.detail;
  }
  EXPECT_SOON(pump, push.peers_connected() == 1);  // once there is room
}

// --- One end of two processes has too little. Neither is up, nothing is sent, and both are told.

void fits_a_context_but_no_peer() {
  const rlim_t less = address_space_used() + (std::size_t{1} << 30U);
  const rlimit limit{less, less};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

void leave_descriptors(rlim_t more) {
  const rlim_t few = next_descriptor() + more;
  const rlimit limit{few, few};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::abort();
}

std::string name_for_one() {
  static int number = 0;
  return "shm://short-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

class ShmShort : public testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer needs descriptors and address space of its own";
  }
  // A Pull at the address, with what is left after `narrow`.
  static void pull_with_less(const std::string& address, int report_to,
                             const std::function<void()>& narrow) {
    Context context(small_context());
    Pull pull(context);
    (void)pull.bind(address);
    narrow();
    report(report_to);
    Pump{&context}.run_for(60s);
  }
  // Sends to it as soon as it is up; it must never be.
  static void send_to(const Child& child) {
    const std::string name = name_for_one();
    child.begin(name);
    ASSERT_TRUE(child.wait_for_report());
    Context here(small_context());
    Pump pump{&here};
    Push push(here);
    Seen at_push(push);
    push.on_writable([&] { (void)push.send("lost"); });
    push.connect(name);
    EXPECT_EQ(push.send("lost"), Status::not_connected);
    ASSERT_SOON(pump, at_push.downs.size() >= 3 || !at_push.ups.empty());
    EXPECT_TRUE(at_push.ups.empty());
    EXPECT_EQ(push.books().sent, 0U);
    for (const Seen::Gone& gone : at_push.downs) {
      EXPECT_EQ(gone.down.reason, DownReason::rejected) << at_push.why();
      EXPECT_NE(gone.down.detail.find("(ulimit -"), std::string::npos) << at_push.why();
      EXPECT_TRUE(gone.peer.retrying);
    }
  }
};

TEST_F(ShmShort, a_receiver_without_address_space_is_never_up) {
  const Child child([](const std::string& address, int report_to) {
    pull_with_less(address, report_to, fits_a_context_but_no_peer);
  });
  send_to(child);
}

// The first step that lacks one is another each time.
TEST_F(ShmShort, a_receiver_without_descriptors_is_never_up) {
  for (const rlim_t left : {rlim_t{1}, rlim_t{2}, rlim_t{3}, rlim_t{4}, rlim_t{5}, rlim_t{6}}) {
    SCOPED_TRACE(left);
    const Child child([left](const std::string& address, int report_to) {
      pull_with_less(address, report_to, [left] { leave_descriptors(left); });
    });
    send_to(child);
  }
}

TEST_F(ShmShort, a_sender_without_address_space_is_never_up) {
  const Child child([](const std::string& address, int report_to) {
    Context context(small_context());
    Push push(context);
    push.on_writable([&] { (void)push.send("lost"); });
    (void)push.bind("shm://*");
    fits_a_context_but_no_peer();
    push.connect(address);
    (void)push.send("lost");
    report(report_to);
    Pump{&context}.run_for(60s);
  });
  Context there(small_context());
  Pump pump{&there};
  Pull pull(there);
  Seen at_pull(pull);
  child.begin(pull.bind("shm://*"));
  ASSERT_TRUE(child.wait_for_report());
  ASSERT_SOON(pump, at_pull.downs.size() >= 3 || !at_pull.ups.empty());
  EXPECT_TRUE(at_pull.ups.empty());
  for (const Seen::Gone& gone : at_pull.downs) {
    EXPECT_FALSE(gone.peer.was_up);
    EXPECT_EQ(gone.down.reason, DownReason::rejected) << at_pull.why();
    EXPECT_NE(gone.down.detail.find("(ulimit -v)"), std::string::npos) << at_pull.why();
  }
}

// The kernel would end the process with a signal.
TEST(ShmResources, memory_larger_than_files_may_be_is_thrown) {
  Context there(small_context());
  Pull pull(there);
  const Limit little(RLIMIT_FSIZE, std::size_t{1} << 20U);
  EXPECT_THROW((void)pull.bind("shm://*"), Error);
}

}  // namespace
}  // namespace netio::test
