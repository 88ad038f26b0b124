// What another thread of this process waits for in the kernel.
#pragma once

#include <cstdint>
#include <fstream>
#include <linux/futex.h>
#include <optional>
#include <string>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace netio::test {

inline pid_t this_thread_id() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// A wait on a futex with a time limit.
struct TimedFutexWait {
  bool by_time_of_day = false;
};

// Nothing while the thread is elsewhere, or the system does not say where (waits_can_be_seen()).
inline std::optional<TimedFutexWait> timed_futex_wait_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  long number = -1;
  std::uint64_t address = 0;
  std::uint64_t operation = 0;
  std::uint64_t value = 0;
  std::uint64_t time = 0;
  file >> number >> std::hex >> address >> operation >> value >> time;
  if (!file || number != SYS_futex || time == 0) return {};
  const int command = static_cast<int>(operation) & FUTEX_CMD_MASK;
  if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) return {};
  // The limit of FUTEX_WAIT is a duration.
  return TimedFutexWait{(operation & FUTEX_CLOCK_REALTIME) != 0};
}

[[nodiscard]] inline bool waits_can_be_seen() {
  std::string text;
  std::ifstream("/proc/thread-self/syscall") >> text;
  return !text.empty();
}

}  // namespace netio::test
