// Schedules, one after the other, in the same contexts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/machine.hpp"
#include "simulation/settings.hpp"
#include "simulation/tally.hpp"

namespace netio::test {

class Simulation {
 public:
  explicit Simulation(const Settings& settings);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // The schedule of this seed: what is wrong, in a sentence; empty if nothing is.
  std::string run(std::uint64_t seed);

  [[nodiscard]] const Tally& tally() const noexcept { return tally_; }
  // Of the last schedule: the same each time it is run.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }
  [[nodiscard]] Settings& settings() noexcept { return settings_; }

 private:
  void make_machines();

  Settings settings_;
  Tally tally_;
  std::uint64_t digest_ = 0;
  std::vector<std::unique_ptr<Machine>> machines_;
};

}  // namespace netio::test
