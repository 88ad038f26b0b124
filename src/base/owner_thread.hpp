// Which thread a loop, and the memory of its context, belong to now: the one that is in a turn of
// the loop. Between two calls of run() nobody is. Any thread may ask.
#pragma once

#include <atomic>
#include <memory>

#include "base/this_thread.hpp"

namespace netio::detail {

// A line of its own, which is only read while the loop runs.
class alignas(64) OwnerThread {
 public:
  OwnerThread() noexcept = default;
  OwnerThread(const OwnerThread&) = delete;
  OwnerThread& operator=(const OwnerThread&) = delete;
  // For what belongs to no loop: the calling thread, for good.
  [[nodiscard]] static std::shared_ptr<const OwnerThread> calling() {
    auto owner = std::make_shared<OwnerThread>();
    (void)owner->claim();
    return owner;
  }

  // False also if it is nobody's.
  [[nodiscard]] bool here() const noexcept { return now() == this_thread(); }
  [[nodiscard]] bool elsewhere() const noexcept {
    const void* const owner = now();
    return owner != nullptr && owner != this_thread();
  }
  // False if it is another thread's, though that one may have claimed it just now.
  [[nodiscard]] bool claim() noexcept {
    const void* nobody = nullptr;
    return owner_.compare_exchange_strong(nobody, this_thread(), std::memory_order_relaxed) ||
           nobody == this_thread();
  }
  void release() noexcept { owner_.store(nullptr, std::memory_order_relaxed); }

 private:
  [[nodiscard]] const void* now() const noexcept { return owner_.load(std::memory_order_relaxed); }

  // Relaxed: a thread finds itself here only if it wrote that. What threads that follow each other
  // do otherwise is put in order by the program.
  std::atomic<const void*> owner_{nullptr};
};

}  // namespace netio::detail
