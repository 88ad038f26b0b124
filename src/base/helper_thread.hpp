// The threads that netio starts, all of them here. A program does not know of them, so they take
// none of its signals, and get neither the core nor the priority of a thread that moves data.
#pragma once

#include <functional>
#include <pthread.h>

#include "base/no_signals.hpp"
#include "base/on_core.hpp"

namespace netio::detail {

// While it lives, threads that other libraries start from the calling thread are such threads too,
// but for the priority.
class HelpersStart {
 public:
  HelpersStart() noexcept = default;
  ~HelpersStart() = default;
  HelpersStart(const HelpersStart&) = delete;
  HelpersStart& operator=(const HelpersStart&) = delete;

 private:
  NoSignals no_signals_;
  OffCore off_core_{OffCore::Cores::of_process};
};

// Runs `work`, which must not throw, on a thread with the normal policy (SCHED_OTHER), which ends
// by itself. `name`: up to 15 characters. Throws std::system_error or std::bad_alloc.
void start_helper(const char* name, std::function<void()> work);
// The same on a thread that calls the user: it has the policy of the calling thread and, if netio
// has not pinned that one, its cores. The caller joins it.
[[nodiscard]] pthread_t start_joined(const char* name, std::function<void()> work);

}  // namespace netio::detail
