// A count between two threads: one adds to it, the other waits for it. Its time limits are of the
// monotonic clock, so that setting the time of day moves none of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace netio::detail {

class Semaphore {
 public:
  Semaphore() noexcept = default;
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void signal() noexcept {
    if (count_.fetch_add(1, std::memory_order_release) < 0) wake();
  }
  // The waiter's thread, and only one. Takes one of the count. False: there was none to take until
  // the time was over. A negative time is for ever; 0 never sleeps.
  [[nodiscard]] bool wait(std::chrono::nanoseconds timeout) noexcept {
    if (try_wait()) return true;
    return timeout.count() != 0 && wait_longer(timeout);
  }

 private:
  static constexpr std::int32_t asleep = -1;  // and nothing to take

  // Nobody else takes of the count, so what is seen stays.
  bool try_wait() noexcept {
    if (count_.load(std::memory_order_relaxed) <= 0) return false;
    count_.fetch_sub(1, std::memory_order_acquire);
    return true;
  }
  bool wait_longer(std::chrono::nanoseconds timeout) noexcept;
  void wake() noexcept;

  std::atomic<std::int32_t> count_{0};
};

}  // namespace netio::detail
