// How much all schedules of event building did.
#pragma once

#include <cstdint>
#include <string>

namespace netio::test {

struct BuildTally {
  std::uint64_t schedules = 0;
  std::uint64_t fragments = 0;
  std::uint64_t complete = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t again = 0;
  std::uint64_t unmarked = 0;  // handed over again, and nobody was there to say so
  std::uint64_t late = 0;      // fragments
  // Events of which a fragment was left, and that no builder handed over:
  std::uint64_t never_built = 0;
  std::uint64_t lost_with_unit = 0;
  std::uint64_t dropped = 0;
  std::uint64_t missing_late = 0;
  std::uint64_t missing_not_connected = 0;
  std::uint64_t missing_not_begun = 0;
  std::uint64_t missing_dropped = 0;
  std::uint64_t missing_forgotten = 0;
  std::uint64_t cuts = 0;
  std::uint64_t partitions = 0;
  std::uint64_t units_killed = 0;
  std::uint64_t units_stopped = 0;
  std::uint64_t builders_killed = 0;
  std::uint64_t builders_stopped = 0;
  std::uint64_t with_manager = 0;  // schedules
  std::uint64_t managers_killed = 0;
  std::uint64_t managers_stopped = 0;
  std::uint64_t assigned = 0;
  std::uint64_t assigned_again = 0;
  std::uint64_t revoked = 0;
  std::uint64_t not_taken = 0;  // hellos of a source whose former connection was still known
  std::uint64_t busy = 0;       // sends that a unit's store did not take
  std::uint64_t waits = 0;
  std::uint64_t granted = 0;
  std::uint64_t wanted = 0;  // units were told to leave late fragments out
  std::uint64_t turns = 0;
  std::uint64_t kept = 0;

  [[nodiscard]] std::string text() const;
};

}  // namespace netio::test
