// What happened in all schedules so far, to see that a simulation does what it says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace netio::test {

enum class Happened : std::uint8_t {
  push_pull,
  pair,
  publish,
  turn,
  step,
  time_ms,
  attempt,
  refused,
  failed,
  hung,
  connected,
  turned_away,
  twin,
  cut_hello,
  cut_page,
  cut_between,
  told_late,
  silent,
  healed,
  late_hello,
  again,
  storm,
  late_completion,
  page_in_parts,
  parts_handed_up,
  starved,
  stalled,
  unanswered,
  sent,
  sent_empty,
  sent_large,
  lent,
  passed_on,
  allocated,
  reserved,
  refused_send,
  delivered,
  kept,
  pause,
  gap,
  subscription,
  demoted,
  set_given_up,
  acknowledged,
  resent,
  given_up,
  connection_lost,
  not_sent,
  peer_closed,
  linger_expired,
  dropped_new,
  dropped_old,
  superseded,
  restart,
  in_call_back,
  close,
  up,
  down,
  count_
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Happened::count_)>
    happened_names{"schedules of push and pull",
                   "schedules of pair",
                   "schedules of publish and subscribe",
                   "turns",
                   "steps",
                   "ms of simulated time",
                   "attempts to connect",
                   "refused",
                   "failed",
                   "hung",
                   "connections up",
                   "turned away",
                   "two connections of one peer",
                   "cuts in a hello",
                   "cuts in a page",
                   "cuts between pages",
                   "ends told late",
                   "silent directions",
                   "healed",
                   "late hellos",
                   "posts refused",
                   "storms of again",
                   "late completions",
                   "pages in parts",
                   "parts handed up",
                   "waits for memory",
                   "stalled",
                   "hosts gone silent",
                   "messages sent",
                   "empty",
                   "in parts or large",
                   "lent",
                   "passed on",
                   "allocated",
                   "reserved",
                   "sends refused",
                   "messages delivered",
                   "kept",
                   "pauses",
                   "gaps",
                   "sets of tags",
                   "demoted",
                   "sets given up",
                   "acknowledged",
                   "sent again",
                   "kept and given up",
                   "connection_lost",
                   "not_sent",
                   "peer_closed",
                   "linger_expired",
                   "dropped_new",
                   "dropped_old",
                   "superseded",
                   "restarts",
                   "acts in call-backs",
                   "closes",
                   "on_up",
                   "on_down"};

class Tally {
 public:
  void add(Happened what, std::uint64_t times = 1) noexcept {
    counts_[static_cast<std::size_t>(what)] += times;
  }
  [[nodiscard]] std::uint64_t of(Happened what) const noexcept {
    return counts_[static_cast<std::size_t>(what)];
  }
  // Several lines.
  [[nodiscard]] std::string text() const;

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(Happened::count_)> counts_{};
};

}  // namespace netio::test
