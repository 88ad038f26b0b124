// The number of an event within a run. Runs follow each other, so an id is also a position: the
// position of all events below it.
#pragma once

#include <compare>
#include <cstdint>

namespace netio::detail {

struct EventId {
  std::uint32_t run = 0;
  std::uint64_t number = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in it
  friend constexpr auto operator<=>(const EventId&, const EventId&) noexcept = default;
  // The position behind this event. The last number of a run is never an event, so it cannot wrap.
  [[nodiscard]] constexpr EventId next() const noexcept { return {run, number + 1}; }
};

inline constexpr std::uint64_t event_number_max = UINT64_MAX - 1;
// The end of a run, which lies in front of the next run.
[[nodiscard]] constexpr EventId end_of_run(std::uint32_t run) noexcept { return {run, UINT64_MAX}; }
// Above every event.
inline constexpr EventId end_of_all{UINT32_MAX, UINT64_MAX};

}  // namespace netio::detail
