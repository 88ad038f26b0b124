// How a kept event says that it is released, on any thread: the builder unit is told in a turn of
// its loop. Shared by the builder unit and its kept events, so it outlives both.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <netio/event_building.hpp>
#include <netio/loop.hpp>

namespace netio::detail {

class EventReleases {
 public:
  // Throws Error if there is no descriptor left.
  EventReleases(Loop& loop, std::function<void()> on_release)
      : signal_(std::make_unique<Signal>(loop, std::move(on_release))) {}

  // For one more event that is kept, so that its release() needs no memory. Throws std::bad_alloc.
  void make_room() {
    const std::lock_guard lock(mutex_);
    if (released_.capacity() <= kept_) released_.reserve(2 * kept_ + 16);
    ++kept_;
  }
  // Any thread.
  void release(EventId event) noexcept {
    const std::lock_guard lock(mutex_);
    --kept_;
    if (!signal_) return;
    released_.push_back(event);
    if (released_.size() == 1) signal_->notify();
  }
  // The events that were released since. Owner thread.
  template <typename Release>
  void take(Release&& release) noexcept {
    {
      const std::lock_guard lock(mutex_);
      taken_.swap(released_);
    }
    for (const EventId event : taken_) release(event);
    taken_.clear();
  }
  // The builder unit is about to be destroyed. Owner thread.
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    signal_.reset();
  }

 private:
  std::mutex mutex_;
  std::vector<EventId> released_;
  std::size_t kept_ = 0;
  std::unique_ptr<Signal> signal_;  // null once the builder unit is gone
  std::vector<EventId> taken_;      // owner thread
};

}  // namespace netio::detail
