// Descriptors, and what call-backs may do to watches of the same batch.
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <netio/loop.hpp>
#include <netio/status.hpp>

#include "base/file_descriptor.hpp"

namespace netio {
namespace {

using namespace std::chrono_literals;
using detail::FileDescriptor;

class WatchTest : public testing::Test {
 protected:
  static FileDescriptor event(unsigned count) {
    return FileDescriptor(::eventfd(count, EFD_CLOEXEC | EFD_NONBLOCK));
  }
  // True if the loop's own thread makes it through a turn without handling anything.
  bool quiet() { return !loop_.run_once(0ns); }

  Loop loop_;
};

TEST_F(WatchTest, calls_back_in_every_turn_while_ready) {
  const auto fd = event(1);
  int calls = 0;
  Watch watch(loop_, fd.get(), EPOLLIN, [&](std::uint32_t ready) {
    EXPECT_EQ(ready, std::uint32_t{EPOLLIN});
    ++calls;
  });
  loop_.run_once(-1ns);
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 2);
}

TEST_F(WatchTest, one_that_is_destroyed_by_another_of_the_same_batch_is_not_called) {
  const auto a = event(1);
  const auto b = event(1);
  int calls = 0;
  std::unique_ptr<Watch> first;
  std::unique_ptr<Watch> second;
  first = std::make_unique<Watch>(loop_, a.get(), EPOLLIN, [&](std::uint32_t) {
    ++calls;
    second.reset();
  });
  second = std::make_unique<Watch>(loop_, b.get(), EPOLLIN, [&](std::uint32_t) {
    ++calls;
    first.reset();
  });
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 1);
  EXPECT_NE(first == nullptr, second == nullptr);
}

TEST_F(WatchTest, one_made_in_place_of_a_destroyed_one_does_not_get_its_events) {
  const auto a = event(1);
  const auto b = event(1);
  const auto never = event(0);
  int calls = 0;
  int calls_in_vain = 0;
  std::unique_ptr<Watch> first;
  std::unique_ptr<Watch> second;
  const auto replace_other = [&](std::unique_ptr<Watch>& other) {
    ++calls;
    other.reset();  // the allocator likes to give the same address again
    other = std::make_unique<Watch>(loop_, never.get(), EPOLLIN,
                                    [&](std::uint32_t) { ++calls_in_vain; });
  };
  first = std::make_unique<Watch>(loop_, a.get(), EPOLLIN,
                                  [&](std::uint32_t) { replace_other(second); });
  second = std::make_unique<Watch>(loop_, b.get(), EPOLLIN,
                                   [&](std::uint32_t) { replace_other(first); });
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(calls_in_vain, 0);
}

TEST_F(WatchTest, one_that_is_disarmed_by_another_of_the_same_batch_is_not_called) {
  const auto a = event(1);
  const auto b = event(1);
  int calls = 0;
  std::vector<std::unique_ptr<Watch>> watches;
  for (const int fd : {a.get(), b.get()}) {
    watches.push_back(std::make_unique<Watch>(loop_, fd, EPOLLIN, [&](std::uint32_t) {
      ++calls;
      for (const auto& watch : watches) watch->set_events(0);
    }));
  }
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(quiet());
}

TEST_F(WatchTest, destroys_itself_in_its_call_back) {
  const auto fd = event(1);
  auto captured = std::make_shared<int>(7);
  int seen = 0;
  std::unique_ptr<Watch> watch;
  watch = std::make_unique<Watch>(loop_, fd.get(), EPOLLIN, [&, captured](std::uint32_t) {
    watch.reset();
    seen = *captured;
  });
  captured.reset();
  loop_.run_once(-1ns);
  EXPECT_EQ(seen, 7);
  EXPECT_TRUE(quiet());
}

TEST_F(WatchTest, replaces_itself_in_its_call_back) {
  const auto fd = event(1);
  int calls = 0;
  std::unique_ptr<Watch> watch;
  watch = std::make_unique<Watch>(loop_, fd.get(), EPOLLIN, [&](std::uint32_t) {
    watch.reset();
    watch = std::make_unique<Watch>(loop_, fd.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  });
  loop_.run_once(-1ns);
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 1);
}

TEST_F(WatchTest, reports_only_what_it_asks_for) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const FileDescriptor near(pair[0]);
  const FileDescriptor far(pair[1]);
  std::uint32_t seen = 0;
  Watch watch(loop_, near.get(), EPOLLIN, [&](std::uint32_t ready) { seen = ready; });
  EXPECT_TRUE(quiet());
  watch.set_events(EPOLLIN | EPOLLOUT);
  EXPECT_EQ(watch.events(), std::uint32_t{EPOLLIN | EPOLLOUT});
  loop_.run_once(-1ns);
  EXPECT_EQ(seen, std::uint32_t{EPOLLOUT});
  watch.set_events(EPOLLIN);
  EXPECT_TRUE(quiet());
  ASSERT_EQ(::write(far.get(), "x", 1), 1);
  loop_.run_once(-1ns);
  EXPECT_EQ(seen, std::uint32_t{EPOLLIN});
}

TEST_F(WatchTest, of_no_events_does_not_spin_on_a_hang_up) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const FileDescriptor near(pair[0]);
  FileDescriptor far(pair[1]);
  std::uint32_t seen = 0;
  Watch watch(loop_, near.get(), EPOLLIN, [&](std::uint32_t ready) { seen = ready; });
  watch.set_events(0);
  far.reset();
  EXPECT_FALSE(loop_.run_once(2ms));
  EXPECT_EQ(seen, 0U);
  watch.set_events(EPOLLIN);
  loop_.run_once(-1ns);
  EXPECT_TRUE(seen & EPOLLHUP);
}

TEST_F(WatchTest, setting_the_same_events_makes_no_system_call) {
  auto fd = event(1);
  int calls = 0;
  Watch watch(loop_, fd.get(), EPOLLIN | EPOLLET, [&](std::uint32_t) { ++calls; });
  loop_.run_once(-1ns);
  watch.set_events(EPOLLIN | EPOLLET);  // a real change would report the edge again
  EXPECT_TRUE(quiet());
  EXPECT_EQ(calls, 1);
}

TEST_F(WatchTest, more_than_a_batch_are_all_called) {
  constexpr int watch_count = 300;
  std::vector<FileDescriptor> fds;
  std::vector<std::unique_ptr<Watch>> watches;
  int called = 0;
  for (int i = 0; i < watch_count; ++i) {
    fds.push_back(event(1));
    watches.push_back(std::make_unique<Watch>(loop_, fds.back().get(), EPOLLIN,
                                              [&called, &watches, i](std::uint32_t) {
                                                ++called;
                                                watches[static_cast<std::size_t>(i)].reset();
                                              }));
  }
  while (loop_.run_once(0ns)) {
  }
  EXPECT_EQ(called, watch_count);
}

TEST_F(WatchTest, of_a_regular_file_is_refused_with_the_reason) {
  char name[] = "/tmp/netio_watch_test_XXXXXX";
  const FileDescriptor file(::mkstemp(name));
  ::unlink(name);
  try {
    Watch watch(loop_, file.get(), EPOLLIN, [](std::uint32_t) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.advice().find("regular files"), std::string::npos) << error.what();
  }
}

TEST_F(WatchTest, second_of_one_descriptor_is_refused_and_the_first_stays) {
  const auto fd = event(1);
  int calls = 0;
  Watch watch(loop_, fd.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  EXPECT_THROW(Watch(loop_, fd.get(), EPOLLIN, [](std::uint32_t) {}), Error);
  loop_.run_once(-1ns);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace netio
