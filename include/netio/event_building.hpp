// Event building: what read-out units and builder units have in common. Every read-out unit has a
// fragment of each event, and one builder unit needs all fragments of it. docs/event-building.md
// says who says what to whom, and what is promised when one of them dies.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <netio/export.hpp>

namespace netio {

// The number of an event within a run. Runs follow each other, so an id is also a position: the
// position of all events below it.
struct EventId {
  std::uint64_t run = 0;     // runs follow each other in the order of their numbers
  std::uint64_t number = 0;  // within the run

  // The order of runs, and within a run of numbers.
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in it
  friend constexpr auto operator<=>(const EventId&, const EventId&) noexcept = default;
  // The position behind this event. The last number of a run is never an event, so it cannot wrap.
  [[nodiscard]] constexpr EventId next() const noexcept { return {run, number + 1}; }
};

// The largest number of an event within a run.
inline constexpr std::uint64_t event_number_max = UINT64_MAX - 1;
// The end of a run, which lies in front of the next run.
[[nodiscard]] constexpr EventId end_of_run(std::uint64_t run) noexcept { return {run, UINT64_MAX}; }

// How a fragment came from the detector.
enum class FragmentStatus : std::uint8_t { good, truncated, in_error };
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(FragmentStatus status) noexcept;

// Why an event has no fragment of a source.
enum class Missing : std::uint8_t {
  no,             // it has one, or the unit said that there is none
  late,           // the unit is connected, and did not send it in time
  not_connected,  // the unit was not connected in time
  not_begun,      // the unit began, or began anew, behind this event
  dropped,        // the unit's store was full
  forgotten,      // an earlier manager told the unit that the event is settled
  count_          // the number of reasons
};
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(Missing missing) noexcept;

// What a read-out unit does with a fragment when its store is full.
enum class WhenFull : std::uint8_t {
  again,  // send() answers `again`: the detector has to wait
  drop,   // the fragment is dropped, counted, and the builder is told
};

// Which builder builds an event: a range of events goes to the builder whose number is the number
// of the range modulo the number of builders, or to whom an event manager gives it. Units, builders
// and managers compare this when they meet, and refuse each other if it is not the same.
struct BuildPlan {
  std::uint32_t sources = 0;         // the read-out units, which are numbered from 0
  std::uint32_t builders = 1;        // they are numbered from 0
  std::uint64_t range_events = 256;  // event numbers in a range
  bool managed = false;              // an event manager gives ranges to builders
};

}  // namespace netio
