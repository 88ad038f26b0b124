// What the messages of a page come to: as one batch, or before the page is sent on as it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/frame.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

inline constexpr const char* wrong_frame_kind = "a frame of the wrong kind";
inline constexpr const char* wrong_segment_table =
    "a message whose table of segments is not that of its segments";

struct FrameSums {
  std::uint32_t messages = 0;
  std::uint32_t largest = 0;  // of the payloads, with the table of its segments
  std::uint64_t bytes = 0;    // of payload, without tables
  bool segments = false;      // a message has some
};

// Of the frames that the walker has still to walk, up to the first that is not a whole message:
// then it returns what is wrong with that one. Else null, and the walker says whether it has come
// to the end.
[[nodiscard]] inline const char* sum_frames(FrameWalker& walker, FrameSums& sums) noexcept {
  for (Frame frame; walker.next(frame);) {
    ++sums.messages;
    sums.largest = std::max(sums.largest, frame.size);
    sums.bytes += frame.size;
    walker.prefetch(frame);
    if (frame.flags <= frame_flag::tagged) [[likely]]
      continue;
    if (!frame.whole_message()) return wrong_frame_kind;
    if ((frame.flags & frame_flag::segmented) == 0) continue;
    const std::size_t count = segments_of(frame.flags);
    if (!has_segments(frame.payload, frame.size, count)) return wrong_segment_table;
    sums.bytes -= segment_table_bytes(count);
    sums.segments = true;
  }
  return nullptr;
}

// Without messages if the frames are not `messages` whole ones.
[[nodiscard]] inline FrameSums sum_frames(std::span<const std::byte> frames,
                                          std::uint32_t messages) noexcept {
  FrameSums sums;
  FrameWalker walker(frames.data(), frames.size(), ability::segments);
  if (sum_frames(walker, sums) != nullptr || !walker.at_end()) return {};
  return sums.messages == messages ? sums : FrameSums{};
}

}  // namespace netio::detail
