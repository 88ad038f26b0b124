// Walks a body and checks what the walker promises, whatever the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "require.hpp"
#include "wire/frame.hpp"
#include "wire/segments.hpp"

struct Walked {
  std::size_t frames = 0;
  std::size_t messages_ended = 0;
  bool sound = false;
};

// The frame as it would be sent, word for word, is what lies in front of its payload.
inline void check_frame(const netio::detail::Frame& frame, const std::byte* at) {
  using namespace netio::detail;
  require((frame.flags & ~frame_flag::known) == 0);
  require(load_u64(at) == frame_word(frame.size, frame.flags));
  at += frame_word_bytes;
  if ((frame.flags & frame_flag::numbered) != 0) {
    require((frame.flags & (frame_flag::continued | frame_flag::control)) == 0);
    require(load_u64(at) == frame.tag);
    at += 8;
  } else {
    require(frame.tag == 0);
  }
  if (frame.first_part()) {
    require(load_u64(at) == frame.total);
    at += 8;
  }
  require(at == frame.payload);
  if ((frame.flags & frame_flag::control) != 0) require(!frame.part());
}

// A table that was found right is of segments that make up the payload; and segments() stays within
// the payload whatever the table is.
inline void check_segments(const netio::detail::Frame& frame) {
  using namespace netio::detail;
  const std::size_t count = segments_of(frame.flags);
  const std::size_t table = segment_table_bytes(count);
  const bool right = has_segments(frame.payload, frame.size, count);
  require(!right || (count <= netio::segments_max && table <= frame.size));
  if (count > netio::segments_max || table > frame.size) return;
  const netio::Segments segments({frame.payload + table, frame.size - table}, count);
  require(!right || segments.size() == count);
  const std::byte* const end = frame.payload + frame.size;
  const std::byte* at = frame.payload + table;
  for (const std::span<const std::byte> segment : segments) {
    require(segment.data() == at && segment.size() <= static_cast<std::size_t>(end - at));
    if (&segment + 1 != segments.end()) {
      at += std::min(segment_padded(segment.size()), static_cast<std::size_t>(end - at));
    } else if (right) {
      require(at + segment.size() == end);
    }
  }
}

inline Walked walk(std::span<const std::byte> body, std::uint64_t offered = 0) {
  using namespace netio::detail;
  FrameWalker walker(body.data(), body.size(), offered);
  Walked walked;
  std::size_t at = 0;
  std::size_t payload_sum = 0;
  for (Frame frame; walker.next(frame); ++walked.frames) {
    check_frame(frame, body.data() + at);
    const auto payload_at = static_cast<std::size_t>(frame.payload - body.data());
    require(payload_at % wire_align == 0 && payload_at <= body.size());
    require(wire_padded(frame.size) <= body.size() - payload_at);
    at = payload_at + wire_padded(frame.size);
    for (std::uint32_t index = 0; index < frame.size; ++index) {
      payload_sum += std::to_integer<std::size_t>(frame.payload[index]);
    }
    if (frame.whole_message() && (frame.flags & frame_flag::segmented) != 0) check_segments(frame);
    if ((frame.flags & (frame_flag::more | frame_flag::control)) == 0) ++walked.messages_ended;
  }
  volatile std::size_t read = payload_sum;  // Every byte was touched.
  static_cast<void>(read);
  walked.sound = walker.defect() == nullptr;
  require(walked.sound == walker.at_end());
  require(walked.sound == (at == body.size()));
  require(walked.frames <= body.size() / frame_word_bytes);
  Frame frame;
  require(!walker.next(frame) && (walker.defect() == nullptr) == walked.sound);
  return walked;
}
