// How a kept event says that it is released, on any thread: the builder unit is told in a turn of
// its loop. Shared by the builder unit and its kept events, so it outlives both.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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
    if (released_.capacity() - released_.size() <= kept_) {
      released_.reserve(2 * (released_.size() + kept_) + 16);
    }
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
    while (const std::optional<EventId> event = take_one()) release(*event);
  }
  // The builder unit is about to be destroyed. Owner thread.
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    signal_.reset();
  }

 private:
  [[nodiscard]] std::optional<EventId> take_one() noexcept {
    const std::lock_guard lock(mutex_);
    if (released_.empty()) return std::nullopt;
    const EventId event = released_.back();
    released_.pop_back();
    return event;
  }

  std::mutex mutex_;
  std::vector<EventId> released_;   // the memory stays: see make_room()
  std::size_t kept_ = 0;            // and not released
  std::unique_ptr<Signal> signal_;  // null once the builder unit is gone
};

}  // namespace netio::detail
