// How the demo stands at one moment: what the live lines show, and what the last words are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ledger.hpp"
#include "report.hpp"
#include "roles.hpp"

namespace demo {

enum class State : std::uint8_t { absent, works, stopped };

struct Snapshot {
  double seconds = 0;  // since event 0 was due
  std::array<Ledger::Line, builder_processes> built{};
  std::uint64_t recorded = 0;
  std::array<Report, child_count> children{};  // the last report of each process
  std::array<State, child_count> states{};
  double manager_cpu_seconds = 0;
};

}  // namespace demo
