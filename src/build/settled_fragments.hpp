// What a builder has used of each unit's fragments, up to what is settled: units are told this with
// what is settled, so that their books say what became of each fragment. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/growing_ring.hpp"
#include "build/build_messages.hpp"
#include "build/builder_source.hpp"
#include "build/event_id.hpp"
#include "build/open_events.hpp"

namespace netio::detail {

class SettledFragments {
 public:
  // `behind`: events are handed over before they are settled, and are counted one by one.
  SettledFragments(std::uint32_t sources, bool behind) : behind_(behind), units_(sources) {}

  // For one more handed_over(). False without memory.
  [[nodiscard]] bool make_room() noexcept {
    return !behind_ || (ids_.make_room() && here_.make_room(words_each()));
  }
  // Nearly always the books of sources have all that is needed.
  [[nodiscard]] bool counts_each() const noexcept { return behind_ || earlier_ != 0; }
  // If counts_each(): the event was handed over, and is in the books of its sources. There is room.
  void handed_over(const OpenEvent& event, bool complete) noexcept;
  // If counts_each(): the event was dropped.
  void dropped(const OpenEvent& event) noexcept;
  // All that was handed over below this is settled.
  void settle(EventId below, const std::vector<BuilderSource>& sources) noexcept;
  // What lies below was settled by an earlier run of the builder.
  void settled_before(EventId below) noexcept { since_ = std::max(since_, below); }
  // From now on fragments of this source are those of another run of its unit. `open` of those that
  // came before are in open events.
  void begin(std::uint32_t source, const SourceBooks& books, std::uint64_t open) noexcept;

  [[nodiscard]] UsedFragments used(std::uint32_t source) const noexcept {
    const Unit& unit = units_[source];
    return {unit.built, unit.incomplete, since_};
  }

 private:
  struct Unit {
    // Of this run of the unit, in events that are settled:
    std::uint64_t built = 0;
    std::uint64_t incomplete = 0;
    // In the books of the source, of earlier runs of the unit:
    std::uint64_t built_before = 0;
    std::uint64_t incomplete_before = 0;
    std::uint64_t earlier = 0;  // fragments of earlier runs in open events, which come first
  };
  // A bit for each source that counts, behind one that says that the event is complete.
  [[nodiscard]] std::size_t words_each() const noexcept { return units_.size() / 64 + 1; }
  void note(const OpenEvent& event, bool complete) noexcept;

  bool behind_;
  EventId since_;
  std::vector<Unit> units_;    // by source
  std::uint64_t earlier_ = 0;  // the sum of theirs
  // If `behind_`, of events that were handed over and are not settled:
  GrowingRing<EventId> ids_;
  GrowingRing<std::uint64_t> here_;  // words_each() of each
};

}  // namespace netio::detail
