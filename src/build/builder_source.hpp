// What a builder knows of one source: how far its fragments have come, how much of its window they
// hold, and the connection to its unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "build/build_messages.hpp"
#include "build/event_id.hpp"
#include "build/lost_events.hpp"
#include "build/open_events.hpp"

namespace netio::detail {

// Of fragments: received = built + incomplete + late + those of open events.
struct SourceBooks {
  std::uint64_t received = 0;
  std::uint64_t built = 0;       // handed over in complete events
  std::uint64_t incomplete = 0;  // handed over in others
  std::uint64_t late = 0;        // came when their event was handed over or settled
};

enum class Turn : std::uint8_t {
  none,
  wanted,
  has,
  overdue,  // the unit has it for longer than a deadline: it counts no more
};

// The connection to a unit, since its hello.
struct UnitConnection {
  std::uint64_t fragments = 0;  // that came
  std::uint64_t used = 0;       // their cost
  std::uint64_t window = 0;     // what our hello said
  std::uint64_t owed = 0;       // the cost beyond a window that was held then
  std::uint64_t returned = 0;   // since then
  std::uint64_t returned_said = 0;
  EventId settled_said;
  bool is_short = false;                 // the unit's store is full
  bool is_busy = false;                  // as it has said: it waits for builders
  bool ask_due = false;                  // whether it still is
  std::optional<std::int64_t> asked_ns;  // since when it is asked that, and has not answered
  EventId granted;                       // the position behind the granted event, so that none is 0
  // When the unit last became able to send: by its connection, a window, a turn, or its store.
  std::int64_t able_ns = 0;
  std::int64_t turn_ns = 0;  // when the turn was given
  Turn turn = Turn::none;
  bool hello_said = false;
  bool grant_due = false;
  bool turn_due = false;

  // The hello counts what is held when it is said.
  void give_back(std::uint64_t cost) noexcept {
    if (!hello_said) return;
    const std::uint64_t of_owed = owed == 0 ? 0 : std::min(owed, cost);
    owed -= of_owed;
    returned += cost - of_owed;
  }
};

struct BuilderSource {
  std::uint64_t unit_run = 0;       // 0: it was never connected
  EventId known_from = end_of_all;  // where the first unit that this run of the builder saw begins
  EventId position;                 // everything below it is here, was here, or will never come
  LostEvents lost;
  std::uint64_t held_cost = 0;        // of its fragments in open events
  OpenEvents::Place place = nullptr;  // of its events: see OpenEvents
  std::optional<UnitWaits> waits;     // with a fragment that does not fit its window
  SourceBooks books;

  bool connected = false;
  bool suspect = false;            // an event was over because of it, and it has said nothing since
  bool to_meet = true;             // if it is not connected: because this builder was away
  std::int64_t gone_since_ns = 0;  // if it is not connected, less what does not count
  UnitConnection connection;

  // A fragment is not held any more.
  void release(std::uint64_t cost) noexcept {
    held_cost -= cost;
    connection.give_back(cost);
  }
  // Of its window.
  [[nodiscard]] std::uint64_t room() const noexcept {
    const std::uint64_t window = connection.window + connection.returned;
    return window - std::min(window, connection.used);
  }
  [[nodiscard]] bool takes(EventId event, std::uint64_t cost) const noexcept {
    return connection.granted == event.next() || cost <= room();
  }
};

}  // namespace netio::detail
