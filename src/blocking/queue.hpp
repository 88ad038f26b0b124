// A bounded queue from one thread to one other, which may wait for it: a name for the one that is
// used, so that no other file knows it.
#pragma once

#include <chrono>
#include <cstddef>
#include <readerwritercircularbuffer.h>
#include <string>

#include <netio/status.hpp>

namespace netio::detail {

template <class Item>
using Queue = moodycamel::BlockingReaderWriterCircularBuffer<Item>;

// Of a queue; throws Error for one that has no room, or more than memory could.
[[nodiscard]] inline std::size_t checked_length(std::size_t messages_max) {
  constexpr std::size_t most = std::size_t{1} << 24U;
  if (messages_max >= 1 && messages_max <= most) return messages_max;
  throw Error("make a queued socket", "messages_max is " + std::to_string(messages_max),
              "let it be 1 to " + std::to_string(most));
}

// In the queue's own unit; negative stays for ever, and what is less than one unit waits for one.
[[nodiscard]] inline std::chrono::microseconds queue_time(std::chrono::nanoseconds time) noexcept {
  return std::chrono::ceil<std::chrono::microseconds>(
      time.count() < 0 ? std::chrono::nanoseconds(-1000) : time);
}

}  // namespace netio::detail
