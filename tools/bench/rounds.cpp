#include "bench/rounds.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "units.hpp"

namespace netio::cli {

Rounds::Rounds(Stage& stage, const BenchArguments& arguments, std::vector<const System*> systems)
    : stage_(stage),
      arguments_(arguments),
      systems_(std::move(systems)),
      floor_(floor_name(stage.first_case().meeting, stage.first_case().concurrent != 0)) {
  std::stable_partition(systems_.begin(), systems_.end(),
                        [&](const System* system) { return system->name == floor_; });
}

bool Rounds::run(Results& results) {
  results.set_rounds_wanted(arguments_.rounds);
  const std::string size = binary_bytes(results.what().message_bytes);
  try {
    if (arguments_.check) {
      stage_.note(fmt::format("{}, every byte checked", size));
      check(results);
    }
    for (unsigned number = 1; number <= arguments_.rounds; ++number) {
      stage_.note(fmt::format("{}, round {} of {}", size, number, arguments_.rounds));
      results.add(one(results));
    }
  } catch (const Interrupted&) {
    return false;
  }
  return true;
}

void Rounds::check(Results& results) {
  Case what = results.what();
  what.verify = true;
  what.seconds = std::min(what.seconds, 0.3);
  for (const System* const system : systems_) {
    if (system->name != "iperf3") (void)try_one(*system, what, results);
  }
}

Round Rounds::one(Results& results) {
  Round round;
  for (const System* const system : systems_) {
    if (auto sample = try_one(*system, results.what(), results)) {
      round.samples.emplace(system->name, std::move(*sample));
    }
  }
  if (!systems_.empty() && systems_.front()->name == floor_) {
    round.control = try_one(*systems_.front(), results.what(), results);
  }
  return round;
}

std::optional<Sample> Rounds::try_one(const System& system, const Case& what, Results& results) {
  if (results.has_failed(system.name)) return std::nullopt;
  try {
    return measure(system, what, stage_.places());
  } catch (const EndFailure& failure) {
    results.failed(std::string(system.name), failure.what());
    stage_.note(fmt::format("{} is left out: {}", system.name, failure.what()));
    return std::nullopt;
  }
}

}  // namespace netio::cli
