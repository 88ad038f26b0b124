// The events of which a source's fragments will never come, though there may have been some, each
// with its reason. Bounded: at the bound neighbours are joined. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/growing_ring.hpp"
#include "build/event_id.hpp"

namespace netio::detail {

class LostEvents {
 public:
  // For one more add(). False without memory.
  [[nodiscard]] bool make_room() noexcept { return lost_.make_room(); }
  // Behind all that were added before, or joined to the last. There is room.
  void add(EventId from, EventId below, Missing why) noexcept {
    if (from >= below) return;
    const std::size_t count = lost_.size();
    if (count != 0 && (lost_[count - 1].below == from || count >= lost_max)) {
      if (lost_[count - 1].why == why || count >= lost_max) {
        lost_[count - 1].below = below;
        return;
      }
    }
    lost_.push_back({from, below, why});
  }
  // Nobody asks any more about what lies below.
  void forget(EventId below) noexcept {
    while (!lost_.empty() && lost_[0].below <= below) lost_.pop_front();
  }
  // `no` if it is not one of them. It is asked in the order of events.
  [[nodiscard]] Missing why(EventId event) const noexcept {
    for (std::size_t i = 0; i < lost_.size() && lost_[i].from <= event; ++i) {
      if (event < lost_[i].below) return lost_[i].why;
    }
    return Missing::no;
  }
  [[nodiscard]] std::size_t size() const noexcept { return lost_.size(); }

  static constexpr std::size_t lost_max = 1024;

 private:
  struct Lost {
    EventId from;
    EventId below;
    Missing why = Missing::no;
  };
  GrowingRing<Lost> lost_;
};

}  // namespace netio::detail
