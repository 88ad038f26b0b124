// What the messages of a page come to, before the page is sent on as it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/frame.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

struct FrameSums {
  std::uint32_t messages = 0;
  std::uint32_t largest = 0;  // of the payloads, with the table of its segments
  std::uint64_t bytes = 0;    // of payload, without tables
  bool segments = false;      // a message has some
};

// Without messages if the frames are not `messages` whole ones.
[[nodiscard]] inline FrameSums sum_frames(std::span<const std::byte> frames,
                                          std::uint32_t messages) noexcept {
  FrameSums sums;
  FrameWalker walker(frames.data(), frames.size(), ability::segments);
  for (Frame frame; walker.next(frame);) {
    ++sums.messages;
    sums.largest = std::max(sums.largest, frame.size);
    sums.bytes += frame.size;
    if (frame.flags <= frame_flag::tagged) [[likely]]
      continue;
    if (!frame.whole_message()) return {};
    const std::size_t count = segments_of(frame.flags);
    if (!has_segments(frame.payload, frame.size, count)) return {};
    sums.bytes -= segment_table_bytes(count);
    sums.segments = true;
  }
  return walker.at_end() && sums.messages == messages ? sums : FrameSums{};
}

}  // namespace netio::detail
