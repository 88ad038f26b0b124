// The heap of running timers.
#include "loop/timer_heap.hpp"

#include <algorithm>

namespace netio::detail {
namespace {

// The first multiple of the period after now: missed ones are skipped, and none drifts.
std::int64_t next_deadline(std::int64_t deadline_ns, std::int64_t period_ns,
                           std::int64_t now_ns) noexcept {
  if (period_ns == 0) return now_ns;
  if (period_ns > never_ns - now_ns) return never_ns;
  return deadline_ns + ((now_ns - deadline_ns) / period_ns + 1) * period_ns;
}

}  // namespace

void TimerHeap::reserve_one() {
  if (timer_count_ == entries_.capacity()) {
    entries_.reserve(std::max<std::size_t>(16, 2 * timer_count_));
  }
  ++timer_count_;
}

void TimerHeap::start(Timer& timer, std::int64_t deadline_ns) noexcept {
  const Entry entry{deadline_ns, next_sequence_++, &timer};
  if (timer.heap_index_ >= 0) return move(static_cast<std::size_t>(timer.heap_index_), entry);
  entries_.push_back(entry);
  move(entries_.size() - 1, entry);
}

void TimerHeap::stop(Timer& timer) noexcept {
  if (timer.heap_index_ < 0) return;
  const auto index = static_cast<std::size_t>(timer.heap_index_);
  timer.heap_index_ = -1;
  const Entry last = entries_.back();
  entries_.pop_back();
  if (index < entries_.size()) move(index, last);
}

// A timer (re)started since the mark is due at now_ns at the earliest, so in this order it comes
// after all that were due before: seeing one means that none of those is left.
Timer* TimerHeap::take_due(std::int64_t now_ns, std::uint64_t mark) noexcept {
  if (entries_.empty()) return nullptr;
  Entry first = entries_.front();
  if (first.deadline_ns > now_ns || first.sequence >= mark) return nullptr;
  if (first.timer->period_ns_ < 0) {
    stop(*first.timer);
  } else {
    first.deadline_ns = next_deadline(first.deadline_ns, first.timer->period_ns_, now_ns);
    first.sequence = next_sequence_++;
    move(0, first);
  }
  return first.timer;
}

// Puts the entry where it belongs, given that the one at `index` is to be overwritten.
void TimerHeap::move(std::size_t index, const Entry& entry) noexcept {
  while (index > 0 && entry.before(entries_[(index - 1) / 2])) {
    place(index, entries_[(index - 1) / 2]);
    index = (index - 1) / 2;
  }
  for (std::size_t child; (child = 2 * index + 1) < entries_.size(); index = child) {
    if (child + 1 < entries_.size() && entries_[child + 1].before(entries_[child])) ++child;
    if (!entries_[child].before(entry)) break;
    place(index, entries_[child]);
  }
  place(index, entry);
}

void TimerHeap::place(std::size_t index, const Entry& entry) noexcept {
  entries_[index] = entry;
  entry.timer->heap_index_ = static_cast<std::ptrdiff_t>(index);
}

}  // namespace netio::detail
