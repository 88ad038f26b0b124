// What `netio build` has to report at its end, in words for a person and as JSON for a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <netio/builder_unit.hpp>
#include <netio/event_manager.hpp>
#include <netio/readout_unit.hpp>

#include "event_check.hpp"
#include "exit_code.hpp"
#include "summary.hpp"

namespace netio::cli {

// The event manager of a unit or a builder.
struct ManagerOfPeer {
  std::string address;
  PeerCounts counts;
  std::uint64_t refused = 0;  // how often it has refused this side
};

struct BuildSummary {
  BuildPlan plan;
  ExitCode code = ExitCode::done;
  std::string error;  // empty: none
  std::uint64_t bytes = 0;
  double seconds = 0;
  PeerCounts peers;           // that were met
  std::uint64_t refused = 0;  // how often a peer was refused, or has refused this one
  std::optional<ManagerOfPeer> manager;
};

struct ReadoutSummary : BuildSummary {
  std::vector<std::string> addresses;
  std::uint32_t source = 0;
  EventId first;
  EventId next;
  std::optional<EventId> stop;  // what the manager said
  ReadoutBooks books;
  std::vector<HeldForBuilder> held_for;
  std::uint64_t busy = 0;  // how often the store was full
  double busy_seconds = 0;
};

struct BuilderSummary : BuildSummary {
  struct Written {
    std::string folder;
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
    std::uint64_t events_there = 0;  // from an earlier run
  };
  std::vector<std::string> addresses;
  std::uint32_t builder = 0;
  std::uint64_t left = 0;  // events that were handed over, and are left to the units all the same
  BuilderBooks books;      // its events are without these
  std::vector<std::uint64_t> without;  // events of which a source had nothing
  std::optional<EventVerification> verification;
  std::optional<Written> written;
};

struct ManagerSummary : BuildSummary {  // `peers` are units
  std::vector<std::string> addresses;
  PeerCounts builders;
  ManagerBooks books;
};

// Lines, the last one ended.
[[nodiscard]] std::string to_text(const ReadoutSummary& summary);
[[nodiscard]] std::string to_text(const BuilderSummary& summary);
[[nodiscard]] std::string to_text(const ManagerSummary& summary);
// An object, indented, its last line ended.
[[nodiscard]] std::string to_json(const ReadoutSummary& summary);
[[nodiscard]] std::string to_json(const BuilderSummary& summary);
[[nodiscard]] std::string to_json(const ManagerSummary& summary);

// ", 97 % of it for builder 1": of what a store holds. Empty if no builder has most of it, or there
// is only one.
[[nodiscard]] std::string mostly_for(const std::vector<HeldForBuilder>& held,
                                     std::uint64_t held_bytes);
// "not connected"
[[nodiscard]] std::string missing_word(Missing missing);

// "unit 2: 12 late, 3 not connected; unit 5: 1 dropped"; empty if no event was incomplete. At most
// so many units are listed.
[[nodiscard]] std::string missing_text(const BuilderBooks& books, std::size_t units_max);

}  // namespace netio::cli
