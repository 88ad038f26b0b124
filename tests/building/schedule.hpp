// One schedule of event building: a detector, units and builders over faulty connections, until all
// is settled.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "building/play.hpp"

namespace netio::test {

class BuildSchedule {
 public:
  BuildSchedule(std::uint64_t seed, const BuildSettings& settings, BuildTally& tally);
  ~BuildSchedule();
  // What was wrong; empty: nothing.
  std::string run();
  // The same each time the schedule is run.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  void trigger();
  void trigger_unit(SimulatedUnit& unit, detail::EventId event);
  [[nodiscard]] bool busy() const;
  void fault();
  void fault_of_manager();
  void kill_unit(std::uint32_t source);
  void kill_builder(std::uint32_t builder);
  void come_back(const std::string& who, std::function<void()> begin);
  void stop_process();
  [[nodiscard]] bool was_disturbed(std::uint32_t builder);
  void judge_end();
  [[nodiscard]] bool settled() const;

  Play play_;
  std::int64_t disturbed_until_ = 0;
  std::int64_t vetoed_ = 0;  // since the last event
};

}  // namespace netio::test
