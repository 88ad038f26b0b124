// The range of a plan that was asked about last: nearly all questions are about the same one, and
// each answer of the plan costs divisions. Owner thread only.
#pragma once

#include <cstdint>

#include "build/build_plan.hpp"

namespace netio::detail {

class PlanRange {
 public:
  explicit PlanRange(const BuildPlan& plan) noexcept : plan_(plan) {}

  // The builder of this event.
  [[nodiscard]] std::uint32_t builder_of(EventId event) noexcept {
    if (!holds(event)) [[unlikely]] {
      begin_ = plan_.begin_of_range(event);
      end_ = plan_.end_of_range(event);
      builder_ = plan_.builder_of(event);
    }
    return builder_;
  }
  // Of the last event that was asked about:
  [[nodiscard]] bool holds(EventId position) const noexcept {
    return begin_ <= position && position < end_;
  }
  [[nodiscard]] std::uint32_t builder() const noexcept { return builder_; }
  [[nodiscard]] EventId begin() const noexcept { return begin_; }
  [[nodiscard]] EventId end() const noexcept { return end_; }

 private:
  BuildPlan plan_;
  EventId begin_;
  EventId end_;
  std::uint32_t builder_ = 0;
};

// The range of one builder in which a position lay last.
class BuilderRange {
 public:
  BuilderRange(const BuildPlan& plan, std::uint32_t builder) noexcept
      : plan_(plan), builder_(builder), last_(plan) {}

  // The event belongs to this builder.
  [[nodiscard]] bool has(EventId event) noexcept {
    if (last_.holds(event)) [[likely]]
      return mine_;
    static_cast<void>(last_.builder_of(event));
    mine_ = plan_.may_have(builder_, event);
    last_end_ = plan_.last_end_of(builder_, event);
    return mine_;
  }
  // The same of all events from the first to the last, if they lie in one range; else false.
  [[nodiscard]] bool has(EventId first, EventId last) noexcept {
    return has(first) && last_.holds(last);
  }
  // As BuildPlan::last_end_of().
  [[nodiscard]] EventId last_end_of(EventId position) noexcept {
    if (last_.holds(position)) [[likely]]
      return last_end_;
    return plan_.last_end_of(builder_, position);
  }

 private:
  BuildPlan plan_;
  std::uint32_t builder_;
  PlanRange last_;
  bool mine_ = false;
  EventId last_end_;  // of all positions in it
};

}  // namespace netio::detail
