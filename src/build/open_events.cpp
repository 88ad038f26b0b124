// See open_events.hpp.
#include "build/open_events.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace netio::detail {

namespace {
constexpr std::size_t made_at_once = 64;
}

// Mostly the one behind the newest.
OpenEvent& OpenEvents::find_or_insert(EventId id, std::int64_t now_ns, std::uint64_t& next) {
  const std::size_t count = events_.size();
  std::size_t index = count;
  if (count != 0 && events_[count - 1]->id >= id) {
    index = events_.first_not([id](const OpenEvent* event) { return event->id < id; });
  }
  const bool is_open = index < count && events_[index]->id == id;
  OpenEvent& event = is_open ? *events_[index] : insert(index, id, now_ns);
  next = closed_ + index + 1;
  return event;
}

OpenEvent& OpenEvents::insert(std::size_t index, EventId id, std::int64_t now_ns) {
  if (!events_.make_room()) throw std::bad_alloc();
  if (free_.empty()) make_some();
  OpenEvent* const event = free_.back();
  free_.pop_back();
  event->id = id;
  event->opened_ns = event->moved_ns = now_ns;
  event->cost = 0;
  event->here = 0;
  for (OpenFragment& each : event->fragments) each.here = false;
  events_.push_back(event);
  for (std::size_t i = events_.size() - 1; i > index; --i) std::swap(events_[i], events_[i - 1]);
  return *event;
}

void OpenEvents::make_some_room(std::size_t more) {
  if (!events_.make_room(more)) throw std::bad_alloc();
  while (free_.size() < more) make_some();
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
    left = left.subspan(sources_);
    free_.push_back(&event);
  }
  made_ += made_at_once;
}

}  // namespace netio::detail
