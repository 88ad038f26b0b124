// Segments that the user of the C API sends, as those of C++, for the time of one call. Nothing
// here allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <netio.h>
#include <netio/segments.hpp>

#include "c_api/error.hpp"
#include "c_api/message.hpp"

namespace netio::c_api {

// The messages among them are taken over with take(), and given back with end().
class SentSegments {
 public:
  SentSegments() noexcept {}
  SentSegments(const SentSegments&) = delete;
  SentSegments& operator=(const SentSegments&) = delete;
  ~SentSegments() { std::destroy_n(messages_.of, taken_); }

  // Says what is wrong with them, or null. Nothing was taken then.
  const char* take(const netio_segment* segments, std::size_t count) noexcept {
    if (count > segments_max) return "these are more than 64 segments";
    if (segments == nullptr && count != 0) return "segments is a null pointer";
    from_ = {segments, count};
    for (std::size_t i = 0; i < count; ++i) {
      if (const char* const wrong = defect(i)) return wrong;
    }
    for (const netio_segment& segment : from_) {
      Segment* const to = segments_.of + (&segment - segments);
      if (segment.message == nullptr) {
        std::construct_at(to, bytes_of(segment.data, segment.size));
      } else {
        Message* const message = messages_.of + taken_++;
        std::construct_at(message, from_c(*segment.message));
        std::construct_at(to, std::move(*message));
      }
    }
    return nullptr;
  }
  [[nodiscard]] std::span<const Segment> segments() const noexcept {
    return {segments_.of, from_.size()};
  }
  // Whether they were sent: the user's messages are empty then, and the user's still if not.
  void end(bool sent) noexcept {
    for (const netio_segment& segment : from_) {
      if (sent && segment.message != nullptr) *segment.message = {};
    }
    for (std::size_t i = 0; i < taken_; ++i) {
      static_cast<void>(messages_.of[i].release_block());
    }
  }

 private:
  [[nodiscard]] const char* defect(std::size_t index) const noexcept {
    const netio_segment& segment = from_[index];
    if (segment.message == nullptr) {
      return segment.data == nullptr && segment.size != 0 ? "data is a null pointer" : nullptr;
    }
    if (!is_owned(*segment.message)) return "a message among the segments is not owned";
    const auto same = [&](const netio_segment& other) { return other.message == segment.message; };
    const auto before = from_.first(index);
    return std::any_of(before.begin(), before.end(), same) ? "a message is two segments" : nullptr;
  }

  // Room for as many as there may be, of which only some are made.
  template <typename T>
  union Room {
    Room() noexcept {}
    ~Room() noexcept {}
    T of[segments_max];
  };

  std::span<const netio_segment> from_;
  std::size_t taken_ = 0;
  Room<Segment> segments_;
  Room<Message> messages_;
};

// What `send` answers for them. Sizes that no memory has are refused here, as their sum might wrap.
template <typename Send>
int send_segments(const char* call, const netio_segment* segments, std::size_t count,
                  Send&& send) noexcept {
  constexpr std::size_t most = SIZE_MAX / (2 * segments_max);
  SentSegments sent;
  if (const char* const wrong = sent.take(segments, count)) return fail(NETIO_INVALID, call, wrong);
  for (const Segment& segment : sent.segments()) {
    if (segment.bytes().size() <= most) [[likely]]
      continue;
    sent.end(false);
    return fail(NETIO_TOO_BIG, call, "a segment is too big", "split the message");
  }
  const int answer = send(sent.segments());
  sent.end(answer == NETIO_OK);
  return answer;
}

}  // namespace netio::c_api
