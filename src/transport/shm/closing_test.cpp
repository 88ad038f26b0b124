// Descriptors whose close waits are closed by threads. Whoever hands them over does not wait.
#include "transport/shm/closing.hpp"

#include <array>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/allocation_counter.hpp"
#include "support/lingering.hpp"
#include "transport/shm/unix_socket.hpp"

namespace netio::detail {
namespace {

using test::Lingering;
using namespace std::chrono_literals;  // NOLINT

FileDescriptor any_descriptor() {
  return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 20'000 && !condition(); ++i) std::this_thread::sleep_for(1ms);
  return condition();
}

// The two ends of a connection.
struct Ends {
  Ends() {
    std::array<int, 2> made{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, made.data()),
              0);
    here.reset(made[0]);
    there.reset(made[1]);
  }
  bool pass(std::span<const int> passed, std::string_view text = "any") {
    return send_message(there.get(), std::as_bytes(std::span(text)), passed) == 0;
  }
  FileDescriptor here;
  FileDescriptor there;
};

class Closing : public testing::Test {
 protected:
  // Each of the threads has one in hand that waits.
  void hang_all() {
    for (Lingering& each : hung_) {
      FileDescriptor copy(::fcntl(each.fd(), F_DUPFD_CLOEXEC, 0));
      each.forget();
      const int number = copy.get();
      line_.close(std::move(copy));
      // Else a thread that comes late would take what is closed next.
      EXPECT_TRUE(soon([&] { return ::fcntl(number, F_GETFD) < 0; }));
    }
  }
  void let_go() {
    for (Lingering& each : hung_) each.let_go();
  }
  ClosingLine line_;

 private:
  std::array<Lingering, ClosingLine::threads_max> hung_;
};

TEST_F(Closing, is_full_until_what_waits_is_closed) {
  hang_all();
  std::size_t taken = 0;
  for (; !line_.full(); ++taken) line_.close(any_descriptor());
  EXPECT_GE(taken, ClosingLine::full_at - 2 * ClosingLine::threads_max);
  let_go();
  EXPECT_TRUE(soon([&] { return !line_.full(); }));
}

// The signals are the program's.
TEST_F(Closing, waits_on_threads_that_take_no_signals) {
  hang_all();
  const auto tasks = [] { return std::filesystem::directory_iterator("/proc/self/task"); };
  const auto closing = [&] {
    std::vector<std::string> found;  // each says which signals it has blocked
    for (const auto& task : tasks()) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      if (name != "netio-closing") continue;
      std::ifstream status(task.path() / "status");
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("SigBlk:")) found.push_back(line);
      }
    }
    return found;
  };
  std::vector<std::string> found;
  EXPECT_TRUE(soon([&] {
    found = closing();
    return found.size() >= ClosingLine::threads_max;
  }));
  for (const std::string& blocked : found) {
    EXPECT_NE(blocked.find("fffffffe7ffbfeff"), std::string::npos) << blocked;  // all that may be
  }
  let_go();
}

TEST_F(Closing, has_room_for_all_that_have_a_place) {
  constexpr std::size_t many = 6000;
  hang_all();
  std::vector<std::unique_ptr<ClosingLine::Place>> places;
  for (std::size_t i = 0; i < many; ++i) {
    places.push_back(std::make_unique<ClosingLine::Place>(line_));
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const FileDescriptor reads(ends[0]);
  FileDescriptor writes(ends[1]);
  int last = -1;
  for (std::size_t i = 0; i < many; ++i) {
    const int copy = ::fcntl(writes.get(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0) break;  // this process may have no more
    line_.close(FileDescriptor(copy));
    // If there is no room it is closed at once, and the next one has the same number.
    ASSERT_NE(copy, last);
    last = copy;
  }
  places.clear();
  let_go();
  writes.reset();
  char byte = 0;
  EXPECT_TRUE(soon([&] { return ::read(reads.get(), &byte, 1) == 0; })) << "some are left open";
}

TEST_F(Closing, of_a_connection_that_holds_descriptors_does_not_wait) {
  const auto begin = std::chrono::steady_clock::now();
  Lingering lingering;
  Ends ends;
  ASSERT_TRUE(ends.pass({}));
  ASSERT_TRUE(ends.pass({}, ""));
  ASSERT_TRUE(ends.pass(std::array{lingering.fd()}, ""));
  lingering.forget();
  line_.close_emptied(std::move(ends.here));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  lingering.let_go();
}

TEST_F(Closing, of_a_connection_without_descriptors_needs_no_thread) {
  hang_all();
  Ends ends;
  ASSERT_TRUE(ends.pass({}));
  ASSERT_TRUE(ends.pass({}, ""));
  line_.close_emptied(std::move(ends.here));
  EXPECT_EQ(::send(ends.there.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
  let_go();
}

TEST_F(Closing, that_found_no_memory_for_a_thread_finds_it_later) {
  test::fail_allocations(1, ClosingLine::full_at);
  {
    const test::Armed armed;
    for (std::size_t i = 0; i < ClosingLine::full_at; ++i) line_.close(any_descriptor());
  }
  test::fail_allocations(0, 1);
  EXPECT_TRUE(line_.full()) << "a thread was there: nothing was shown";
  EXPECT_TRUE(soon([&] { return !line_.full(); }));
}

}  // namespace
}  // namespace netio::detail
