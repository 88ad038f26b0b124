// Ctrl-C, SIGTERM and SIGHUP as events of the loop. Not PosixSignals, whose handler lets system
// calls go on: a write to a slow pipe blocks the process and must end with EINTR when somebody
// wants to leave.
#pragma once

#include <functional>

#include <netio/loop.hpp>

namespace netio::cli {

// One at a time in a process.
class Interrupt {
 public:
  // `on_interrupt` is called in the loop; several signals before it gets there are one.
  Interrupt(Loop& loop, std::function<void()> on_interrupt);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // True since the first signal: a system call that ended with EINTR should not be repeated.
  [[nodiscard]] static bool requested() noexcept;

 private:
  Signal signal_;
};

}  // namespace netio::cli
