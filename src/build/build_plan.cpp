// See build_plan.hpp.
#include "build/build_plan.hpp"

namespace netio::detail {

EventId BuildPlan::first_of(std::uint32_t builder, EventId position) const noexcept {
  if (may_have(builder, position)) return position;
  const std::uint64_t range = range_of(position);
  const std::uint64_t ahead = (builder + builders - range % builders) % builders;
  if (range > UINT64_MAX / range_events - ahead) return end_of_run(position.run);
  return {position.run, (range + ahead) * range_events};
}

EventId BuildPlan::last_end_of(std::uint32_t builder, EventId position) const noexcept {
  if (managed) return {position.run, 0};  // all assignments before this one
  if (position.number == UINT64_MAX) return position;
  const std::uint64_t whole = range_of(position);  // this number of ranges ends at or below it
  if (whole <= builder) return {position.run, 0};
  const std::uint64_t last = whole - 1 - (whole - 1 - builder) % builders;
  return {position.run, (last + 1) * range_events};
}

std::string BuildPlan::fault() const {
  const auto out_of_bounds = [](std::uint64_t value, std::uint64_t most, const char* what) {
    if (value >= 1 && value <= most) return std::string();
    return "a plan of " + std::to_string(value) + " " + what + ": there may be 1 to " +
           std::to_string(most);
  };
  std::string why = out_of_bounds(sources, units_max, "sources");
  if (why.empty()) why = out_of_bounds(builders, units_max, "builders");
  if (why.empty()) why = out_of_bounds(range_events, range_events_max, "events in a range");
  return why;
}

std::string BuildPlan::difference(const char* us, const char* them, const BuildPlan& theirs) const {
  const auto said = [&](const char* what, std::uint64_t ours, std::uint64_t others) {
    return std::string(what) + ": " + std::to_string(ours) + " at the " + us + ", " +
           std::to_string(others) + " at the " + them;
  };
  if (sources != theirs.sources) return said("sources", sources, theirs.sources);
  if (builders != theirs.builders) return said("builders", builders, theirs.builders);
  if (range_events != theirs.range_events) {
    return said("events of a range", range_events, theirs.range_events);
  }
  if (managed != theirs.managed) {
    const char* const with = managed ? us : them;
    const char* const without = managed ? them : us;
    return std::string("the ") + with + " has an event manager in its plan, the " + without +
           " has none";
  }
  return {};
}

}  // namespace netio::detail
