#include "build_faults/children.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace netio::test {

void give_up(const std::string& what) {
  std::printf("build_faults: %s\n", what.c_str());
  std::fflush(stdout);
  std::exit(1);
}

pid_t start_child(const std::function<int()>& life) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) give_up(std::string("cannot fork: ") + std::strerror(errno));
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 1;
  try {
    status = life();
  } catch (const std::exception& error) {
    std::printf("build_faults: a process ended: %s\n", error.what());
    std::fflush(stdout);
  }
  std::_Exit(status);
}

void kill_child(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

void await_end(pid_t child) {
  int status = 0;
  for (int attempts = 0; attempts < 60'000; ++attempts) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      if (status != 0) give_up("a process ended with status " + std::to_string(status));
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  give_up("process " + std::to_string(child) + " does not end");
}

void look_for_deaths() {
  int status = 0;
  const pid_t child = ::waitpid(-1, &status, WNOHANG);
  if (child > 0) {
    give_up("process " + std::to_string(child) + " ended by itself, with status " +
            std::to_string(status));
  }
}

}  // namespace netio::test
