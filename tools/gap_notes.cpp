#include "gap_notes.hpp"

#include <chrono>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "units.hpp"

namespace netio::cli {

namespace {

constexpr std::chrono::seconds quiet_for{1};

}  // namespace

GapNotes::GapNotes(Loop& loop, std::function<void(const std::string&)> note)
    : note_(std::move(note)), timer_(loop, [this] {
        if (gaps_ != 0) say();
      }) {}

void GapNotes::add(const std::string& publisher, const Gap& gap) {
  missed_by_[static_cast<std::size_t>(gap.reason)] += gap.count;
  // Who samples wants most messages not to come: once is enough to see that it happens.
  if (gap.reason == DropReason::superseded && std::exchange(superseded_noted_, true)) return;
  if (gaps_++ == 0) {
    first_ = gap.first;
    publisher_ = publisher;
    several_ = false;
  } else if (publisher != publisher_) {
    several_ = true;
  }
  unsaid_[static_cast<std::size_t>(gap.reason)] += gap.count;
  if (!timer_.running()) say();
}

void GapNotes::finish() {
  timer_.stop();
  if (gaps_ != 0) say();
}

void GapNotes::say() {
  const std::uint64_t messages = std::accumulate(unsaid_.begin(), unsaid_.end(), std::uint64_t{0});
  note_(fmt::format("missed {} in {}, from number {} of {}{} on: {}", counted(messages, "message"),
                    counted(gaps_, "gap"), grouped(first_), publisher_,
                    several_ ? " and of others" : "", drop_reasons(unsaid_)));
  unsaid_ = {};
  gaps_ = 0;
  timer_.start_once(quiet_for);
}

}  // namespace netio::cli
