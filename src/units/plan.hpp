// The checks of what units are given, and what the protocol makes of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include <netio/event_building.hpp>
#include <netio/status.hpp>

#include "base/random.hpp"
#include "build/build_plan.hpp"

namespace netio::detail {

[[nodiscard]] inline BuildPlan to_plan(const netio::BuildPlan& plan) noexcept {
  return {plan.sources, plan.builders, plan.range_events, false};
}

// Throws Error if the plan makes no sense.
[[nodiscard]] inline BuildPlan plan_of(const netio::BuildPlan& plan, const std::string& operation) {
  const auto need = [&](std::uint64_t value, std::uint64_t most, const char* what) {
    if (value >= 1 && value <= most) return;
    throw Error("cannot " + operation,
                "a plan of " + std::to_string(value) + " " + what + " makes no sense",
                "give 1 to " + std::to_string(most));
  };
  constexpr std::uint64_t units_max = 65'536;
  need(plan.sources, units_max, "sources");
  need(plan.builders, units_max, "builders");
  need(plan.range_events, std::uint64_t{1} << 48U, "events in a range");
  return to_plan(plan);
}

// Throws Error if there is none of this number.
inline void require_below(std::uint32_t number, std::uint32_t count, const char* operation,
                          const char* what) {
  if (number < count) return;
  throw Error(std::string("cannot ") + operation,
              std::string("there is no ") + what + " " + std::to_string(number),
              "they are numbered from 0 to " + std::to_string(count - 1));
}

// Never 0.
[[nodiscard]] inline std::uint64_t random_run() {
  std::uint64_t run = 0;
  while (run == 0) {
    const auto bytes = random_bytes<sizeof run>();
    std::memcpy(&run, bytes.data(), sizeof run);
  }
  return run;
}

}  // namespace netio::detail
