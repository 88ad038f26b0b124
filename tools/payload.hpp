// The bytes of messages, without the padding between segments. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <netio/message.hpp>

namespace netio::cli {

class Payload {
 public:
  // The bytes of all segments. They are valid until the next call, and while the message is.
  [[nodiscard]] std::span<const std::byte> of(const MessageView& message) {
    if (!message.segmented()) return message.bytes();
    const Segments segments = message.segments();
    if (segments.size() == 1) return segments[0];
    ++segmented_;
    joined_.clear();
    for (const std::span<const std::byte> segment : segments) {
      joined_.insert(joined_.end(), segment.begin(), segment.end());
    }
    return joined_;
  }
  // How many messages had several segments.
  [[nodiscard]] std::uint64_t segmented() const noexcept { return segmented_; }

 private:
  std::uint64_t segmented_ = 0;
  std::vector<std::byte> joined_;
};

}  // namespace netio::cli
