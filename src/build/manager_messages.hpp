// The messages to and from the event manager. The manager gives each range of events to a builder:
// this is an assignment. Each connection begins with a hello and a welcome, which tell the whole
// state. Later messages change it. A connection keeps the order. What was on it when it broke is
// lost.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <variant>
#include <vector>

#include "build/build_plan.hpp"
#include "build/event_id.hpp"
#include "build/event_spans.hpp"

namespace netio::detail {

// A term begins with each manager, and is higher than all terms before. The assignments of a
// builder in a term are numbered without gaps. The number of an assignment holds both, so a number
// of a later term is higher than all numbers of earlier ones.
[[nodiscard]] constexpr std::uint64_t first_assignment(std::uint64_t term) noexcept {
  return term << 32U;
}
[[nodiscard]] constexpr std::uint64_t term_of(std::uint64_t assignment) noexcept {
  return assignment >> 32U;
}
inline constexpr std::uint64_t term_max = UINT32_MAX;
// The least term of a manager that begins at this time of day: higher than the terms before, also
// if no unit and no builder is left that knows them. A clock that is far ahead leaves terms for the
// managers after it; so the time fits until the year 2106.
[[nodiscard]] constexpr std::uint64_t least_term_at(std::chrono::seconds since_1970) noexcept {
  constexpr std::int64_t managers_after = 1 << 20;
  const auto most = static_cast<std::int64_t>(term_max) - managers_after;
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(since_1970.count(), 1, most));
}
inline constexpr std::uint32_t no_builder = UINT32_MAX;

// A unit and a builder talk about the event `number` of an assignment as the position {number of
// the assignment, number of the event}. The position {number + 1, 0} is the end of the assignment.
struct Assignment {
  std::uint64_t number = 0;
  std::uint32_t builder = no_builder;  // no_builder: it was taken from one, and waits for another
  EventSpan span;                      // within one run
  bool again = false;                  // events of it may have been handed over before

  [[nodiscard]] EventId begin() const noexcept { return {number, 0}; }
  [[nodiscard]] EventId end() const noexcept { return {number + 1, 0}; }
};

// --- From unit to manager.

// The first message on each connection.
struct UnitJoins {
  BuildPlan plan;
  std::uint32_t source = 0;
  std::uint64_t unit_run = 0;  // drawn when the unit starts; never 0
  std::uint64_t term = 0;      // of the last manager that it has heard; 0: of none
  std::uint64_t manager_run = 0;
  // The unit has nothing below this. end_of_all: it has not begun, and is not waited for.
  EventId begins;
  // What managers have told this unit: everything below `assigned` is settled, except what is open.
  EventId assigned;
  std::vector<EventSpan> open;  // in their order; they do not overlap
};

// How far the unit is. It is told behind the hello and the welcome, at the end of each range, when
// the store is full, and when the manager asks.
struct UnitProduced {
  EventId below;           // the unit has produced everything below
  EventId oldest;          // its first fragment that is not assigned; `below` if there is none
  EventId assigned;        // as the unit knows it: see UnitWelcome
  bool busy = false;       // its store is full
  std::uint64_t term = 0;  // of the manager whose assignments it knows
};

using UnitToManager = std::variant<UnitJoins, UnitProduced>;

// --- From manager to unit.

// The answer to the unit's hello. It may be repeated, and the unit forgets what was told before.
struct UnitWelcome {
  std::uint64_t term = 0;
  std::uint64_t manager_run = 0;
  EventId assigned;                 // everything below is settled, except what is open
  std::vector<Assignment> open;     // of each builder in ascending order of their numbers
  std::vector<std::uint64_t> next;  // of each builder: the number of its next assignment
  EventId stop = end_of_all;        // as in UnitStops
  EventId produced{};               // a unit that has not begun may begin here
};

// A range that was not assigned before, or one that was taken from another builder.
struct UnitAssigned {
  Assignment assignment;
};

// This builder has lost all assignments below this number. They wait for other builders.
struct UnitRevoked {
  std::uint32_t builder = 0;
  std::uint64_t below = 0;
};

// The unit forgets the events in here.
struct UnitSettled {
  EventSpan span;
};

// The manager wants to know how far the unit is.
struct UnitAsked {};

// The unit shall end in front of this event.
struct UnitStops {
  EventId at;
};

using ManagerToUnit =
    std::variant<UnitWelcome, UnitAssigned, UnitRevoked, UnitSettled, UnitAsked, UnitStops>;

// --- From builder to manager.

// The first message on each connection.
struct BuilderJoins {
  BuildPlan plan;
  std::uint32_t builder = 0;
  std::uint64_t builder_run = 0;  // drawn when the builder starts; never 0
  std::uint64_t term = 0;         // of the last manager that it has heard; 0: of none
  std::uint64_t manager_run = 0;  // of the last manager
  std::uint32_t weight = 1;       // of its share
  std::uint64_t newest_term = 0;  // of which units have told it
  EventId expected;               // earlier managers have given this builder nothing behind it
};

// The builder asks for its lease, and says what it is done with.
struct BuilderReports {
  std::uint64_t number = 0;  // ascending in a run of the builder
  std::uint64_t done = 0;    // it is done with all assignments below this number
  std::uint32_t credit = 0;  // it takes as many assignments at a time
};

using BuilderToManager = std::variant<BuilderJoins, BuilderReports>;

// --- From manager to builder.

// The answer to the builder's hello. It may be repeated.
struct BuilderWelcome {
  std::uint64_t term = 0;
  std::uint64_t manager_run = 0;
  std::int64_t lease_ns = 0;
  std::uint64_t first = 0;       // the builder drops all assignments below this number
  std::vector<Assignment> open;  // the builder's, in ascending order of their numbers
};

struct BuilderExpects {
  Assignment assignment;
};

// The builder drops all assignments below this number.
struct BuilderRevoked {
  std::uint64_t below = 0;
};

// The lease runs from the moment at which the builder sent the report of this number.
struct BuilderLease {
  std::uint64_t number = 0;
};

using ManagerToBuilder = std::variant<BuilderWelcome, BuilderExpects, BuilderRevoked, BuilderLease>;

}  // namespace netio::detail
