// The loop's inbox for functions from any thread.
#include "loop/loop_inbox.hpp"

#include <utility>

namespace netio::detail {

void LoopInbox::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  wake_.notify();
}

bool LoopInbox::run() noexcept {
  if (!woken_) return false;
  woken_ = false;
  {
    const std::lock_guard lock(mutex_);
    running_.swap(posted_);
  }
  const bool any = !running_.empty();
  for (auto& posted : running_) {
    if (loop_.copied_by_fork()) break;  // the one before has forked, and the parent runs the rest
    const auto work = std::move(posted);
    work();
  }
  running_.clear();
  return any;
}

}  // namespace netio::detail
