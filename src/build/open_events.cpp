// See open_events.hpp.
#include "build/open_events.hpp"

#include <algorithm>
#include <new>

namespace netio::detail {

// Mostly the newest event, or the one behind it.
OpenEvent& OpenEvents::open(EventId id, std::int64_t now_ns) {
  const std::size_t count = events_.size();
  if (count == 0 || events_[count - 1]->id < id) return insert(count, id, now_ns);
  const std::size_t index = events_.first_not([id](const auto& event) { return event->id < id; });
  if (events_[index]->id == id) return *events_[index];
  return insert(index, id, now_ns);
}

OpenEvent& OpenEvents::insert(std::size_t index, EventId id, std::int64_t now_ns) {
  if (!events_.make_room()) throw std::bad_alloc();
  if (free_.empty()) make_one();
  std::unique_ptr<OpenEvent> event = std::move(free_.back());
  free_.pop_back();
  event->id = id;
  event->opened_ns = event->moved_ns = now_ns;
  event->cost = 0;
  event->here = 0;
  std::fill(event->fragments.begin(), event->fragments.end(), OpenFragment{});
  OpenEvent& opened = *event;
  events_.push_back(std::move(event));
  for (std::size_t i = events_.size() - 1; i > index; --i) std::swap(events_[i], events_[i - 1]);
  return opened;
}

// There is room in free_ for all that were made, so that close_oldest() needs no memory.
void OpenEvents::make_one() {
  if (free_.capacity() <= made_) free_.reserve(std::max<std::size_t>(16, 2 * made_));
  auto event = std::make_unique<OpenEvent>();
  event->fragments.resize(sources_);
  free_.push_back(std::move(event));
  ++made_;
}

}  // namespace netio::detail
