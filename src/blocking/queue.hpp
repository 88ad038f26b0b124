// A bounded queue from one thread to one other, which may wait for it.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <netio/status.hpp>

#include "blocking/semaphore.hpp"

namespace netio::detail {

// Of a queue; throws Error for one that has no room, or more than memory could.
[[nodiscard]] inline std::size_t checked_length(std::size_t messages_max) {
  constexpr std::size_t most = std::size_t{1} << 24U;
  if (messages_max >= 1 && messages_max <= most) return messages_max;
  throw Error("make a queued socket", "messages_max is " + std::to_string(messages_max),
              "let it be 1 to " + std::to_string(most));
}

template <class Item>
class Queue {
 public:
  // Throws as checked_length() does. Memory is touched as far as it is used.
  explicit Queue(std::size_t items_max)
      : items_max_(checked_length(items_max)),
        places_(std::bit_ceil(items_max)),
        memory_(std::allocator<Item>().allocate(places_)) {}
  // When the writer's thread is done with it.
  ~Queue() {
    for (Item last; take(last, std::chrono::nanoseconds(0));) {
    }
    std::allocator<Item>().deallocate(memory_, places_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] std::size_t items_max() const noexcept { return items_max_; }

  // The writer's thread. False, and nothing done: it is full.
  [[nodiscard]] bool put(Item&& item) noexcept {
    if (written_ - read_.load(std::memory_order_acquire) == items_max_) return false;
    std::construct_at(at(written_++), std::move(item));
    there_.signal();
    return true;
  }
  // The reader's thread. The oldest item. False: none came until the time was over. A negative time
  // is for ever; 0 never sleeps.
  [[nodiscard]] bool take(Item& item, std::chrono::nanoseconds timeout) noexcept {
    if (!there_.wait(timeout)) return false;
    const std::uint64_t read = read_.load(std::memory_order_relaxed);
    Item* const first = at(read);
    item = std::move(*first);
    std::destroy_at(first);
    read_.store(read + 1, std::memory_order_release);
    return true;
  }

 private:
  [[nodiscard]] Item* at(std::uint64_t position) noexcept {
    return memory_ + (position & (places_ - 1));
  }

  const std::size_t items_max_;
  const std::size_t places_;  // a power of two
  Item* const memory_;
  // Positions only grow. A line for the writer, one for the reader, one for both.
  alignas(64) std::uint64_t written_ = 0;
  alignas(64) std::atomic<std::uint64_t> read_{0};
  alignas(64) Semaphore there_;
};

}  // namespace netio::detail
