// The events of one range that a builder hands over together, with the fragments of each source
// next to each other. Its memory is reserved at the beginning. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <netio/builder_unit.hpp>

#include "build/build_plan.hpp"
#include "build/builder_protocol.hpp"
#include "units/fragment_pages.hpp"

namespace netio::detail {

class EventPart {
 public:
  // Throws std::bad_alloc.
  explicit EventPart(const BuildPlan& plan)
      : plan_(plan),
        events_max_(std::clamp<std::size_t>(fragments_max / plan.sources, 1,
                                            std::min(plan.range_events, events_most))),
        fragments_(plan.sources) {
    events_.reserve(events_max_);
    for (auto& of_source : fragments_) of_source.reserve(events_max_);
    memory_.reserve(events_max_ * plan.sources);
  }

  // So many events at the most.
  [[nodiscard]] std::uint32_t events_max() const noexcept {
    return static_cast<std::uint32_t>(events_max_);
  }
  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }
  // An event at this position belongs to it, and there is room.
  [[nodiscard]] bool takes(EventId position) const noexcept {
    return empty() || (position < end_ && events_.size() < events_max_);
  }
  // It takes the event, which was handed over at this position.
  void add(const BuiltEvent& event, EventId position, const FragmentPages& pages) noexcept {
    if (empty()) end_ = plan_.managed ? EventId{position.run + 1, 0} : plan_.end_of_range(position);
    events_.push_back({event.id, event.complete, event.again});
    bytes_ += event.bytes;
    for (std::size_t source = 0; source < fragments_.size(); ++source) {
      const OpenFragment& open = event.fragments[source];
      fragments_[source].push_back(fragment_in(pages, event, source));
      if (open.here) memory_.push_back(open.memory);
    }
  }
  // Gives their memory back, and is empty afterwards.
  void drop(FragmentPages& pages) noexcept {
    for (const FragmentPages::Name name : memory_) pages.drop(name);
    memory_.clear();
    for (auto& of_source : fragments_) of_source.clear();
    events_.clear();
    bytes_ = 0;
  }

  [[nodiscard]] std::span<const EventRange::Entry> events() const noexcept { return events_; }
  [[nodiscard]] std::size_t sources() const noexcept { return fragments_.size(); }
  [[nodiscard]] std::span<const EventFragment> of(std::size_t source) const noexcept {
    return fragments_[source];
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  // The fragment of one source of an event that is being handed over.
  [[nodiscard]] static EventFragment fragment_in(const FragmentPages& pages,
                                                 const BuiltEvent& event,
                                                 std::size_t source) noexcept {
    const OpenFragment& open = event.fragments[source];
    if (!open.here) {
      return {MessageView(nullptr, {}, 0), FragmentStatus::good, event.missing[source], false};
    }
    return {pages.view(open.memory, open.bytes), open.status, Missing::no, true};
  }

 private:
  static constexpr std::uint64_t events_most = 256;
  static constexpr std::size_t fragments_max = 16384;

  BuildPlan plan_;
  std::size_t events_max_;
  EventId end_;  // of its range, as a position
  std::vector<EventRange::Entry> events_;
  std::vector<std::vector<EventFragment>> fragments_;  // by source, one for each of events_
  std::vector<FragmentPages::Name> memory_;            // of those that are here
  std::uint64_t bytes_ = 0;
};

}  // namespace netio::detail
