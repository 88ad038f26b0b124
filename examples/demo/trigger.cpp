// Triggers go out by a timer of the loop; their round trips are measured here.
#include "trigger.hpp"

#include <cstddef>
#include <cstdio>

#include <fmt/format.h>

#include "pulse.hpp"
#include "text.hpp"

namespace demo {

namespace {

constexpr std::chrono::microseconds trigger_period{500};

netio::SocketOptions unbuffered() {
  netio::SocketOptions options;
  options.mode = netio::Mode::unbuffered;
  return options;
}

// Not the loop's now(), which stands still for a turn: this is what is measured.
std::int64_t clock_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

Trigger::Trigger(const ChildOptions& options)
    : options_(options),
      pair_(context_, unbuffered()),
      timer_(context_.loop(), [this] { send_trigger(); }),
      reporter_(context_, options.report_address, [this](bool final) { return report(final); }) {
  report_.child = options.index;
  all_.reserve(static_cast<std::size_t>(2 * options.run / trigger_period));
  recent_.reserve(4096);
  pair_.on_message([this](const netio::MessageView& message) { on_message(message); });
  pair_.on_up([this](const netio::PeerInfo&) {
    stopwatch_.reset();
    timer_.start_periodic(trigger_period);
    reporter_.start();
  });
  pair_.on_down([this](const netio::PeerInfo&, const netio::Down& down) { on_down(down); });
}

int Trigger::run() {
  pair_.connect(options_.address);
  context_.run();
  return reporter_.finished() ? 0 : 1;
}

void Trigger::send_trigger() {
  const Pulse pulse{PulseKind::trigger, busy_, report_.triggers, clock_ns()};
  if (pair_.send(bytes_of(pulse)) == netio::Status::ok) ++report_.triggers;
}

void Trigger::on_message(const netio::MessageView& message) {
  const auto pulse = pulse_in(message.bytes());
  if (!pulse) return;
  if (pulse->kind == PulseKind::echo) {
    const std::int64_t ns = clock_ns() - pulse->sent_ns;
    all_.add(ns);
    recent_.add(ns);
    ++report_.round_trips;
  }
  if (pulse->level != busy_) {
    busy_ = pulse->level;
    const Pulse hold{PulseKind::level, busy_, 0, 0};
    (void)pair_.send(bytes_of(hold));  // else the next trigger says it
  }
}

void Trigger::on_down(const netio::Down& down) {
  timer_.stop();
  if (down.reason != netio::DownReason::closed_by_peer) {
    print(stderr, "trigger: {}\n", down.detail);
    context_.stop();
    return;
  }
  pair_.close();
  reporter_.finish({});
}

Report Trigger::report(bool final) {
  Percentiles& times = final ? all_ : recent_;
  Report report = report_;
  report.final = final;
  report.seconds = stopwatch_.seconds();
  report.cpu_seconds = stopwatch_.cpu_seconds();
  report.p50_ns = times.at(0.5);
  report.p99_ns = times.at(0.99);
  report.p999_ns = times.at(0.999);
  report.max_ns = times.at(1);
  recent_.clear();
  return report;
}

}  // namespace demo
