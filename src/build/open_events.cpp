// See open_events.hpp.
#include "build/open_events.hpp"

#include <utility>

namespace netio::detail {

namespace {
constexpr std::size_t made_at_once = 64;
}

// Mostly it is behind the newest.
OpenEvent& OpenEvents::find_or_insert(EventId id, std::int64_t now_ns, Place& place) {
  OpenEvent* before = &front_;
  if (newest_->id <= id) {
    before = newest_;
  } else if (!is_closed(place) && place->id <= id) {
    before = place;
  }
  if (before->id == id && before != &front_) return *(place = before);
  while (before->next->id < id) before = before->next;
  place = before->next->id == id ? before->next : &insert_behind(*before, id, now_ns);
  return *place;
}

OpenEvent& OpenEvents::insert_behind(OpenEvent& before, EventId id, std::int64_t now_ns) {
  if (free_.empty()) make_some();
  OpenEvent* const event = free_.back();
  free_.pop_back();
  event->id = id;
  event->next = before.next;
  event->opened_ns = event->moved_ns = now_ns;
  event->cost = 0;
  event->here = 0;
  for (OpenFragment& each : event->fragments) each.here = false;
  before.next = event;
  if (newest_ == &before) newest_ = event;
  ++size_;
  return *event;
}

// There is room in free_ for all that were made, so that close_oldest() needs no memory.
void OpenEvents::make_some() {
  free_.reserve(made_ + made_at_once);
  Memory memory;
  memory.events.resize(made_at_once);
  memory.fragments.resize(made_at_once * sources_);
  memory_.push_back(std::move(memory));
  std::span<OpenFragment> left = memory_.back().fragments;
  for (OpenEvent& event : memory_.back().events) {
    event.fragments = left.first(sources_);
    event.next = &end_;
    left = left.subspan(sources_);
    free_.push_back(&event);
  }
  made_ += made_at_once;
}

}  // namespace netio::detail
