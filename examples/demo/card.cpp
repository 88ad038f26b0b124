// The idiom of event-driven read-out: send until the unit answers "again", and go on when it calls.
#include "card.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "context_options.hpp"
#include "cpu_time.hpp"
#include "text.hpp"

namespace demo {

namespace {

constexpr std::chrono::milliseconds turn_period{2};
// A card that was held up sends at most so many times as fast as events are due, until it has
// caught up.
constexpr double catch_up = 2;
// The longest turn that counts for that: a process that did not run for long gets no large burst.
constexpr std::int64_t turn_ns_max = 20'000'000;

netio::ReadoutOptions readout_options(std::uint32_t source) {
  netio::ReadoutOptions options;
  options.plan = plan;
  options.source = source;
  options.store_bytes_max = store_bytes_max;
  // A builder that was killed is found soon after it was started again.
  options.socket.reconnect_after_max = std::chrono::milliseconds(100);
  return options;
}

}  // namespace

Card::Card(const ChildOptions& options)
    : options_(options),
      source_(roles[options.index].number),
      context_(context_options()),
      unit_(context_, readout_options(source_)),
      turn_(context_.loop(), [this] { send_due(); }),
      reporter_(context_, options, [this](Report& report, bool) { fill(report); }) {
  unit_.on_begin([this](netio::EventId) {
    if (std::exchange(begun_, true)) return;
    last_ns_ = steady_ns();
    turn_.start_periodic(turn_period);
  });
  unit_.on_stop([this](netio::EventId at) { stop(at); });
  unit_.on_room([this] { go_on(); });
  unit_.on_manager_refused(
      [this](std::string_view why) { print(stderr, "{}: {}\n", roles[options_.index].name, why); });
  unit_.on_refused([this](std::uint32_t, std::string_view why) {
    print(stderr, "{}: {}\n", roles[options_.index].name, why);
  });
}

int Card::run() {
  unit_.join(manager_address(options_.name));
  context_.run();
  return reporter_.finished() ? 0 : 1;
}

void Card::send_due() {
  const std::uint64_t below = next_ + allowed(steady_ns());
  while (!busy_ && next_ < below && send_next()) {
  }
  end_if_done();
}

// How many events may be sent now.
std::uint64_t Card::allowed(std::int64_t now_ns) {
  const std::int64_t turn_ns = std::min(now_ns - std::exchange(last_ns_, now_ns), turn_ns_max);
  const double rate_ns = options_.events_per_second / 1e9;
  const double due = static_cast<double>(now_ns - options_.start_ns) * rate_ns;
  const double behind = due - static_cast<double>(next_);
  if (behind < 1) return 0;
  const double most = std::max(1.0, catch_up * static_cast<double>(turn_ns) * rate_ns);
  const auto count = static_cast<std::uint64_t>(std::min(behind, most));
  return end_ ? std::min(count, *end_ - std::min(*end_, next_)) : count;
}

// False if the store is full: go_on() is called when it has room.
bool Card::send_next() {
  const double due_ns = static_cast<double>(next_) * 1e9 / options_.events_per_second;
  const auto bytes = write_fragment(fragment_, source_, next_,
                                    options_.start_ns + static_cast<std::int64_t>(due_ns));
  if (unit_.send({run_number, next_}, bytes) == netio::Status::ok) {
    ++next_;
    return true;
  }
  busy_ = true;
  busy_since_ns_ = steady_ns();
  ++times_busy_;
  reporter_.tell();
  return false;
}

void Card::go_on() {
  if (!std::exchange(busy_, false)) return;
  busy_ns_ += steady_ns() - busy_since_ns_;
}

// The other cards end in front of the same event.
void Card::stop(netio::EventId at) {
  end_ = at.number;
  end_if_done();
}

void Card::end_if_done() {
  if (!begun_ || !end_ || next_ < *end_ || std::exchange(finishing_, true)) return;
  turn_.stop();
  unit_.advance({run_number, next_});
  unit_.flush();
  unit_.finish(std::chrono::hours(1), [this] { reporter_.finish(); });
}

void Card::fill(Report& report) const {
  report.card.books = unit_.books();
  report.card.next = next_;
  report.card.end = end_.value_or(0);
  report.card.times_busy = times_busy_;
  report.card.busy = busy_ ? 1 : 0;
  const std::int64_t busy_ns = busy_ns_ + (busy_ ? steady_ns() - busy_since_ns_ : 0);
  report.card.busy_seconds = static_cast<double>(busy_ns) / 1e9;
}

}  // namespace demo
