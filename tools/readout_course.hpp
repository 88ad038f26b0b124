// Which events a read-out unit of `netio build` sends: from where, up to where, and what an event
// manager says of that. Owner thread only.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <netio/readout_unit.hpp>

#include "arguments.hpp"

namespace netio::cli {

class ReadoutCourse {
 public:
  explicit ReadoutCourse(const ReadoutArguments& arguments)
      : first_(arguments.first),
        begin_(first_),
        end_(arguments.events ? first_.number + *arguments.events : event_number_max) {}

  // The manager greets a unit that has not begun.
  void welcome(EventId begin) noexcept { begin_ = std::max(first_, begin); }
  // It builds nothing at or above this event.
  void stop(EventId at) noexcept { stop_ = at; }

  // Where the unit begins.
  [[nodiscard]] EventId begin() const noexcept { return begin_; }
  // It begins above what other units have produced.
  [[nodiscard]] bool is_late() const noexcept { return begin_ != first_; }
  [[nodiscard]] const std::optional<EventId>& stop() const noexcept { return stop_; }
  // The manager has stopped at or in front of this event.
  [[nodiscard]] bool has_stopped(EventId next) const noexcept { return stop_ && *stop_ <= next; }

  // How many events are to be sent from this one on.
  [[nodiscard]] std::uint64_t left(EventId next) const noexcept {
    std::uint64_t end = next.run == first_.run ? end_ : event_number_max;
    if (stop_ && stop_->run == next.run) end = std::min(end, stop_->number);
    if (stop_ && stop_->run < next.run) end = 0;
    return end - std::min(next.number, end);
  }
  // What part of the events that were asked for is below this one.
  [[nodiscard]] std::optional<double> fraction(EventId next) const noexcept {
    if (end_ == event_number_max || end_ == first_.number || next.run != first_.run) return {};
    return static_cast<double>(next.number - first_.number) /
           static_cast<double>(end_ - first_.number);
  }

  // Until the manager has heard of this unit's fragments it waits for the other units alone, and
  // assigns events that this unit cannot be in time for. It has heard of them when some are
  // settled. After that the unit catches up: its start ends with its first fragment in time, or
  // when that takes too long. To be called after each turn that sends.
  void note_start(const ReadoutBooks& books, std::chrono::nanoseconds now) noexcept {
    if (!is_late() || started_) return;
    if (is_heard(books) && !heard_at_) heard_at_ = now;
    const bool in_time = books.sent - sent_ > books.late - late_start_;
    started_ = heard_at_ && (in_time || now - *heard_at_ > catching_up_max);
    late_start_ = books.late;
    sent_ = books.sent;
  }
  // Fragments that were too late.
  [[nodiscard]] std::uint64_t late(const ReadoutBooks& books) const noexcept {
    return is_heard(books) ? books.late - late_start_ : books.late;
  }
  // What is held are fragments that are not built, because the manager has stopped in front of
  // them. `next` is the event behind the last one.
  [[nodiscard]] bool holds_no_others(const ReadoutBooks& books, EventId next) const noexcept {
    if (!has_stopped(next)) return books.held == 0;
    const EventId from = stop_->run < begin_.run ? begin_ : std::max(*stop_, begin_);
    return books.held <= next.number - from.number;
  }

 private:
  static constexpr std::chrono::seconds catching_up_max{2};

  static bool is_heard(const ReadoutBooks& books) noexcept {
    return books.settled + books.dropped != 0;
  }

  EventId first_;
  EventId begin_;
  std::uint64_t end_;
  std::optional<EventId> stop_;
  bool started_ = false;
  std::optional<std::chrono::nanoseconds> heard_at_;
  std::uint64_t late_start_ = 0;  // of those sent until it has started
  std::uint64_t sent_ = 0;        // at the last look
};

}  // namespace netio::cli
