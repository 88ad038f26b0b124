// Events as C has them: what cb_event, cb_range and cb_run_end are given, and events that are kept.
// Releasing is for any thread.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "c_api/builder_unit.hpp"
#include "c_api/error.hpp"
#include "c_api/message.hpp"
#include "c_api/units.hpp"

namespace netio::c_api {
namespace {

// The fragments of a range are given to C as they lie in C++.
static_assert(sizeof(netio_event_fragment) == sizeof(EventFragment));
static_assert(std::is_standard_layout_v<EventFragment>);
static_assert(offsetof(netio_event_fragment, message) == offsetof(EventFragment, message));
static_assert(offsetof(netio_event_fragment, status) == offsetof(EventFragment, status));
static_assert(offsetof(netio_event_fragment, missing) == offsetof(EventFragment, missing));
static_assert(offsetof(netio_event_fragment, here) == offsetof(EventFragment, here));
static_assert(sizeof(EventFragment::here) == sizeof(netio_event_fragment::here));
static_assert(sizeof(netio_range_event) == sizeof(EventRange::Entry));
static_assert(std::is_standard_layout_v<EventRange::Entry>);
static_assert(offsetof(netio_range_event, complete) == offsetof(EventRange::Entry, complete));
static_assert(offsetof(netio_range_event, again) == offsetof(EventRange::Entry, again));
static_assert(sizeof(netio_event_id) == sizeof(EventId) && offsetof(EventId, run) == 0);

// The mark of an event that was kept, in the low bit of `memory`.
constexpr std::uintptr_t kept_mark = 1;
static_assert(alignof(KeptEvent) > kept_mark && alignof(Event) > kept_mark);

std::uintptr_t memory_of(const netio_event& event) noexcept {
  return reinterpret_cast<std::uintptr_t>(event.memory);
}
bool is_kept(const netio_event& event) noexcept { return (memory_of(event) & kept_mark) != 0; }
KeptEvent& kept_in(const netio_event& event) noexcept {
  return *reinterpret_cast<KeptEvent*>(memory_of(event) & ~kept_mark);
}
const Event& event_in(const netio_event& event) noexcept {
  return *static_cast<const Event*>(event.memory);
}

netio_event_fragment fragment_in_c(const MessageView& message, FragmentStatus status,
                                   Missing missing, bool here) noexcept {
  return {*to_c(message),
          static_cast<std::uint8_t>(status),
          static_cast<std::uint8_t>(missing),
          static_cast<std::uint8_t>(here ? 1 : 0),
          {}};
}

netio_event_fragment fragment_of(const KeptEvent& event, std::size_t source) noexcept {
  const KeptEvent::Fragment& from = event.fragments()[source];
  const Message& message = from.message;
  const auto view = MessageView::of_kept(message.block(), message.bytes(), message.tag())
                        .with_table(message.segmented());
  return fragment_in_c(view, from.status, from.missing, from.here);
}

netio_event_fragment fragment_of(const Event& event, std::size_t source) noexcept {
  const EventFragment from = event[source];
  return fragment_in_c(from.message, from.status, from.missing, from.here);
}

}  // namespace

netio_missing_counts to_c(const BuilderBooks::MissingCounts& counts) noexcept {
  netio_missing_counts c{};
  static_assert(std::size(BuilderBooks::MissingCounts{}) <= std::size(netio_missing_counts{}.by));
  std::copy(counts.begin(), counts.end(), c.by);
  return c;
}

void set_event_call(BuilderUnit& unit, netio_builder_unit* own) {
  unit.on_event([own](const Event& event) {
    if (own->cb_event == nullptr) return;
    const netio_event c{const_cast<Event*>(&event),
                        to_c(event.id()),
                        event.size(),
                        static_cast<std::uint8_t>(event.complete() ? 1 : 0),
                        static_cast<std::uint8_t>(event.again() ? 1 : 0),
                        {}};
    own->cb_event(own, &c);
  });
}

void set_range_call(BuilderUnit& unit, netio_builder_unit* own) {
  unit.on_range([own](const EventRange& range) {
    if (own->cb_range == nullptr) return;
    const netio_event_range c{const_cast<EventRange*>(&range),
                              reinterpret_cast<const netio_range_event*>(range.events().data()),
                              range.events().size(), range.sources(), range.bytes()};
    own->cb_range(own, &c);
  });
}

void set_run_end_call(BuilderUnit& unit, netio_builder_unit* own, std::size_t sources) {
  std::vector<netio_missing_counts> missing_by(sources);
  unit.on_run_end([own, missing_by = std::move(missing_by)](const RunBooks& books) mutable {
    if (own->cb_run_end == nullptr) return;
    std::transform(books.missing_by.begin(), books.missing_by.end(), missing_by.begin(),
                   [](const auto& counts) { return to_c(counts); });
    const netio_run_books c{books.run,   books.complete,    books.incomplete, books.again,
                            books.bytes, missing_by.data(), missing_by.size()};
    own->cb_run_end(own, &c);
  });
}

extern "C" {

NETIO_API int netio_event_get_fragment(const netio_event* event, size_t source,
                                       netio_event_fragment* fragment) {
  if (event == nullptr || fragment == nullptr) return fail_null(__func__);
  if (event->memory == nullptr) {
    return fail(NETIO_INVALID, __func__, "there is no event", "it was released, or never kept");
  }
  if (source >= event->sources) {
    return fail(NETIO_INVALID, __func__, "there is no source of this number");
  }
  *fragment = is_kept(*event) ? fragment_of(kept_in(*event), source)
                              : fragment_of(event_in(*event), source);
  return NETIO_OK;
}

NETIO_API uint64_t netio_event_bytes(const netio_event* event) {
  if (event == nullptr || event->memory == nullptr) return 0;
  if (!is_kept(*event)) return event_in(*event).bytes();
  std::uint64_t bytes = 0;
  for (const KeptEvent::Fragment& fragment : kept_in(*event).fragments()) {
    const Message& message = fragment.message;
    bytes += message.size();
    if (message.segmented()) bytes += detail::segment_table_bytes(message.segments_count());
  }
  return bytes;
}

NETIO_API int netio_event_keep(const netio_event* event, netio_event* kept) {
  if (event == nullptr || kept == nullptr) return fail_null(__func__);
  if (event->memory == nullptr || is_kept(*event)) {
    return fail(NETIO_INVALID, __func__, "this is not the event of a call-back",
                "keep what cb_event was given, before it returns");
  }
  return guarded(__func__, [=]() -> int {
    auto own = std::make_unique<KeptEvent>();
    *own = event_in(*event).keep();
    if (own->fragments().empty()) {
      return fail(NETIO_INVALID, "netio_event_keep", "this event was kept before");
    }
    *kept = *event;
    kept->memory =
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(own.release()) | kept_mark);
    return NETIO_OK;
  });
}

NETIO_API int netio_event_release(netio_event* kept) {
  if (kept == nullptr) return fail_null(__func__);
  if (!is_kept(*kept)) {
    return fail(NETIO_INVALID, __func__, "this event is not kept", "release what was kept, once");
  }
  const netio_event last = std::exchange(*kept, {});
  delete &kept_in(last);
  return NETIO_OK;
}

NETIO_API const netio_event_fragment* netio_range_fragments(const netio_event_range* range,
                                                            size_t source) {
  if (range == nullptr || range->memory == nullptr) {
    fail(NETIO_INVALID, __func__, "there is no range", "use what cb_range was given in there");
    return nullptr;
  }
  if (source >= range->sources) {
    fail(NETIO_INVALID, __func__, "there is no source of this number");
    return nullptr;
  }
  const auto& own = *static_cast<const EventRange*>(range->memory);
  return reinterpret_cast<const netio_event_fragment*>(own.of(source).data());
}

}  // extern "C"
}  // namespace netio::c_api
