// What all parts of one schedule of event building share.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "building/drawn.hpp"
#include "building/network.hpp"
#include "building/tally.hpp"

namespace netio::test {

class SimulatedUnit;
class SimulatedBuilder;
class SimulatedManager;
class ManagerWires;
class Truth;
class Wires;

inline std::string text(std::uint64_t number) { return std::to_string(number); }
inline std::string text(detail::EventId id) { return text(id.run) + "/" + text(id.number); }

struct Play {
  Play(std::uint64_t seed, const BuildSettings& with, BuildTally& counts);
  ~Play();

  void wrong(const std::string& what) {
    if (!failure.empty()) return;
    failure = what + " (at " + std::to_string(clock.now() / us) + " us)";
    say("WRONG: " + failure);
  }
  void say(const std::string& line) {
    ++lines;
    if (settings.trace) std::printf("%10" PRId64 " us  %s\n", clock.now() / us, line.c_str());
  }
  [[nodiscard]] std::uint32_t any(std::size_t count) {
    return static_cast<std::uint32_t>(chance.between(0, static_cast<std::int64_t>(count) - 1));
  }

  const BuildSettings settings;
  BuildTally& tally;
  Chance chance;
  Drawn drawn;
  SimulatedClock clock;
  std::unique_ptr<Truth> truth;
  std::unique_ptr<Wires> wires;
  std::vector<std::unique_ptr<SimulatedUnit>> units;
  std::vector<std::unique_ptr<SimulatedBuilder>> builders;
  // Null without a manager.
  std::unique_ptr<SimulatedManager> manager;
  std::unique_ptr<ManagerWires> manager_wires;
  detail::EventId next_event;  // of the detector
  std::uint64_t lines = 0;
  std::string failure;
};

}  // namespace netio::test
