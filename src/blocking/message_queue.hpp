// A bounded queue from one thread to one other, which may wait for it: a name for the one that is
// used, so that no other file knows it.
#pragma once

#include <chrono>
#include <readerwritercircularbuffer.h>

#include <netio/blocking.hpp>

namespace netio::detail {

using MessageQueue = moodycamel::BlockingReaderWriterCircularBuffer<blocking::Received>;

// In the queue's own unit; negative stays for ever, and what is less than one unit waits for one.
[[nodiscard]] inline std::chrono::microseconds queue_time(std::chrono::nanoseconds time) noexcept {
  return std::chrono::ceil<std::chrono::microseconds>(
      time.count() < 0 ? std::chrono::nanoseconds(-1000) : time);
}

}  // namespace netio::detail
