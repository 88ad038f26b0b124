// The last words of a run, to standard output.
#pragma once

#include <cstdint>

#include <netio/event_manager.hpp>

#include "ledger.hpp"
#include "snapshot.hpp"

namespace demo {

struct Outcome {
  Snapshot last;
  double seconds = 0;  // from the moment when event 0 was due until everything was settled
  bool interrupted = false;
  bool builder_killed = false;
  bool builder_restarted = false;
  std::uint64_t end = 0;  // the events below it exist
  netio::ManagerBooks manager;
  Ledger::Count built;
  Ledger::Count recorded;
};

// The books of all processes.
void print_summary(const Outcome& outcome);
// Prints the verdict: a line that begins with "Verified" or "NOT VERIFIED". True if all is well.
bool verify(const Outcome& outcome);

}  // namespace demo
