// What a unit with a manager holds, in the order of events, until it is settled. An entry in the
// middle that is forgotten stays until all in front of it are. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/growing_ring.hpp"
#include "build/build_messages.hpp"
#include "build/event_spans.hpp"

namespace netio::detail {

struct HeldFragment {
  EventId event;
  std::uint64_t bytes = 0;
  std::uint64_t memory = 0;  // the owner's name for it; of dropped ones: see below()
  FragmentStatus status = FragmentStatus::good;
  bool dropped = false;  // the entry has no fragment: it tells of dropped ones

  // Behind the last event of the entry.
  [[nodiscard]] EventId below() const noexcept {
    return dropped ? EventId{event.run, memory} : event.next();
  }
  // Of dropped ones, in the same run.
  void set_below(EventId below) noexcept { memory = below.number; }
};

class HeldFragments {
 public:
  // False without memory; nothing has changed then.
  [[nodiscard]] bool add(EventId event, std::uint64_t bytes, std::uint64_t memory,
                         FragmentStatus status) noexcept {
    if (!entries_.make_room()) return false;
    entries_.push_back({{event, bytes, memory, status}, false});
    return true;
  }
  // The unit dropped the fragment of this event. `produced` is where it was before: what it dropped
  // without anything in between is one entry.
  [[nodiscard]] bool add_dropped(EventId event, EventId produced) noexcept {
    if (!entries_.empty()) {
      HeldFragment& last = entries_[entries_.size() - 1].held;
      const bool forgotten = entries_[entries_.size() - 1].forgotten;
      if (!forgotten && last.dropped && last.below() == event && produced == event) {
        last.set_below(event.next());
        return true;
      }
    }
    if (!entries_.make_room()) return false;
    entries_.push_back({{event, 0, event.number + 1, FragmentStatus::good, true}, false});
    return true;
  }

  // Calls `each` for the entries of the span that are not forgotten, in their order, until it
  // answers false.
  template <typename Each>
  void visit(const EventSpan& span, Each&& each) const noexcept {
    for (std::size_t i = first_beyond(span.from);
         i < entries_.size() && entries_[i].held.event < span.below; ++i) {
      if (!entries_[i].forgotten && !each(entries_[i].held)) return;
    }
  }

  // Each fragment of the span is handed to `forget` first. Of an entry of dropped fragments that
  // reaches beyond the span, the rest stays.
  template <typename Forget>
  void forget(const EventSpan& span, Forget&& forget) noexcept {
    for (std::size_t i = first_beyond(span.from);
         i < entries_.size() && entries_[i].held.event < span.below; ++i) {
      HeldFragment& held = entries_[i].held;
      if (held.event < span.from) {
        if (held.below() <= span.below) held.set_below(span.from);
      } else if (held.below() > span.below) {
        held.event = span.below;
      } else if (!std::exchange(entries_[i].forgotten, true) && !held.dropped) {
        forget(held);
      }
    }
    while (!entries_.empty() && entries_[0].forgotten) entries_.pop_front();
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  // If it is not empty. The oldest entry is never forgotten.
  [[nodiscard]] const HeldFragment& oldest() const noexcept { return entries_[0].held; }

 private:
  struct Entry {
    HeldFragment held;
    bool forgotten = false;
  };
  [[nodiscard]] std::size_t first_beyond(EventId from) const noexcept {
    return entries_.first_not([from](const Entry& entry) { return entry.held.below() <= from; });
  }

  GrowingRing<Entry> entries_;
};

}  // namespace netio::detail
