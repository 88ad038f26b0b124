// What ends wait with that sleep on descriptors: an event that stops them, a timer, and epoll.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <sys/epoll.h>

#include "worker/options.hpp"

namespace netio::bench {

// Throws std::system_error of errno.
[[noreturn]] void fail(const char* what);

// An eventfd that a worker's control thread writes to.
class StopEvent {
 public:
  StopEvent();
  ~StopEvent();
  StopEvent(const StopEvent&) = delete;
  StopEvent& operator=(const StopEvent&) = delete;
  void tell() const noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

// Expires at a given time, as a descriptor.
class TimerDescriptor {
 public:
  TimerDescriptor();
  ~TimerDescriptor();
  TimerDescriptor(const TimerDescriptor&) = delete;
  TimerDescriptor& operator=(const TimerDescriptor&) = delete;
  void set(std::int64_t ns) const noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

// Level-triggered. Sleeps or spins as asked.
class Epoll {
 public:
  explicit Epoll(Wait wait);
  ~Epoll();
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;
  void add(int fd, std::uint32_t events, std::uint64_t key) const;
  void change(int fd, std::uint32_t events, std::uint64_t key) const;
  void remove(int fd) const noexcept;
  [[nodiscard]] std::span<const epoll_event> wait() noexcept;

 private:
  int fd_;
  int timeout_ms_;
  std::array<epoll_event, 256> ready_;
};

}  // namespace netio::bench
