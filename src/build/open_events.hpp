// The events of which a builder holds something, in the order of their ids. Their memory is used
// again. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "build/build_messages.hpp"
#include "build/event_id.hpp"

namespace netio::detail {

// If it is not here, the rest is as it was left.
struct OpenFragment {
  std::uint64_t bytes = 0;
  std::uint64_t memory = 0;  // the owner's name for it
  FragmentStatus status = FragmentStatus::good;
  bool here = false;
};

struct OpenEvent {
  EventId id;
  OpenEvent* next = nullptr;  // see OpenEvents
  std::int64_t opened_ns = 0;
  std::int64_t moved_ns = 0;          // when the last fragment came
  std::uint64_t cost = 0;             // of the fragments
  std::uint32_t here = 0;             // the number of fragments
  std::span<OpenFragment> fragments;  // by source
};

// A list. The events of a source come in order, so each source has its place in the list: the event
// that it opened last. Its next event lies behind that, mostly right behind it. So a source walks
// past each event once, however far it is behind others, and however few events it has.
class OpenEvents {
 public:
  using Place = OpenEvent*;

  explicit OpenEvents(std::uint32_t sources) : sources_(sources) {
    end_.id = end_of_all;
    front_.next = &end_;
  }
  OpenEvents(const OpenEvents&) = delete;
  OpenEvents& operator=(const OpenEvents&) = delete;
  ~OpenEvents() = default;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] OpenEvent& oldest() noexcept { return *front_.next; }
  [[nodiscard]] const OpenEvent& oldest() const noexcept { return *front_.next; }
  // How many of them have a fragment of this source. It looks at each.
  [[nodiscard]] std::uint64_t with(std::uint32_t source) const noexcept {
    std::uint64_t with = 0;
    for (const OpenEvent* each = front_.next; each != &end_; each = each->next) {
      with += each->fragments[source].here ? 1U : 0U;
    }
    return with;
  }

  // The place of a source that has opened nothing.
  [[nodiscard]] Place front() noexcept { return &front_; }
  // The event with this id, which is opened if it is not open yet. It is none that was closed, nor
  // in front of one that was. `place` is that of the source, in front of the event or at it, and is
  // the event then. Throws std::bad_alloc; nothing has changed then.
  OpenEvent& open(EventId id, std::int64_t now_ns, Place& place) {
    // Nothing that is closed has this id, so it need not be known whether the place is.
    OpenEvent* const behind = place->next;
    if (behind->id != id) [[unlikely]]
      return find_or_insert(id, now_ns, place);
    place = behind;
    return *behind;
  }
  // For so many calls of open() that then need no memory. Throws std::bad_alloc.
  void make_room(std::size_t more) {
    while (free_.size() < more) make_some();
  }
  void close_oldest() noexcept {
    OpenEvent* const event = front_.next;
    front_.next = event->next;
    if (newest_ == event) newest_ = &front_;
    event->next = &end_;
    --size_;
    free_.push_back(event);  // there is room: see make_some()
  }

 private:
  struct Memory {
    std::vector<OpenEvent> events;
    std::vector<OpenFragment> fragments;
  };
  // Whether the event of a place has been closed, and not been used again since.
  [[nodiscard]] bool is_closed(const OpenEvent* event) const noexcept {
    return event->next == &end_ && event != newest_;
  }
  OpenEvent& find_or_insert(EventId id, std::int64_t now_ns, Place& place);
  OpenEvent& insert_behind(OpenEvent& before, EventId id, std::int64_t now_ns);
  void make_some();

  std::uint32_t sources_;
  OpenEvent front_;  // in front of all events
  OpenEvent end_;    // behind all
  OpenEvent* newest_ = &front_;
  std::size_t size_ = 0;
  std::vector<OpenEvent*> free_;
  std::vector<Memory> memory_;
  std::size_t made_ = 0;
};

}  // namespace netio::detail
