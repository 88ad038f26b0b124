// What units really sent, and what builders handed over: the judge of a schedule of event building.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "build/builder_protocol.hpp"
#include "build/event_spans.hpp"
#include "building/play.hpp"

namespace netio::test {

enum class TrueKind : std::uint8_t {
  unknown,  // no unit of the source was there
  nothing,  // the unit had nothing
  sent,
  dropped,  // the unit's store was full
};

struct TrueFragment {
  TrueKind kind = TrueKind::unknown;
  bool gone = false;  // with its unit
  std::uint64_t memory = 0;
  std::uint64_t bytes = 0;
  std::uint64_t incarnation = 0;  // of the unit
  std::int64_t at = 0;
  bool greeted = false;  // by its builder, when the unit took it without delay
  bool late = false;     // it came when the event had been assigned without this unit
  // So many runs of its builder used it, in the event when it was complete, and when it was not:
  std::uint32_t built = 0;
  std::uint32_t incomplete = 0;
  std::uint64_t used_by = 0;  // the last of these runs
};

class Truth {
 public:
  explicit Truth(Play& play) : play_(play), settled_(play.drawn.plan.builders) {}

  [[nodiscard]] TrueFragment& of(detail::EventId id, std::uint32_t source) {
    return event(id).fragments[source];
  }
  void judge(SimulatedBuilder& builder, const detail::BuiltEvent& built, detail::EventId position);
  void judge_end();
  // What the unit says became of its fragments.
  void judge_books(const SimulatedUnit& unit);
  // A process was killed or stopped, or a connection was cut: at which time.
  void note_fault(std::int64_t until);
  void note_killed(std::uint32_t builder, detail::EventId settled) {
    settled_[builder] = std::max(settled_[builder], settled);
  }
  // The builder has passed the events from `from` to `below`, whether it handed them over or not.
  void note_passed(const SimulatedBuilder& builder, detail::EventId from, detail::EventId below);
  // The manager waits no more for this unit.
  void judge_behind(std::uint32_t source);
  // The manager assigns these events, or passes them over.
  void note_not_waited_for(const detail::EventSpan& span);
  // By an earlier run of this builder.
  [[nodiscard]] bool was_settled(std::uint32_t builder, detail::EventId id) const {
    return id < settled_[builder];
  }

 private:
  struct Event {
    std::vector<TrueFragment> fragments;
    std::vector<std::uint64_t> handed_over_by;  // runs of its builder
    bool unmarked = false;                      // it was handed over without the mark `again`
    // A bit for each source for which the builder needed to wait no more when it passed the event:
    std::uint32_t excused = 0;
    std::uint32_t passed = 0;  // a bit for each source without whose fragment some run passed it
  };
  struct Fault {
    std::int64_t at = 0;
    std::int64_t until = 0;
  };

  [[nodiscard]] Event& event(detail::EventId id);
  void judge_fragment(const SimulatedBuilder& builder, const detail::BuiltEvent& built,
                      detail::EventId position, std::uint32_t source);
  void judge_missing(const SimulatedBuilder& builder, const detail::BuiltEvent& built,
                     detail::EventId position, std::uint32_t source);
  void judge_late(const SimulatedBuilder& builder, const detail::BuiltEvent& built,
                  detail::EventId position, std::uint32_t source);
  void judge_repeat(const SimulatedBuilder& builder, const detail::BuiltEvent& built, Event& real);
  void judge_age(const SimulatedBuilder& builder, const detail::BuiltEvent& built,
                 detail::EventId position);
  [[nodiscard]] static bool was_passed(const Event& event);
  [[nodiscard]] bool is_excused(detail::EventId id, std::uint32_t source) {
    return (event(id).excused >> source & 1U) != 0;
  }
  void excuse(const SimulatedBuilder& builder, detail::EventId id, detail::EventId position);
  [[nodiscard]] bool may_be_passed(const SimulatedBuilder& builder, detail::EventId position,
                                   std::uint32_t source) const;
  void judge_never_built(detail::EventId id, const Event& event);
  void judge_waiting(const SimulatedBuilder& builder, const detail::BuiltEvent& built);
  [[nodiscard]] bool unit_is_well(const SimulatedBuilder& builder, std::uint32_t source,
                                  std::int64_t since) const;
  [[nodiscard]] std::string name(const detail::BuiltEvent& built, std::uint32_t source) const;

  Play& play_;
  std::map<detail::EventId, Event> events_;
  std::vector<detail::EventId> settled_;
  std::vector<Fault> faults_;
};

}  // namespace netio::test
