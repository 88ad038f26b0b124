// One measurement of one system: starts both ends (of every stream), lets them run, reads what they
// counted.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/arguments.hpp"
#include "bench/end.hpp"
#include "bench/meeting.hpp"
#include "bench/system.hpp"
#include "worker/histogram.hpp"

namespace netio::cli {

// What is measured, but for the system.
struct Case {
  What what = What::throughput;
  Meeting meeting;
  std::size_t message_bytes = 64;
  Mode mode = Mode::buffered;
  IdlePolicy wait = IdlePolicy::sleep;
  double rate = 0;
  std::uint32_t window = 0;  // on a fabric; 0: as each system chooses
  double seconds = 2;
  std::uint32_t connections = 1;
  std::uint64_t page_bytes = 0;  // of netio; 0: its default
  bool fills_slots = false;      // a message is as large as a slot
  std::uint32_t streams = 1;     // connections with two processes each, measured together
  bool both_ways = false;        // both ends of each send and receive
  bool pinned = true;            // ends that run on one core have one of their own
  bool touched = false;          // loans: written and read, one way
  bool verify = false;           // every byte
  bool requests = false;         // by Request and Reply
  std::uint32_t concurrent = 0;  // of them, under way at once; 0: one, which is timed
  std::string api;               // a surface of netio's; empty: call-backs
  bool sums = false;             // one way: who receives sums the words of each message

  [[nodiscard]] std::chrono::nanoseconds duration() const noexcept {
    return std::chrono::nanoseconds(std::llround(seconds * 1e9));
  }
  [[nodiscard]] bool round_trips() const noexcept {
    return what == What::latency || (what == What::loan && !touched);
  }
  // Messages go there and back, timed or not.
  [[nodiscard]] bool asks() const noexcept { return round_trips() || requests; }
};

[[nodiscard]] std::string_view name_of(Mode mode);
[[nodiscard]] std::string_view name_of(IdlePolicy wait);

struct EndSample {
  double cpu_ns_per_message = 0;
  double switches_per_s = 0;
};

struct Sample {
  double messages_per_s = 0;
  double bytes_per_s = 0;
  EndSample sender;    // or requester; in one process both ends, which cannot be told apart
  EndSample receiver;  // or replier
  bench::Histogram round_trips;

  [[nodiscard]] double cpu_ns_per_message() const noexcept {
    return sender.cpu_ns_per_message + receiver.cpu_ns_per_message;
  }
  // Cores in use, of one end.
  [[nodiscard]] double cores(const EndSample& end) const noexcept {
    return end.cpu_ns_per_message * messages_per_s / 1e9;
  }
};

// Where the ends run: the one that binds may be on another machine.
struct Places {
  Place& here;
  Place& there;
  int cpu_here = -1;  // of systems that run on one core; -1: any
  int cpu_there = -1;
  int cpu_between = -1;  // of a relay
};

// Throws EndFailure, Interrupted.
[[nodiscard]] Sample measure(const System& system, const Case& what, const Places& places);

// Between the beginning and the first look: caches, congestion windows and pools are warm then.
// What is measured for less than that is not to be trusted, and need not wait for it.
[[nodiscard]] inline std::chrono::nanoseconds warm_up(const Case& what) {
  return std::min(std::chrono::nanoseconds(std::chrono::milliseconds(300)), what.duration());
}

// By how much a figure grew between two looks at a worker.
[[nodiscard]] double difference(const nlohmann::json& from, const nlohmann::json& to,
                                const char* what);
// Lets the duration of a measurement pass. A busy machine may let an end have no turn: then it goes
// on until the end has counted so many messages since the look `from`, but for no more than 10
// seconds.
void let_messages_pass(Loop& loop, const Case& what, End& end, const nlohmann::json& from,
                       double messages = 1);
// Throws EndFailure if a worker says that it found any.
void check_faults(const End& end, const nlohmann::json& said);

// A worker for `role`, ready; `port` is given to who connects and taken from who binds. In one
// process who connects runs the other end too. `name`: of the end, for people; empty: by its role.
[[nodiscard]] std::unique_ptr<End> start_worker(const System& system, const std::string& role,
                                                const Case& what, const Places& places,
                                                std::uint16_t& port,
                                                const std::vector<std::string>& more = {},
                                                const std::string& name = {});
// Tells it to stop, and gives its last words.
nlohmann::json stop_worker(End& end, std::chrono::nanoseconds within = answer_within);

}  // namespace netio::cli
