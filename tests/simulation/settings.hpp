// What a simulation is told from outside: which faults it may draw, and which lie it is to tell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace netio::test {

// What a schedule may draw. Each can be left out by name, to find the smallest schedule that fails.
enum class Part : std::uint8_t {
  cuts,           // connections break, at any byte
  late_ends,      // one side learns of an end much later than the other
  silence,        // nothing arrives any more in one direction, and nobody is told
  attempts,       // attempts to connect are refused, fail or hang
  late_hellos,    // hellos take as long as they may, and longer
  storms,         // post() answers `again` though there is room
  completions,    // memory comes back late, or when the peer has read
  parts,          // pages arrive in parts, and are handed up so
  tight,          // small queues, pages and windows
  crowds,         // more than one peer at an end
  twins,          // two connections between the same two sockets
  restarts,       // sockets are destroyed, and made anew
  closes,         // sockets are closed
  in_call_backs,  // call-backs close, destroy, pause and send
  pauses,         // receivers pause, or have no call-back for messages
  keeps,          // receivers keep messages
  large,          // messages larger than a page
  lends,          // messages that are lent, allocated, reserved or passed on
  resumes,        // what is not acknowledged is kept, and sent again
  heartbeats,     // peers are asked to say something now and then
  publishing,     // schedules of Publish and Subscribe
  pairs,          // schedules of Pair
  requests,       // schedules of Request and Reply
  limits,         // requests with a time limit
  repeats,        // requests that are idempotent
  cancels,        // requests are cancelled
  held,           // requests are answered later, or never
  given_up,       // a ReplyTo is destroyed without an answer
  few_at_once,    // few requests may be under way, or open
  count_
};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(Part::count_)> part_names{
    "cuts",        "late_ends",     "silence",    "attempts", "late_hellos", "storms",
    "completions", "parts",         "tight",      "crowds",   "twins",       "restarts",
    "closes",      "in_call_backs", "pauses",     "keeps",    "large",       "lends",
    "resumes",     "heartbeats",    "publishing", "pairs",    "requests",    "limits",
    "repeats",     "cancels",       "held",       "given_up", "few_at_once"};

// A fault of the wire's that no link may have: the oracle has to find it.
enum class Lie : std::uint8_t {
  none,
  page_twice,         // a page arrives twice
  page_twice_hidden,  // the same, and what follows is numbered so that the socket does not see it
  page_missing,
  page_missing_hidden,
  pages_exchanged,
  pages_exchanged_hidden,
  byte_changed,        // in the payload of a message
  bytes_released,      // memory is read after the link has released it
  acknowledged_early,  // a message is acknowledged before it was delivered
  lease_kept,          // a lease is never dropped
  writable_inside,     // on_writable comes from inside a call of the user's
  end_untold,          // an end is never told
  room_untold,         // on_writable never comes
  count_
};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(Lie::count_)> lie_names{
    "none",
    "page_twice",
    "page_twice_hidden",
    "page_missing",
    "page_missing_hidden",
    "pages_exchanged",
    "pages_exchanged_hidden",
    "byte_changed",
    "bytes_released",
    "acknowledged_early",
    "lease_kept",
    "writable_inside",
    "end_untold",
    "room_untold"};

struct Settings {
  bool trace = false;
  std::uint32_t without = 0;  // a bit for each Part
  std::uint32_t steps_max = UINT32_MAX;
  Lie lie = Lie::none;

  [[nodiscard]] bool has(Part part) const noexcept {
    return (without >> static_cast<unsigned>(part) & 1U) == 0;
  }
};

}  // namespace netio::test
