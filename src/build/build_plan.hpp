// Which builder builds an event in a system without a manager: a range of events goes to the
// builder whose number is the number of the range modulo the number of builders. With a manager,
// the same questions are asked about positions in assignments. A unit and a builder compare their
// plans before they exchange anything else.
#pragma once

#include <cstdint>
#include <string>

#include "build/event_id.hpp"

namespace netio::detail {

struct BuildPlan {
  static constexpr std::uint64_t units_max = 65'536;  // sources, and builders
  static constexpr std::uint64_t range_events_max = std::uint64_t{1} << 48U;

  std::uint32_t sources = 0;   // they are numbered from 0
  std::uint32_t builders = 0;  // they are numbered from 0
  std::uint64_t range_events = 0;
  bool managed = false;  // a manager gives ranges to builders: see manager_messages.hpp

  // Why no event can be built by this plan, in words for the user; empty if one can. The other
  // functions are for plans without a fault.
  [[nodiscard]] std::string fault() const;

  // The number of the range within the run of `at`.
  [[nodiscard]] std::uint64_t range_of(EventId at) const noexcept {
    return at.number / range_events;
  }
  [[nodiscard]] std::uint32_t builder_of(EventId event) const noexcept {
    return static_cast<std::uint32_t>(range_of(event) % builders);
  }
  // Whether this builder may be sent the fragment of this event, or of this position.
  [[nodiscard]] bool may_have(std::uint32_t builder, EventId event) const noexcept {
    return managed || builder_of(event) == builder;
  }
  [[nodiscard]] EventId begin_of_range(EventId at) const noexcept {
    if (managed) return {at.run, 0};
    return {at.run, range_of(at) * range_events};
  }
  // The last range of a run ends with the run.
  [[nodiscard]] EventId end_of_range(EventId at) const noexcept {
    const std::uint64_t begin = range_of(at) * range_events;
    const bool last = begin > UINT64_MAX - range_events;
    return {at.run, last ? UINT64_MAX : begin + range_events};
  }
  // The first event of this builder at or behind `position`, or the end of the run if there is
  // none.
  [[nodiscard]] EventId first_of(std::uint32_t builder, EventId position) const noexcept;
  // The end of the last range of this builder that ends at or below `position`, or the beginning
  // of the run.
  [[nodiscard]] EventId last_end_of(std::uint32_t builder, EventId position) const noexcept;

  // What differs, in words that are true on both sides: `us`, such as "unit", has this plan, and
  // `them` the other one. Empty if the plans are the same.
  [[nodiscard]] std::string difference(const char* us, const char* them,
                                       const BuildPlan& theirs) const;

  friend bool operator==(const BuildPlan&, const BuildPlan&) noexcept = default;
};

}  // namespace netio::detail
