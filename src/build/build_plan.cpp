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
  if (sources == 0) return "there are no sources";
  if (builders == 0) return "there are no builders";
  if (range_events == 0) return "a range has no events";
  return {};
}

std::string BuildPlan::difference(const BuildPlan& theirs) const {
  const auto said = [](const char* what, std::uint64_t here, std::uint64_t there) {
    return std::string(what) + ": " + std::to_string(here) + " here, " + std::to_string(there) +
           " there";
  };
  if (sources != theirs.sources) return said("sources", sources, theirs.sources);
  if (builders != theirs.builders) return said("builders", builders, theirs.builders);
  if (range_events != theirs.range_events) {
    return said("events of a range", range_events, theirs.range_events);
  }
  if (managed != theirs.managed) {
    return managed ? "a manager here, none there" : "no manager here, one there";
  }
  return {};
}

}  // namespace netio::detail
