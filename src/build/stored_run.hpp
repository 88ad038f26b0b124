// Fragments that a unit has stored one behind the other, of events whose numbers follow each other,
// all of them good: its protocol takes them together, so that not each is looked at by itself. It
// has a bound, and needs no memory. Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "build/build_messages.hpp"
#include "build/event_id.hpp"

namespace netio::detail {

class StoredRun {
 public:
  // More would only take more of the first cache.
  static constexpr std::size_t fragments_max = 64;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == fragments_max; }
  // The first fragment is of this event, and `memory` is the owner's name for it.
  void begin(EventId event, std::uint64_t memory) noexcept {
    first_ = event;
    memory_ = memory;
    count_ = 0;
    cost_ = 0;
  }
  // It is not full. Of at most fragment_bytes_max.
  void add(std::uint64_t bytes) noexcept {
    sizes_[count_++] = bytes;
    cost_ += window_cost(bytes);
  }
  void clear() noexcept { count_ = cost_ = 0; }

  [[nodiscard]] EventId first() const noexcept { return first_; }
  [[nodiscard]] std::uint64_t memory() const noexcept { return memory_; }
  // Behind the last event.
  [[nodiscard]] EventId below() const noexcept { return {first_.run, first_.number + count_}; }
  [[nodiscard]] std::uint64_t cost() const noexcept { return cost_; }
  // The bytes of each fragment.
  [[nodiscard]] std::span<const std::uint64_t> sizes() const noexcept {
    return {sizes_.data(), count_};
  }

 private:
  EventId first_;
  std::uint64_t memory_ = 0;
  std::uint64_t cost_ = 0;
  std::size_t count_ = 0;
  std::array<std::uint64_t, fragments_max> sizes_;
};

}  // namespace netio::detail
