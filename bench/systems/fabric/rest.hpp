// What an end does when nothing has completed: it sleeps until something does, or reads again.
#pragma once

#include <cstdint>

#include "systems/fabric/device.hpp"
#include "worker/descriptors.hpp"
#include "worker/worker.hpp"

namespace netio::bench::fabric {

class Rest {
 public:
  Rest(const Worker& worker, Device& device, const StopEvent& stop);

  // After each read of the completion queue, with how many it gave and whether anything is left to
  // do that is only to be tried again.
  void after(std::size_t completed, bool all_done = true) {
    ++reads_;
    if (wait_ == Wait::spin || completed == CompletionQueue::batch_max || !all_done) return;
    if (device_.completions.has_gathered()) return;
    if (wait_ == Wait::adaptive && !spun_enough(completed)) return;
    sleep();
  }
  // The event queue is to be looked at: it has something, or has not been looked at for long.
  [[nodiscard]] bool events_due() noexcept {
    const bool due = events_ready_ || reads_ % reads_between_events == 0;
    events_ready_ = false;
    return due;
  }
  // A descriptor that also wakes it.
  void add(int fd) { epoll_.add(fd, EPOLLIN, other_key); }

 private:
  static constexpr std::uint64_t reads_between_events = 4096;
  static constexpr std::uint64_t events_key = 0;
  static constexpr std::uint64_t other_key = 1;
  static constexpr std::int64_t spin_ns_max = 50'000;

  [[nodiscard]] bool spun_enough(std::size_t completed) noexcept;
  void sleep();

  Device& device_;
  Wait wait_;
  Epoll epoll_;
  std::uint64_t reads_ = 0;
  std::int64_t busy_at_ = 0;
  bool events_ready_ = true;
  bool events_armed_ = false;
};

}  // namespace netio::bench::fabric
