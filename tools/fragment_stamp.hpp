// What generated fragments carry: which fragment they are, and a checksum of that and of all that
// follows. Little-endian words: source (4 bytes), run (4), number of the event (8), and behind
// these a stamp as stamp.hpp has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <netio/event_building.hpp>

#include "stamp.hpp"

namespace netio::cli {

// source, run, number; and the stamp
inline constexpr std::size_t fragment_stamp_bytes = 4 + 4 + 8 + stamp_bytes;

struct FragmentName {
  std::uint32_t source = 0;
  EventId event;

  friend bool operator==(const FragmentName&, const FragmentName&) noexcept = default;
};

// "source 2, event 17 of run 1"
[[nodiscard]] std::string to_text(const FragmentName& name);

// Writes all of the fragment, which has at least fragment_stamp_bytes.
void stamp_fragment(std::span<std::byte> fragment, const FragmentName& name) noexcept;

// True if the fragment is as some stamp_fragment() left it; `name` is then what it says.
[[nodiscard]] bool read_fragment(std::span<const std::byte> fragment, FragmentName& name) noexcept;

}  // namespace netio::cli
