// See event_spans.hpp.
#include "build/event_spans.hpp"

#include <algorithm>

namespace netio::detail {

namespace {
// The first of the list that does not end in front of this event.
[[nodiscard]] EventSpans::const_iterator at(const EventSpans& list, EventId event) noexcept {
  return std::find_if(list.begin(), list.end(),
                      [event](const EventSpan& span) { return event < span.below; });
}
}  // namespace

EventSpan common(const EventSpan& one, const EventSpan& other) noexcept {
  return {std::max(one.from, other.from), std::min(one.below, other.below)};
}

EventSpans common(const EventSpans& one, const EventSpans& other) {
  EventSpans both;
  for (const EventSpan& mine : one) {
    for (auto theirs = at(other, mine.from); theirs != other.end(); ++theirs) {
      const EventSpan shared = common(mine, *theirs);
      if (!shared.empty()) both.push_back(shared);
    }
  }
  return both;
}

EventSpans without(const EventSpan& span, const EventSpans& list) {
  EventSpans left;
  EventId from = span.from;
  for (auto each = at(list, span.from); each != list.end() && each->from < span.below; ++each) {
    if (from < each->from) left.push_back({from, each->from});
    from = std::max(from, each->below);
  }
  if (from < span.below) left.push_back({from, span.below});
  return left;
}

bool covers(const EventSpans& list, EventId event) noexcept {
  const auto found = at(list, event);
  return found != list.end() && found->from <= event;
}

void insert(EventSpans& list, const EventSpan& span) { list.insert(at(list, span.from), span); }

}  // namespace netio::detail
