// Work in a process of its own: for what a process cannot take back, as a network of its own.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace netio::test {

// Exit code of a test that this machine does not let run: skip it.
inline constexpr int not_possible = 77;

// Threads that are about to end, as the one in which shm unmaps what it has closed, are waited for:
// a child of a sanitizer's process has the lock of the allocator as another thread held it.
inline void wait_for_helpers() {
  const auto threads = [] {
    std::error_code error;
    const std::filesystem::directory_iterator tasks("/proc/self/task", error);
    return error ? 1 : std::distance(begin(tasks), end(tasks));
  };
  for (int i = 0; threads() > 1 && i < 5'000; ++i) ::usleep(1'000);
}

// The exit code of a child that runs `work`, which returns it; 128 and the signal's number if a
// signal ends it. The child calls no destructor of what it has from the parent. For a process with
// one thread, and helpers that end by themselves.
inline int in_a_child(const std::function<int()>& work) {
  wait_for_helpers();
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const int code = work();
    std::fflush(stdout);
    ::_exit(code);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Says why, where gtest is of no use: false.
inline bool fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return false;
}

}  // namespace netio::test
