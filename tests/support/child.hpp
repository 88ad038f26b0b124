// A child that waits for an address and then runs `work` with it until it is killed. Forked before
// this process has any socket, so that the child holds none of them open.
#pragma once

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

namespace netio::test {

class Child {
 public:
  explicit Child(const std::function<void(const std::string& address, int report)>& work) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe(in.data()) != 0 || ::pipe(out.data()) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(in[1]);
      ::close(out[0]);
      std::array<char, 100> text{};
      const ssize_t got = ::read(in[0], text.data(), text.size());
      if (got > 0) work(std::string(text.data(), static_cast<std::size_t>(got)), out[1]);
      ::_exit(0);
    }
    ::close(in[0]);
    ::close(out[1]);
    address_ = in[1];
    report_ = out[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill();
    ::close(address_);
    ::close(report_);
  }

  void begin(const std::string& address) const {
    ASSERT_EQ(::write(address_, address.data(), address.size()),
              static_cast<ssize_t>(address.size()));
  }
  // Blocks until the child reports that it is where the test wants it.
  [[nodiscard]] bool wait_for_report() const {
    char ready = 0;
    return ::read(report_, &ready, 1) == 1;
  }
  [[nodiscard]] bool reported() const {
    pollfd wait{report_, POLLIN, 0};
    return ::poll(&wait, 1, 0) == 1;
  }
  // What it reported until it ended, or all of one report.
  [[nodiscard]] std::string text() const {
    std::array<char, 1000> text{};
    const ssize_t got = ::read(report_, text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  int address_ = -1;
  int report_ = -1;
};

inline void report(int fd) { (void)!::write(fd, "!", 1); }

}  // namespace netio::test
