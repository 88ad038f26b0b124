// The way of one message as parts of time, one behind the other, made of the points that both ends
// reached (base/point.hpp). Both ends read one clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/point.hpp"

namespace netio::bench {

using detail::Point;
using detail::points_count;

// In their order on the way. Sender: up to the doorbell. Receiver: from the wire on.
enum class Part : std::uint8_t {
  encode,       // the user's call, until the page is handed to the link, or the message is gathered
  gather,       // the message waits in the open page
  post,         // the link takes the page, until it gives it to the wire
  write,        // the wire takes it: a system call, a slot, the device
  doorbell,     // until a receiver that sleeps has been rung
  wire,         // until a receiver that does not sleep notices
  wake_up,      // until a receiver that sleeps has woken up
  descriptors,  // the receiver asks the epoll
  poll,         // the loop of the receiver, until the wire is read
  read,         // a system call, or what lies in memory is fetched
  decode,       // until the call-back of the user
  call_back,    // in it, until it sends the answer or is done
  elsewhere,    // the rest
};
inline constexpr std::size_t parts_count = static_cast<std::size_t>(Part::elsewhere) + 1;
inline constexpr std::array<std::string_view, parts_count> part_names = {
    "encode",      "gather", "post", "write",  "doorbell",  "wire",     "wake-up",
    "descriptors", "poll",   "read", "decode", "call-back", "elsewhere"};
[[nodiscard]] constexpr bool is_of_sender(Part part) noexcept { return part <= Part::doorbell; }
[[nodiscard]] std::optional<Part> find_part(std::string_view name) noexcept;

// When one end reached each point of one message, in ns; 0: not at all.
using PointTimes = std::array<std::int64_t, points_count>;
// How long each part took, in ns.
using PartTimes = std::array<std::int64_t, parts_count>;

struct Trip {
  PartTimes there{};
  PartTimes back{};            // of a message that is answered
  std::int64_t stamps_ns = 0;  // what was taken off: the time that it took to take the time
};
// A message and its answer: of the end that asks and of the one that answers. Each part is shorter
// by `stamp_ns`, what taking the time once costs. None if a point that each message passes is not
// there.
[[nodiscard]] std::optional<Trip> round_trip(const PointTimes& asks, const PointTimes& answers,
                                             std::int64_t stamp_ns) noexcept;
// A message that is not answered.
[[nodiscard]] std::optional<Trip> one_way(const PointTimes& sends, const PointTimes& takes,
                                          std::int64_t stamp_ns) noexcept;

}  // namespace netio::bench
