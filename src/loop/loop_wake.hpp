// What wakes a loop's epoll without a watch: a timerfd for the next deadline, and for foreign
// loops an eventfd for work that has no descriptor. Owner thread.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"

namespace netio::detail {

// Why a timerfd and no timeout of epoll_wait: a timeout is set up and torn down in every sleep,
// which costs a round trip of two sleeping threads 20 % if it is far away, and 120 % if it is so
// near (1 ms) that the hardware's timer is programmed for it. A timerfd that stays armed is free.
class LoopWake {
 public:
  // In the epoll the eventfd has a null pointer as its data, the timerfd a pointer to this.
  explicit LoopWake(int epoll_fd);

  // Leaves the timerfd armed at or before the deadline (never_ns: or not at all). A system call
  // only if it is not yet, or has fired.
  void arm(std::int64_t deadline_ns) noexcept;
  void on_timer_fired() noexcept { fired_ = true; }

  // Makes the epoll readable, or not any more; no system call if nothing changes.
  void set_readable(bool readable) noexcept;

 private:
  FileDescriptor event_fd_;
  FileDescriptor timer_fd_;
  bool readable_ = false;
  bool fired_ = false;  // reported since it was armed; edge-triggered, so it is never read
  std::int64_t armed_ns_ = never_ns;
};

}  // namespace netio::detail
