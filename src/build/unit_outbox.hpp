// What a unit holds for one builder, in the order of events, and how much of it was sent on the
// current connection. Dropped fragments that follow each other are one entry. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/growing_ring.hpp"
#include "build/build_messages.hpp"
#include "build/event_id.hpp"
#include "build/fragment_run.hpp"

namespace netio::detail {

struct HeldFragment {
  EventId event;
  std::uint64_t bytes = 0;
  std::uint64_t memory = 0;  // the owner's name for it; of dropped ones: see below()
  FragmentStatus status = FragmentStatus::good;
  bool dropped = false;  // the entry has no fragment: it tells of dropped ones
  Missing why = Missing::dropped;

  // Behind the last event of the entry.
  [[nodiscard]] EventId below() const noexcept {
    return dropped ? EventId{event.run, memory} : event.next();
  }
  // Both are good fragments of one run.
  [[nodiscard]] bool goes_with(const HeldFragment& next) const noexcept {
    return !next.dropped && next.status == FragmentStatus::good && next.event.run == event.run;
  }
  // Of dropped ones, in the same run.
  void set_below(EventId below) noexcept { memory = below.number; }
};

class UnitOutbox {
 public:
  // False without memory; nothing has changed then.
  [[nodiscard]] bool add(EventId event, std::uint64_t bytes, std::uint64_t memory,
                         FragmentStatus status) noexcept {
    if (!held_.make_room()) return false;
    held_.push_back({event, bytes, memory, status, false});
    return true;
  }

  // The same with all of a run. There is room.
  void add(const FragmentRun& run) noexcept {
    EventId event = run.first();
    for (const OpenFragment& each : run.fragments()) {
      held_.push_back({event, each.bytes, each.memory, each.status, false});
      event = event.next();
    }
  }

  // Notes that the fragment of this event was dropped. `follows` says whether the event is the
  // first of this builder at or behind a position. False without memory; nothing has changed then.
  template <typename Follows>
  [[nodiscard]] bool add_dropped(EventId event, Follows&& follows) noexcept {
    if (!held_.empty()) {
      HeldFragment& last = held_[held_.size() - 1];
      // Too many entries: the last one then covers events of which the unit may have had nothing.
      const bool joins = follows(last.below()) || dropped_ >= dropped_max;
      if (last.dropped && last.event.run == event.run && joins) {
        last.set_below(event.next());
        sent_ = std::min(sent_, held_.size() - 1);
        return true;
      }
    }
    if (!held_.make_room()) return false;
    held_.push_back({event, 0, event.number + 1, FragmentStatus::good, true});
    ++dropped_;
    return true;
  }

  // For as many more entries. False without memory.
  [[nodiscard]] bool make_room(std::size_t entries) noexcept { return held_.make_room(entries); }

  // The unit has no fragments from `from` on, for this reason; both are in one assignment. False
  // without memory; nothing has changed then.
  [[nodiscard]] bool add_lacking(EventId from, EventId below, Missing why) noexcept {
    if (!held_.make_room()) return false;
    held_.push_back({from, 0, below.number, FragmentStatus::good, true, why});
    ++dropped_;
    return true;
  }

  [[nodiscard]] bool empty() const noexcept { return held_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }
  // If it is not empty.
  [[nodiscard]] const HeldFragment& oldest() const noexcept { return held_[0]; }

  // From the oldest, without those that tell of dropped ones.
  template <typename Look>
  void each_fragment(Look&& look) const noexcept {
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (!held_[i].dropped) look(held_[i]);
    }
  }

  // The next entry that was not sent, or null.
  [[nodiscard]] const HeldFragment* next() const noexcept {
    return sent_ < held_.size() ? &held_[sent_] : nullptr;
  }
  // That one and those behind it, as far as they are in one piece of memory. There is one.
  [[nodiscard]] std::span<const HeldFragment> unsent() const noexcept {
    return held_.piece_from(sent_);
  }
  void sent(std::size_t entries = 1) noexcept { sent_ += entries; }

  // The next entry to send is the first that reaches beyond `wanted`.
  void go_to(EventId wanted) noexcept { sent_ = first_beyond(wanted); }

  // Forgets all that lies below, whether it was sent or not. Each fragment is handed to `forget`
  // first.
  template <typename Forget>
  void settle(EventId below, Forget&& forget) noexcept {
    std::size_t count = 0;
    for (; count < held_.size() && held_[count].below() <= below; ++count) {
      if (held_[count].dropped) {
        --dropped_;
      } else {
        forget(held_[count]);
      }
    }
    held_.pop_front(count);
    sent_ -= std::min(sent_, count);
  }

  static constexpr std::size_t dropped_max = 1024;

 private:
  [[nodiscard]] std::size_t first_beyond(EventId position) const noexcept {
    return held_.first_not(
        [position](const HeldFragment& held) { return held.below() <= position; });
  }

  GrowingRing<HeldFragment> held_;
  std::size_t sent_ = 0;     // of held_
  std::size_t dropped_ = 0;  // entries of held_ that tell of dropped fragments
};

}  // namespace netio::detail
