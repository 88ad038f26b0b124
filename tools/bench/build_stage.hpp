// Read-out ends and build ends, each a process, and what they did while they were looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/arguments.hpp"
#include "bench/measure.hpp"
#include "bench/stage.hpp"

namespace netio::cli {

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
};

class BuildEnds {
 public:
  // All are there, and nothing is sent. Throws EndFailure, Interrupted.
  BuildEnds(Stage& stage, const BenchBuildArguments& build, const Case& what, bool plain);

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
                                           std::uint16_t& port, const std::string& ports);
  void snap(nlohmann::json Ending::*which);
  void stop();
  void check_books() const;
  [[nodiscard]] BuildSample sample() const;
  void add_times(BuildSample& sample) const;

  Stage& stage_;
  BenchBuildArguments build_;
  Case what_;
  bool plain_;
  std::vector<Ending> builders_;
  std::vector<Ending> readouts_;
};

}  // namespace netio::cli
