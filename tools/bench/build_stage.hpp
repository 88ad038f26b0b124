// Read-out ends and build ends, each a process, and what they did while they were looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/arguments.hpp"
#include "bench/bridge_network.hpp"
#include "bench/measure.hpp"
#include "bench/stage.hpp"

namespace netio::cli {

// What takes its turn.
enum class BuildSystem : std::uint8_t { plain, building, managed };

// One turn. A message is a fragment; plain streams have as many for each event.
struct BuildSample {
  double messages_per_s = 0;
  double bytes_per_s = 0;
  double events_per_s = 0;
  double readout_cpu_ns = 0;  // of all read-out ends together, for each message that arrived
  double builder_cpu_ns = 0;  // of all build ends together
  // From the send of the first fragment of an event to its hand-over; of plain streams, from the
  // send of a message to its call-back. 0 if none was timed.
  double p50_us = 0;
  double p99_us = 0;
  double share_least = 0;         // of the messages, of the build end that got the fewest
  double share_most = 0;          // and the most
  double open_bytes_max = 0;      // of open events of one builder, since it began
  double resident_bytes_max = 0;  // of one build end, since it began
  double bytes_copied = 0;        // after they were received, for each message that arrived
  // Of the event manager, if there is one: ranges that were settled, and the CPU of its loop for
  // each of them, and for each event that was built. A part of a range that was given away alone
  // counts as a range.
  double manager_ranges = 0;
  double manager_range_cpu_ns = 0;
  double manager_event_cpu_ns = 0;
};

class BuildEnds {
 public:
  // All are there, and nothing is sent. Throws EndFailure, Interrupted.
  BuildEnds(Stage& stage, const BenchBuildArguments& build, const Case& what, BuildSystem system);

  // Lets the ends run, stops them, and checks their books. Throws EndFailure if an event or a
  // message was lost, incomplete or wrong; Interrupted.
  [[nodiscard]] BuildSample measure();

 private:
  struct Ending {
    std::unique_ptr<End> end;
    nlohmann::json from;
    nlohmann::json to;
    nlohmann::json last;
  };
  [[nodiscard]] std::unique_ptr<End> start(const char* role, std::uint32_t number,
                                           std::uint16_t& port);
  [[nodiscard]] std::vector<std::string> words_for(const char* role, std::uint32_t number) const;
  void await_term();
  void snap(nlohmann::json Ending::*which);
  void stop();
  void check_books() const;
  [[nodiscard]] BuildSample sample() const;
  void check_ranges() const;
  void add_manager(BuildSample& sample, double events) const;
  void add_times(BuildSample& sample) const;

  Stage& stage_;
  BenchBuildArguments build_;
  Case what_;
  BuildSystem system_;
  Ending manager_;  // without an end if there is none
  std::uint16_t manager_port_ = 0;
  std::vector<std::uint16_t> ports_;  // of the builders
  std::vector<Ending> builders_;
  std::vector<Ending> readouts_;
};

}  // namespace netio::cli
