// Which events there were, in any order. What follows each other takes the memory of one event.
// Owner thread only.
#pragma once

#include <iterator>
#include <map>

#include <netio/event_building.hpp>

namespace netio::cli {

class EventSet {
 public:
  [[nodiscard]] bool contains(EventId event) const noexcept {
    const auto above = spans_.upper_bound(event);
    return above != spans_.begin() && event < std::prev(above)->second;
  }
  // It is not there yet. Throws std::bad_alloc.
  void insert(EventId event) {
    const auto above = spans_.upper_bound(event);
    if (above != spans_.begin() && std::prev(above)->second == event) {
      std::prev(above)->second = event.next();
      if (above == spans_.end() || above->first != event.next()) return;
      std::prev(above)->second = above->second;
      spans_.erase(above);
    } else if (above != spans_.end() && above->first == event.next()) {
      const EventId end = above->second;
      spans_.emplace_hint(spans_.erase(above), event, end);
    } else {
      spans_.emplace_hint(above, event, event.next());
    }
  }

 private:
  std::map<EventId, EventId> spans_;  // the first event, and the one behind the last
};

}  // namespace netio::cli
