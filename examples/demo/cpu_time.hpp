// Processor time used by this process or thread, and a clock of both.
#pragma once

#include <chrono>
#include <sys/resource.h>

namespace demo {

// `who` is RUSAGE_SELF or RUSAGE_THREAD. User and system time together.
inline double cpu_seconds_of(int who) noexcept {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What passed on both clocks since it was made, or reset.
class Stopwatch {
 public:
  void reset() noexcept { *this = Stopwatch(); }
  [[nodiscard]] double seconds() const noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  [[nodiscard]] double cpu_seconds() const noexcept {
    return cpu_seconds_of(RUSAGE_SELF) - cpu_begin_;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double cpu_begin_ = cpu_seconds_of(RUSAGE_SELF);
};

}  // namespace demo
