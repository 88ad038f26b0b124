// The events whose memory the user keeps beyond their hand-over, in the order of their ids. Owner
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/growing_ring.hpp"
#include "build/event_id.hpp"

namespace netio::detail {

class KeptEvents {
 public:
  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  [[nodiscard]] EventId oldest() const noexcept { return kept_[0].id; }
  // Of those that were not released.
  [[nodiscard]] std::uint64_t cost() const noexcept { return cost_; }

  // For one more keep(). False without memory.
  [[nodiscard]] bool make_room() noexcept { return kept_.make_room(); }
  // Behind all that were kept before. There is room.
  void keep(EventId id, std::uint64_t cost) noexcept {
    kept_.push_back({id, cost, false});
    cost_ += cost;
  }
  // False if it is not kept.
  [[nodiscard]] bool release(EventId id) noexcept {
    const std::size_t first = kept_.first_not([id](const Kept& kept) { return kept.id < id; });
    if (first == kept_.size() || kept_[first].id != id || kept_[first].released) return false;
    kept_[first].released = true;
    cost_ -= kept_[first].cost;
    ++released_;
    while (!kept_.empty() && kept_[0].released) {
      kept_.pop_front();
      --released_;
    }
    if (released_ > kept_.size() / 2) sweep();
    return true;
  }
  // Entries: at most twice the number of events that are kept.
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }

 private:
  // The user may keep one event for long, and release many behind it.
  void sweep() noexcept {
    std::size_t left = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i].released) kept_[left++] = kept_[i];
    }
    while (kept_.size() > left) kept_.pop_back();
    released_ = 0;
  }

  struct Kept {
    EventId id;
    std::uint64_t cost = 0;
    bool released = false;
  };
  GrowingRing<Kept> kept_;
  std::size_t released_ = 0;  // of kept_
  std::uint64_t cost_ = 0;
};

}  // namespace netio::detail
