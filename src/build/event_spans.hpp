// Spans of events, and what they have in common. For the books of a manager, which change seldom:
// lists are sorted, and their spans do not overlap.
#pragma once

#include <vector>

#include "build/event_id.hpp"

namespace netio::detail {

struct EventSpan {
  EventId from;
  EventId below;

  [[nodiscard]] constexpr bool empty() const noexcept { return from >= below; }
  [[nodiscard]] constexpr bool covers(EventId event) const noexcept {
    return from <= event && event < below;
  }
  friend bool operator==(const EventSpan&, const EventSpan&) noexcept = default;
};

// They throw std::bad_alloc.
using EventSpans = std::vector<EventSpan>;

[[nodiscard]] EventSpan common(const EventSpan& one, const EventSpan& other) noexcept;
// What lies in both lists.
[[nodiscard]] EventSpans common(const EventSpans& one, const EventSpans& other);
// What lies in the span and in none of the list.
[[nodiscard]] EventSpans without(const EventSpan& span, const EventSpans& list);
[[nodiscard]] bool covers(const EventSpans& list, EventId event) noexcept;
// Adds a span that overlaps none.
void insert(EventSpans& list, const EventSpan& span);

}  // namespace netio::detail
