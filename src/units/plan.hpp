// The checks of what units are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <netio/event_building.hpp>
#include <netio/status.hpp>

#include "base/random.hpp"
#include "build/build_plan.hpp"

namespace netio::detail {

[[nodiscard]] inline BuildPlan to_plan(const netio::BuildPlan& plan) noexcept {
  return {plan.sources, plan.builders, plan.range_events, plan.managed};
}

// The settings as they are: of a plan, a unit or a builder. Throws Error if they have a fault.
template <typename Settings>
[[nodiscard]] Settings require_sense(Settings settings, const char* operation) {
  if (const std::string fault = settings.fault(); !fault.empty()) {
    throw Error(std::string("cannot ") + operation, fault, "change its options");
  }
  return settings;
}

// Throws Error if there is none of this number.
inline void require_builder(std::uint32_t number, std::size_t count, const char* operation) {
  if (number < count) return;
  throw Error(std::string("cannot ") + operation, "there is no builder " + std::to_string(number),
              "they are numbered from 0 to " + std::to_string(count - 1));
}

// Throws Error for a unit whose plan has no event manager.
inline void require_managed(bool managed, std::string_view address) {
  if (managed) return;
  throw Error("cannot join the event manager at " + std::string(address),
              "the plan of this unit has none",
              "set BuildPlan::managed, here and in all units and builders");
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
