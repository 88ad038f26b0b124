// What other threads posted to a loop. post(): any thread; the rest: owner thread. Woken once for
// each batch.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include <netio/loop.hpp>

namespace netio::detail {

class LoopInbox {
 public:
  explicit LoopInbox(Loop& loop) : loop_(loop), wake_(loop, [this] { woken_ = true; }) {}

  void post(std::function<void()> work);
  // Runs what was posted before the wake-up was seen; what those post waits for the next. True
  // if there was any.
  bool run() noexcept;

 private:
  Loop& loop_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;   // under the mutex
  std::vector<std::function<void()>> running_;  // swapped with it: both keep their capacity
  bool woken_ = false;
  Signal wake_;
};

}  // namespace netio::detail
