// What a child of fork() has of the descriptors that belong to netio, and of those that do not.
#include "base/descriptor_table.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file_descriptor.hpp"
#include "base/fork_watch.hpp"

namespace netio::detail {
namespace {

// What `looks` answers in a child.
int in_child_of_fork(const std::function<int()>& looks) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(looks());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

bool is_pipe(int fd) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

class DescriptorTableTest : public testing::Test {
 protected:
  void SetUp() override {
    const DescriptorChange change;
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
  }

  const ForkWatch watch_{[] {}};
  FileDescriptor read_;
  FileDescriptor write_;
};

TEST_F(DescriptorTableTest, a_child_has_other_files_below_the_same_numbers) {
  EXPECT_EQ(in_child_of_fork([this] {
              const bool taken = ::fcntl(read_.get(), F_GETFD) == FD_CLOEXEC &&
                                 ::fcntl(write_.get(), F_GETFD) == FD_CLOEXEC;
              return taken && !is_pipe(read_.get()) && !is_pipe(write_.get()) ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(is_pipe(read_.get()) && is_pipe(write_.get()));
}

TEST_F(DescriptorTableTest, a_child_that_lives_on_does_not_keep_a_file_open) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    ::close(ends[1]);
    (void)!::read(ends[0], &byte, 1);
    ::_exit(0);
  }
  write_.reset();
  pollfd end{read_.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&end, 1, -1), 1);  // for ever, if somebody still has the other end
  EXPECT_EQ(::read(read_.get(), &byte, 1), 0);
  ::close(ends[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);
}

TEST_F(DescriptorTableTest, a_child_keeps_what_is_not_netios) {
  const int others = ::fcntl(read_.get(), F_DUPFD_CLOEXEC, 0);
  EXPECT_EQ(in_child_of_fork([&] { return is_pipe(others) ? 0 : 1; }), 0);
  ::close(others);
}

TEST_F(DescriptorTableTest, a_number_that_was_closed_is_not_netios_any_more) {
  const int number = write_.get();
  const int others = ::fcntl(read_.get(), F_DUPFD_CLOEXEC, 0);
  write_.reset();
  ASSERT_EQ(::dup2(others, number), number);
  EXPECT_EQ(in_child_of_fork([&] { return is_pipe(number) ? 0 : 1; }), 0);
  ::close(number);
  ::close(others);
}

TEST_F(DescriptorTableTest, a_process_that_may_open_no_more_files_forks_too) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::fcntl(read_.get(), F_DUPFD_CLOEXEC, 0);
  ::close(next);
  const rlimit full{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);
  EXPECT_EQ(in_child_of_fork([this] {
              const bool taken = ::fcntl(read_.get(), F_GETFD) == FD_CLOEXEC &&
                                 ::fcntl(write_.get(), F_GETFD) == FD_CLOEXEC;
              return taken && !is_pipe(read_.get()) && !is_pipe(write_.get()) ? 0 : 1;
            }),
            0);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(DescriptorTableTest, a_child_has_nothing_that_another_thread_opens_or_closes) {
  constexpr int numbers = 200;
  std::array<bool, numbers> others{};
  for (int fd = 0; fd < numbers; ++fd) {
    others[static_cast<std::size_t>(fd)] = is_pipe(fd) && fd != read_.get() && fd != write_.get();
  }
  std::atomic<bool> over{false};
  std::atomic<int> made{0};
  std::thread thread([&] {
    while (!over) {
      FileDescriptor copy = opened([this] { return ::fcntl(read_.get(), F_DUPFD_CLOEXEC, 0); });
      ++made;
    }
  });
  while (made == 0) std::this_thread::yield();
  int wrong = 0;
  for (int forks = 0; forks < 50; ++forks) {
    wrong += in_child_of_fork([&] {
      for (int fd = 0; fd < numbers; ++fd) {
        if (is_pipe(fd) && !others[static_cast<std::size_t>(fd)]) return 1;
      }
      return 0;
    });
  }
  over = true;
  thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace netio::detail
