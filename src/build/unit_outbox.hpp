// What a unit holds for one builder, in the order of events, and how much of it was sent on the
// current connection. Fragments that were stored together are one entry, and so are dropped ones
// that follow each other. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

#include "base/growing_ring.hpp"
#include "build/build_messages.hpp"
#include "build/event_id.hpp"
#include "build/stored_run.hpp"

namespace netio::detail {

// Fragments of events whose numbers follow each other; or what tells of dropped ones, which may
// have other events in between.
struct HeldRun {
  EventId event;             // the first
  std::uint64_t memory = 0;  // the owner's name for the first fragment
  std::uint64_t events = 0;  // from the first to the last
  FragmentStatus status = FragmentStatus::good;
  bool dropped = false;
  Missing why = Missing::dropped;

  // Behind the last event.
  [[nodiscard]] EventId below() const noexcept { return {event.run, event.number + events}; }
};

// So many fragments, and what they cost of a window and of a store.
struct FragmentCount {
  std::uint64_t fragments = 0;
  std::uint64_t cost = 0;

  // Of these sizes.
  [[nodiscard]] static FragmentCount of(std::span<const std::uint64_t> sizes) noexcept {
    return {sizes.size(),
            std::accumulate(sizes.begin(), sizes.end(), sizes.size() * fragment_cost)};
  }
  FragmentCount& operator+=(const FragmentCount& more) noexcept {
    fragments += more.fragments;
    cost += more.cost;
    return *this;
  }
};

// `behind(memory, bytes)` is the owner's name for the fragment that was stored behind one of so
// many bytes.
class UnitOutbox {
 public:
  // False without memory; nothing has changed then.
  template <typename Behind>
  [[nodiscard]] bool add(EventId event, std::uint64_t bytes, std::uint64_t memory,
                         FragmentStatus status, Behind&& behind) noexcept {
    if (!make_room(1)) return false;
    if (goes_with_last(event, memory, status)) {
      HeldRun& last = held_[held_.size() - 1];
      if (all_sent()) next_ = {held_.size() - 1, next_.first_size, last.events, memory};
      ++last.events;
    } else {
      held_.push_back({event, memory, 1, status, false});
    }
    sizes_.push_back(bytes);
    behind_last_ = behind(memory, bytes);
    return true;
  }

  // There is room for as many entries as it has fragments.
  void add(const StoredRun& run) noexcept {
    held_.push_back({run.first(), run.memory(), run.sizes().size(), FragmentStatus::good, false});
    sizes_.push_back(run.sizes());
    behind_last_.reset();
  }

  // Notes that the fragment of this event was dropped. `follows` says whether the event is the
  // first of this builder at or behind a position. False without memory; nothing has changed then.
  template <typename Follows>
  [[nodiscard]] bool add_dropped(EventId event, Follows&& follows) noexcept {
    if (!held_.empty()) {
      HeldRun& last = held_[held_.size() - 1];
      // Too many entries: the last one then covers events of which the unit may have had nothing.
      const bool joins = follows(last.below()) || dropped_ >= dropped_max;
      if (last.dropped && last.event.run == event.run && joins) {
        last.events = event.number + 1 - last.event.number;
        if (next_.entry == held_.size()) --next_.entry;
        return true;
      }
    }
    return add_lacking(event, event.next(), Missing::dropped);
  }

  // For as many more entries, of a fragment each. False without memory.
  [[nodiscard]] bool make_room(std::size_t entries) noexcept {
    return held_.make_room(entries) && sizes_.make_room(entries);
  }

  // The unit has no fragments from `from` on, for this reason; both are in one run, or in one
  // assignment. False without memory; nothing has changed then.
  [[nodiscard]] bool add_lacking(EventId from, EventId below, Missing why) noexcept {
    if (!held_.make_room()) return false;
    held_.push_back({from, 0, below.number - from.number, FragmentStatus::good, true, why});
    ++dropped_;
    return true;
  }

  [[nodiscard]] bool empty() const noexcept { return held_.empty(); }
  [[nodiscard]] std::size_t entries() const noexcept { return held_.size(); }
  // The first event that it has something of, if it is not empty.
  [[nodiscard]] EventId oldest() const noexcept { return held_[0].event; }
  // The first event that it has a fragment of, if there is one.
  [[nodiscard]] EventId oldest_fragment() const noexcept {
    std::size_t entry = 0;
    while (held_[entry].dropped) ++entry;
    return held_[entry].event;
  }
  // It looks at each fragment.
  [[nodiscard]] FragmentCount count() const noexcept { return count_from(0, sizes_.size()); }

  [[nodiscard]] bool all_sent() const noexcept { return next_.entry == held_.size(); }
  // The next entry that was not sent, or what is left of it, up to where the ring of sizes begins
  // anew. There is one.
  struct Unsent {
    HeldRun run;
    std::span<const std::uint64_t> sizes;
  };
  [[nodiscard]] Unsent unsent() const noexcept {
    Unsent unsent{held_[next_.entry], {}};
    if (unsent.run.dropped) return unsent;
    unsent.sizes = sizes_.piece_from(next_.first_size);
    const std::uint64_t left = unsent.run.events - next_.inside;
    unsent.sizes = unsent.sizes.first(std::min<std::size_t>(unsent.sizes.size(), left));
    unsent.run.event.number += next_.inside;
    unsent.run.events = unsent.sizes.size();
    if (next_.inside != 0) unsent.run.memory = next_.memory;
    return unsent;
  }
  // The next entry, which tells of dropped fragments, was sent.
  void sent() noexcept { ++next_.entry; }
  // So many of the fragments of unsent() were.
  template <typename Behind>
  void sent(std::size_t fragments, Behind&& behind) noexcept {
    const HeldRun& held = held_[next_.entry];
    const std::size_t first_size = next_.first_size;
    next_.first_size += fragments;
    if (next_.inside + fragments == held.events) {
      ++next_.entry;
      next_.inside = 0;
      return;
    }
    next_.memory =
        name_behind(next_.inside == 0 ? held.memory : next_.memory, first_size, fragments, behind);
    next_.inside += fragments;
  }

  // The next to send is the first that reaches beyond `wanted`.
  template <typename Behind>
  void go_to(EventId wanted, Behind&& behind) noexcept {
    const std::size_t entry =
        held_.first_not([wanted](const HeldRun& held) { return held.below() <= wanted; });
    next_ = {};
    for (; next_.entry < entry; ++next_.entry) {
      if (!held_[next_.entry].dropped) next_.first_size += held_[next_.entry].events;
    }
    if (all_sent() || held_[entry].dropped || held_[entry].event >= wanted) return;
    sent(wanted.number - held_[entry].event.number, behind);
  }

  // Forgets all that lies below, whether it was sent or not. So many fragments of an entry, from
  // its first on, are handed to `forget` first.
  template <typename Behind, typename Forget>
  FragmentCount settle(EventId below, Behind&& behind, Forget&& forget) noexcept {
    FragmentCount settled;
    std::size_t entries = 0;
    for (; entries < held_.size() && held_[entries].below() <= below; ++entries) {
      const HeldRun& held = held_[entries];
      if (held.dropped) {
        --dropped_;
        continue;
      }
      settled += count_from(settled.fragments, held.events);
      forget(held.memory, held.events);
    }
    held_.pop_front(entries);
    if (next_.entry < entries) {
      next_ = {};
    } else {
      next_.entry -= entries;
      next_.first_size -= settled.fragments;
    }
    if (!held_.empty() && !held_[0].dropped && held_[0].event < below) {
      settled += settle_part(below, settled.fragments, behind, forget);
    }
    sizes_.pop_front(settled.fragments);
    return settled;
  }

  static constexpr std::size_t dropped_max = 1024;

 private:
  // It was stored right behind the last fragment. Entries have a bound, as they may be walked
  // along.
  [[nodiscard]] bool goes_with_last(EventId event, std::uint64_t memory,
                                    FragmentStatus status) const noexcept {
    if (held_.empty() || behind_last_ != memory || status != FragmentStatus::good) return false;
    const HeldRun& last = held_[held_.size() - 1];
    return !last.dropped && last.status == FragmentStatus::good && last.below() == event &&
           last.events < StoredRun::fragments_max;
  }

  // The next to send.
  struct Position {
    std::size_t entry = 0;       // of held_
    std::size_t first_size = 0;  // in sizes_
    std::size_t inside = 0;      // fragments of the entry
    std::uint64_t memory = 0;    // the name of the next one, if it is inside
  };

  [[nodiscard]] FragmentCount count_from(std::size_t first_size,
                                         std::size_t fragments) const noexcept {
    FragmentCount count;
    while (fragments != 0) {
      const std::span<const std::uint64_t> piece = sizes_.piece_from(first_size);
      const std::size_t some = std::min(piece.size(), fragments);
      count += FragmentCount::of(piece.first(some));
      first_size += some;
      fragments -= some;
    }
    return count;
  }

  template <typename Behind>
  [[nodiscard]] std::uint64_t name_behind(std::uint64_t memory, std::size_t first_size,
                                          std::size_t fragments, Behind&& behind) const noexcept {
    for (std::size_t each = first_size; each < first_size + fragments; ++each) {
      memory = behind(memory, sizes_[each]);
    }
    return memory;
  }

  // `below` lies within the first entry, whose sizes begin at `first_size`.
  template <typename Behind, typename Forget>
  FragmentCount settle_part(EventId below, std::size_t first_size, Behind&& behind,
                            Forget&& forget) noexcept {
    HeldRun& held = held_[0];
    const std::size_t fragments = below.number - held.event.number;
    const std::uint64_t memory = name_behind(held.memory, first_size, fragments, behind);
    forget(held.memory, fragments);
    held.event = below;
    held.events -= fragments;
    held.memory = memory;
    if (next_.entry != 0) {
      next_.first_size -= fragments;
    } else if (next_.inside > fragments) {
      next_.inside -= fragments;
      next_.first_size -= fragments;
    } else {
      next_ = {};
    }
    return count_from(first_size, fragments);
  }

  GrowingRing<HeldRun> held_;
  GrowingRing<std::uint64_t> sizes_;  // of the fragments of each entry
  Position next_;
  std::optional<std::uint64_t> behind_last_;  // the name of a fragment behind the last, if known
  std::size_t dropped_ = 0;                   // entries of held_ that tell of dropped fragments
};

}  // namespace netio::detail
