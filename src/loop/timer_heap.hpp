// The running timers of one loop: a binary heap ordered by deadline, then by start. Owner thread.
// Invariant: entries_[i].timer->heap_index_ == i, and -1 for every timer that is not running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <netio/loop.hpp>

#include "base/clock.hpp"

namespace netio::detail {

class TimerHeap {
 public:
  // Every Timer calls these once, so that starting one never allocates.
  void reserve_one();
  void release_one() noexcept { --timer_count_; }
  [[nodiscard]] std::size_t timer_count() const noexcept { return timer_count_; }

  // Starts, or restarts, a timer. O(log n), as stop() is.
  void start(Timer& timer, std::int64_t deadline_ns) noexcept;
  void stop(Timer& timer) noexcept;

  [[nodiscard]] std::int64_t next_deadline_ns() const noexcept {
    return entries_.empty() ? never_ns : entries_.front().deadline_ns;
  }
  // Timers started from here on are told apart from those started before.
  [[nodiscard]] std::uint64_t mark() const noexcept { return next_sequence_; }
  // Takes the first timer that is due and was started before `mark`, or null. A periodic one is
  // running again, a one-shot is not, when this returns.
  [[nodiscard]] Timer* take_due(std::int64_t now_ns, std::uint64_t mark) noexcept;

 private:
  struct Entry {
    std::int64_t deadline_ns;
    std::uint64_t sequence;
    Timer* timer;
    [[nodiscard]] bool before(const Entry& other) const noexcept {
      return deadline_ns != other.deadline_ns ? deadline_ns < other.deadline_ns
                                              : sequence < other.sequence;
    }
  };

  void move(std::size_t index, const Entry& entry) noexcept;
  void place(std::size_t index, const Entry& entry) noexcept;

  std::vector<Entry> entries_;
  std::size_t timer_count_ = 0;  // running or not; entries_ has room for as many
  std::uint64_t next_sequence_ = 0;
};

}  // namespace netio::detail
