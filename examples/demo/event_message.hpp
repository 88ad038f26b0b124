// How a builder publishes an event: a message of segments. The first one is this header, and each
// of the others is the fragment of one source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <netio/message.hpp>
#include <netio/subscription.hpp>

#include "fragment.hpp"
#include "roles.hpp"

namespace demo {

struct EventHeader {
  std::uint64_t event = 0;
  std::uint32_t builder = 0;  // the builder's process: its index among the builders' processes
  std::uint32_t again = 0;    // the event is marked
};
static_assert(std::is_trivially_copyable_v<EventHeader>);

// The tag of an event. The policy "sample" keeps the latest event of each tag.
inline constexpr std::uint64_t tag_count = 16;
inline std::uint64_t tag_of(std::uint64_t event) noexcept { return event % tag_count; }
inline constexpr netio::TagRange event_tags{0, tag_count - 1};
// No event has this tag. The recorder subscribes to it, so that a builder knows the recorder.
inline constexpr std::uint64_t recorder_tag = 1000;

// Whether the message is a whole event, and every byte is as the cards wrote it. `due_ns` is when
// the event was due.
inline bool is_event(const netio::MessageView& message, EventHeader& header,
                     std::int64_t& due_ns) noexcept {
  const netio::Segments segments = message.segments();
  if (segments.size() != 1 + card_count || segments[0].size() != sizeof header) return false;
  std::memcpy(&header, segments[0].data(), sizeof header);
  if (header.builder >= builder_processes || tag_of(header.event) != message.tag()) return false;
  for (std::uint32_t source = 0; source < card_count; ++source) {
    FragmentHeader fragment;
    if (!is_fragment(segments[1 + source], source, header.event, fragment)) return false;
    due_ns = fragment.due_ns;
  }
  return true;
}

}  // namespace demo
