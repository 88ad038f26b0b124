// Pins the calling thread to a core for a time, and puts back what it had. Each object belongs to
// the thread that made it, and ends there, the last one first.
#pragma once

#include <sched.h>

namespace netio::detail {

// While it lives, the calling thread runs on this core only. At the end it has its earlier cores
// again, unless it was given others meanwhile.
class OnCore {
 public:
  // -1: changes nothing. Throws Error if there is no such core, or the thread may not use it.
  explicit OnCore(int cpu);
  ~OnCore();
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  bool pinned_ = false;
  bool outermost_ = false;
  cpu_set_t core_;
  cpu_set_t before_;
};

// While it lives, threads that the calling thread starts are not held to the core that an OnCore
// pinned it to: a loop that spins there would not let them run. With `of_process` they may use the
// cores of the process's first thread too. Best effort.
class OffCore {
 public:
  enum class Cores { of_thread, of_process };
  explicit OffCore(Cores cores) noexcept;
  ~OffCore();
  OffCore(const OffCore&) = delete;
  OffCore& operator=(const OffCore&) = delete;

 private:
  bool changed_ = false;
  cpu_set_t before_;
};

}  // namespace netio::detail
