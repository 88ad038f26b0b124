// A schedule in its arena.
#include "simulation/simulation.hpp"

#include <memory>

#include "simulation/arena.hpp"
#include "simulation/play.hpp"
#include "simulation/world.hpp"

namespace netio::test {

Simulation::Simulation(const Settings& settings) : settings_(settings) {
  World::take_over();
  make_machines();
}

Simulation::~Simulation() = default;

// Three with little memory for large messages, then those with enough of it.
void Simulation::make_machines() {
  constexpr std::size_t little = 1U << 20U;  // eight of the smallest buffers
  constexpr std::size_t enough = 64U << 20U;
  machines_.clear();
  for (const std::size_t page_bytes : {4096U, 4096U, 8192U}) {
    machines_.push_back(std::make_unique<Machine>(machines_.size(), page_bytes, little));
  }
  for (std::size_t i = 0; i < roomy_machines; ++i) {
    const std::size_t page_bytes = i == 1 ? 8192 : 4096;
    machines_.push_back(std::make_unique<Machine>(machines_.size(), page_bytes, enough));
  }
}

std::string Simulation::run(std::uint64_t seed) {
  std::string what;
  Arena::open();
  {
    auto play = std::make_unique<Play>(seed, settings_, tally_, machines_);
    const std::string found = play->run();
    digest_ = play->digest();
    play.reset();
    const Arena::Outside outside;
    what = std::string(found.c_str());
  }
  const std::size_t left = Arena::shut();
  if (what.empty() && left != 0) {
    what = std::to_string(left) + " pieces of the heap were not given back";
  }
  if (!what.empty()) make_machines();
  return what;
}

}  // namespace netio::test
