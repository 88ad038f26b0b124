// A Source of numbered items that any thread may give: woken by an eventfd that nobody reads,
// rung only when the source sleeps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"

namespace netio::test {

class CountedSource final : public Source {
 public:
  void give(int items) noexcept {
    available_ += items;
    if (!sleeps_.exchange(false)) return;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(fd_.get(), &one, sizeof one));
  }

  bool poll(int budget) noexcept override {
    ++polls;
    sleeps_ = false;
    const int items = std::min(available_.load(), budget);
    available_ -= items;
    taken += items;
    return items > 0;
  }
  bool may_sleep() noexcept override {
    if (never_sleeps) return false;
    sleeps_ = true;
    if (available_ == 0) return true;
    sleeps_ = false;
    return false;
  }
  [[nodiscard]] int fd() const noexcept override { return fd_.get(); }

  // Owner thread only.
  bool never_sleeps = false;
  int polls = 0;
  int taken = 0;

 private:
  detail::FileDescriptor fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<int> available_{0};
  std::atomic<bool> sleeps_{false};
};

}  // namespace netio::test
