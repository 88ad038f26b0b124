// Fragments of one source, of events whose numbers follow each other, which came together: a
// builder takes them together, so that not each is looked at by itself. It has a bound, and needs
// no memory. Owner thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "build/build_messages.hpp"
#include "build/event_id.hpp"
#include "build/open_events.hpp"

namespace netio::detail {

class FragmentRun {
 public:
  // More would only take more of the first cache.
  static constexpr std::size_t fragments_max = 64;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == fragments_max; }
  // The event of this number, of the same run, is the one behind the last fragment.
  [[nodiscard]] bool continues(std::uint64_t number) const noexcept {
    return count_ != 0 && number == first_.number + count_;
  }
  // The first fragment is of this event. `before`: as in Fragment.
  void begin(EventId event, std::uint64_t before) noexcept {
    first_ = event;
    before_ = before;
    count_ = 0;
    cost_ = 0;
  }
  // It is not full. Of at most fragment_bytes_max.
  void add(std::uint64_t bytes, std::uint64_t memory, FragmentStatus status) noexcept {
    fragments_[count_++] = {bytes, memory, status, true};
    cost_ += window_cost(bytes);
  }
  void clear() noexcept { count_ = cost_ = 0; }

  [[nodiscard]] EventId first() const noexcept { return first_; }
  [[nodiscard]] EventId last() const noexcept { return event(count_ - 1); }
  [[nodiscard]] EventId event(std::size_t index) const noexcept {
    return {first_.run, first_.number + index};
  }
  [[nodiscard]] std::uint64_t before() const noexcept { return before_; }
  [[nodiscard]] std::uint64_t cost() const noexcept { return cost_; }
  [[nodiscard]] std::span<const OpenFragment> fragments() const noexcept {
    return {fragments_.data(), count_};
  }

 private:
  EventId first_;
  std::uint64_t before_ = 0;
  std::uint64_t cost_ = 0;
  std::size_t count_ = 0;
  std::array<OpenFragment, fragments_max> fragments_;
};

}  // namespace netio::detail
