// The messages between units and builders. Each tells a state that holds from then on, so after a
// lost connection the states are told again and none is missed. A unit and a builder talk over one
// connection, which keeps the order. What was on a connection when it broke is lost.
#pragma once

#include <cstdint>
#include <variant>

#include "build/build_plan.hpp"
#include "build/event_id.hpp"

namespace netio::detail {

// A fragment costs this much of a window and of a store beside its bytes.
inline constexpr std::uint64_t fragment_cost = 64;
inline constexpr std::uint64_t fragment_bytes_max = UINT64_MAX / 4;
// For at most fragment_bytes_max.
[[nodiscard]] constexpr std::uint64_t window_cost(std::uint64_t bytes) noexcept {
  return bytes + fragment_cost;
}

// --- From unit to builder.

// The first message on each connection.
struct UnitHello {
  BuildPlan plan;
  std::uint32_t source = 0;
  std::uint64_t unit_run = 0;  // drawn when the unit starts; never 0
  EventId begins;              // the unit has nothing below it, and never will
  EventId settled;             // everything of this builder below it is settled
  // What the unit knows of earlier runs of the builder:
  std::uint64_t builder_run = 0;  // of the last one that greeted it; 0 if none did
  std::uint64_t runs_before = 0;  // the number of runs that greeted it before that one
  EventId sent_below;             // the last run was sent fragments below this
  EventId sent_before;            // the runs before it were sent fragments below this
};

// The fragments of a unit for one builder come in ascending order of their events. The unit has
// nothing between two fragments that follow each other. The bytes follow the message.
struct Fragment {
  EventId event;
  std::uint64_t bytes = 0;
  std::uint64_t before = 0;  // fragments on this connection before this one
  FragmentStatus status = FragmentStatus::good;
};

// The unit has no fragments of the events in here, though there may have been some. Without a
// manager it dropped them because its store was full.
struct UnitDropped {
  EventId from;
  EventId below;                   // in the same run
  std::uint64_t before = 0;        // fragments on this connection before this
  Missing why = Missing::dropped;  // dropped, not_begun, late or forgotten
};

// The unit has sent everything of this builder that lies below.
struct UnitMark {
  EventId below;
  std::uint64_t fragments = 0;  // on this connection so far
};

// The next fragment does not fit the window. Its event exists. The unit gives its turn back.
struct UnitWaits {
  EventId event;
  std::uint64_t bytes = 0;
  std::uint64_t before = 0;  // fragments on this connection before this one
};

// The unit has a fragment that fits its window, and needs a turn to send it.
struct UnitWants {};

// The unit has sent all that it has, and gives its turn back.
struct UnitRests {};

// The unit's store is full. The builder tells what is settled as soon as it can.
struct UnitShort {};

// Whether the unit is busy: what its source had next did not fit the store, and has to wait outside
// until there is room. It is not busy before it has said so on a connection. A unit that is busy
// may wait for any builder, so it is late for none. It says so again when it is asked, because one
// that hangs is late.
struct UnitBusy {
  bool busy = false;
};

using UnitMessage = std::variant<UnitHello, UnitDropped, UnitMark, UnitWaits, UnitWants, UnitRests,
                                 UnitShort, UnitBusy>;

// --- From builder to unit.

// What this run of the builder has used of the fragments of this run of the unit, among those whose
// events are settled. A fragment that is settled and not among them was too late for its event, or
// an earlier run of the builder was done with it.
struct UsedFragments {
  std::uint64_t built = 0;       // in complete events
  std::uint64_t incomplete = 0;  // in others
  EventId since;                 // an earlier run has settled what lies below
};

// The answer to the unit's hello.
struct BuilderHello {
  BuildPlan plan;
  std::uint32_t builder = 0;
  std::uint64_t builder_run = 0;  // drawn when the builder starts; never 0
  EventId wanted;                 // the unit sends from here on
  EventId settled;                // the unit forgets everything of this builder below it
  std::uint64_t window = 0;       // the cost of fragments that may be sent
  bool turns = false;             // fragments may be sent only while the unit has a turn
  UsedFragments used{};
};

// What the builder is done with. It is told at the end of each range, when a part of the window has
// gathered, and when the unit waits or is short.
struct BuilderDone {
  EventId settled;             // the unit forgets everything of this builder below it
  std::uint64_t returned = 0;  // of the window, since the hello
  UsedFragments used{};
};

// The fragment of this event may be sent, whatever its size.
struct BuilderGrant {
  EventId event;
};

// The unit need not send what lies below. It is told to a unit that waits with a late fragment.
struct BuilderWanted {
  EventId from;
};

// The unit has a turn until it gives it back.
struct BuilderTurn {};

// An event waits for the unit, which was busy: is it still? It answers.
struct BuilderAsks {};

using BuilderMessage =
    std::variant<BuilderHello, BuilderDone, BuilderGrant, BuilderWanted, BuilderTurn, BuilderAsks>;

}  // namespace netio::detail
