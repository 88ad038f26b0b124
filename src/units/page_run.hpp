// Frames that follow each other in one page, and are to be sent together. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "memory/block.hpp"
#include "wire/frame_sums.hpp"

namespace netio::detail {

class PageRun {
 public:
  [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // The frame stands in the same page, right behind the others.
  [[nodiscard]] bool continues(const Block* page, const std::byte* frame) const noexcept {
    return page == page_.get() && frame == begin_ + bytes_;
  }
  // The first one.
  void begin(Lease page, const std::byte* frame) noexcept {
    page_ = std::move(page);
    begin_ = frame;
  }
  void add(std::size_t frame_bytes, std::uint32_t payload_bytes) noexcept {
    bytes_ += frame_bytes;
    ++sums_.messages;
    sums_.largest = std::max(sums_.largest, payload_bytes);
    sums_.bytes += payload_bytes;
  }
  // The same with several frames.
  void add(std::size_t frame_bytes, const FrameSums& sums) noexcept {
    bytes_ += frame_bytes;
    sums_.messages += sums.messages;
    sums_.largest = std::max(sums_.largest, sums.largest);
    sums_.bytes += sums.bytes;
  }
  void clear() noexcept { *this = PageRun(); }
  // Only these last ones are left.
  void reduce_to(std::span<const std::byte> rest, std::uint32_t messages) noexcept {
    begin_ = rest.data();
    bytes_ = rest.size();
    sums_ = sum_frames(rest, messages);
  }

  [[nodiscard]] const Lease& page() const noexcept { return page_; }
  [[nodiscard]] std::span<const std::byte> frames() const noexcept { return {begin_, bytes_}; }
  [[nodiscard]] const FrameSums& sums() const noexcept { return sums_; }

 private:
  Lease page_;
  const std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  FrameSums sums_;
};

}  // namespace netio::detail
