// What one publisher's call, or one of its pages, hands to many peers. Bytes are immutable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/block.hpp"
#include "wire/frame.hpp"

namespace netio::detail {

struct Parcel {
  Lease lease;  // each taker adds a count; empty: the bytes are only borrowed
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint32_t messages = 1;
  bool framed = false;  // the frames of a page; else one message, without its frame
  Label label;          // of a message without its frame
  bool shared = false;  // more than one peer takes it
};

}  // namespace netio::detail
