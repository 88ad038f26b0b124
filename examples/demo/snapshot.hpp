// How the demo stands at one moment: what the table shows and the summary is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "report.hpp"

namespace demo {

inline constexpr std::size_t builder_count = 2;
inline constexpr std::size_t trigger_index = builder_count;
inline constexpr std::size_t child_count = builder_count + 1;

struct Snapshot {
  double seconds = 0;  // since the card started
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  double ring_fill = 0;
  double send_fill = 0;
  bool busy = false;
  std::uint64_t times_busy = 0;
  std::array<Report, child_count> children;
};

}  // namespace demo
