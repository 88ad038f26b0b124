// The events of which a builder holds something, in the order of their ids. Their memory is used
// again. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/growing_ring.hpp"
#include "build/build_messages.hpp"
#include "build/event_id.hpp"

namespace netio::detail {

// If it is not here, the rest is as it was left.
struct OpenFragment {
  std::uint64_t bytes = 0;
  std::uint64_t memory = 0;  // the owner's name for it
  FragmentStatus status = FragmentStatus::good;
  bool here = false;
};

struct OpenEvent {
  EventId id;
  std::int64_t opened_ns = 0;
  std::int64_t moved_ns = 0;          // when the last fragment came
  std::uint64_t cost = 0;             // of the fragments
  std::uint32_t here = 0;             // the number of fragments
  std::span<OpenFragment> fragments;  // by source
};

class OpenEvents {
 public:
  explicit OpenEvents(std::uint32_t sources) : sources_(sources) {}

  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return events_.size(); }
  [[nodiscard]] OpenEvent& oldest() noexcept { return *events_[0]; }
  [[nodiscard]] const OpenEvent& oldest() const noexcept { return *events_[0]; }

  // How many of them have a fragment of this source. It looks at each.
  [[nodiscard]] std::uint64_t with(std::uint32_t source) const noexcept {
    std::uint64_t with = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      with += events_[i]->fragments[source].here ? 1U : 0U;
    }
    return with;
  }

  // The event with this id, which is opened if it is not open yet. Throws std::bad_alloc; nothing
  // has changed then. `next` is where the event may be, and is then where the next one may be: each
  // source has a place of its own, because its events come in order.
  OpenEvent& open(EventId id, std::int64_t now_ns, std::uint64_t& next) {
    const std::uint64_t index = next - closed_;  // it wraps for what is closed
    if (index < events_.size() && events_[index]->id == id) [[likely]] {
      ++next;
      return *events_[index];
    }
    return find_or_insert(id, now_ns, next);
  }
  // For so many calls of open() that then need no memory. Throws std::bad_alloc.
  void make_room(std::size_t more) {
    if (free_.size() < more || !events_.make_room(more)) make_some_room(more);
  }
  void close_oldest() noexcept {
    free_.push_back(events_[0]);  // there is room: see make_some()
    events_.pop_front();
    ++closed_;
  }

 private:
  struct Memory {
    std::vector<OpenEvent> events;
    std::vector<OpenFragment> fragments;
  };
  OpenEvent& find_or_insert(EventId id, std::int64_t now_ns, std::uint64_t& next);
  OpenEvent& insert(std::size_t index, EventId id, std::int64_t now_ns);
  void make_some();
  void make_some_room(std::size_t more);

  std::uint32_t sources_;
  GrowingRing<OpenEvent*> events_;
  std::uint64_t closed_ = 0;  // so many were closed: the place of the oldest one
  std::vector<OpenEvent*> free_;
  std::vector<Memory> memory_;
  std::size_t made_ = 0;
};

}  // namespace netio::detail
