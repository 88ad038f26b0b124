// What wakes an end that sleeps: an eventfd in an epoll, edge-triggered, and so never read.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "worker/descriptors.hpp"

namespace netio::bench::raw::shm {

class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) fail("eventfd");
  }
  // The other end's; taken.
  explicit Bell(int fd) noexcept : fd_(fd) {}
  ~Bell() {
    if (fd_ >= 0) close(fd_);
  }
  Bell(Bell&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Bell& operator=(Bell&&) = delete;

  void ring() const noexcept {
    const std::uint64_t one = 1;
    (void)!write(fd_, &one, sizeof one);
  }
  // If `sleeps` was set: who sets it then looks for news before it sleeps, who has news looks at it
  // after they are written; one of them sees the other.
  void ring_if(std::atomic<std::uint32_t>& sleeps) const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleeps.load(std::memory_order_relaxed) == 0) return;
    if (sleeps.exchange(0, std::memory_order_relaxed) != 0) ring();
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

// An end's own bell, and where it sleeps until that rings or it is to stop.
class Bed {
 public:
  explicit Bed(const StopEvent& stop) : epoll_(Wait::sleep) {
    epoll_.add(stop.fd(), EPOLLIN, 0);
    epoll_.add(bell_.fd(), EPOLLIN | EPOLLET, 1);
  }
  [[nodiscard]] const Bell& bell() const noexcept { return bell_; }
  [[nodiscard]] Epoll& epoll() noexcept { return epoll_; }
  void sleep() noexcept { (void)epoll_.wait(); }

 private:
  Bell bell_;
  Epoll epoll_;
};

}  // namespace netio::bench::raw::shm
