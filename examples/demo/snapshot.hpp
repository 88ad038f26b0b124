// How the demo stands at one moment: what the table shows and the summary is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "report.hpp"
#include "roles.hpp"

namespace demo {

struct Snapshot {
  double seconds = 0;  // since the card started
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  double ring_fill = 0;
  bool busy = false;
  std::uint64_t times_busy = 0;
  std::array<Report, child_count> children;
  bool recorder_stopped = false;
  bool monitor_killed = false;
  bool monitor_restarted = false;

  // The monitor that runs, or ran last.
  [[nodiscard]] const Report& monitor() const noexcept {
    return children[monitor_restarted ? monitor_again_index : monitor_index];
  }
};

}  // namespace demo
