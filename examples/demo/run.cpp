// The phases of a run, as events move it from one to the next.
#include "run.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "summary.hpp"
#include "text.hpp"

namespace demo {

namespace {

using std::chrono::seconds;

constexpr seconds connect_within{10};
// What is in the ring and on the wire needs a fraction of a second; a machine may be busy.
constexpr seconds end_within{20};
constexpr seconds end_within_interrupted{3};

}  // namespace

Run::Run(const Options& options)
    : options_(options),
      signals_(context_.loop(), {SIGINT, SIGTERM, SIGCHLD},
               [this](int signal) { on_signal(signal); }),
      card_(options.fragments_per_second),
      readout_(context_, card_),
      reports_(context_),
      tick_(context_.loop(), [this] { show(); }),
      end_(context_.loop(), [this] { end(); }),
      give_up_(context_.loop(), [this] {
        fail(1, phase_ == Phase::connecting ? "builders and trigger did not connect in time"
                                            : "builders and trigger did not end in time");
      }) {
  reports_.on_message([this](const netio::MessageView& message) { on_report(message); });
  report_address_ = reports_.bind("tcp://127.0.0.1:0");
}

int Run::run() {
  print(stdout,
        "A read-out card with {} links makes {} fragments a second for {} s; two builders take "
        "them,\nand pause at half-time. A trigger watches. Ctrl-C ends it early.\n\n",
        link_count, grouped(options_.fragments_per_second), options_.seconds);
  std::fflush(stdout);
  start_children();
  give_up_.start_once(connect_within);
  context_.run();
  return judge();
}

void Run::start_children() {
  const std::string run_for = fmt::format("{}", options_.seconds);
  for (std::size_t i = 0; i < builder_count; ++i) {
    children_.start(
        fmt::format("builder {}", i + 1),
        {"builder", fmt::format("{}", i), readout_.data_address(), report_address_, run_for});
  }
  children_.start("trigger", {"trigger", fmt::format("{}", trigger_index),
                              readout_.trigger_address(), report_address_, run_for});
}

void Run::on_signal(int signal) {
  if (signal == SIGCHLD) {
    while (const auto ended = children_.reap()) on_child_ended(*ended);
    return;
  }
  if (interrupted_ || phase_ == Phase::connecting) {
    fail(130, "interrupted");
    return;
  }
  interrupted_ = true;
  if (phase_ == Phase::running) {
    end();
  } else {
    give_up_.start_once(end_within_interrupted);
  }
}

// Builders and trigger are connected before they report anything.
void Run::on_report(const netio::MessageView& message) {
  Report report;
  if (!report_in(message.bytes(), report) || report.child >= child_count) return;
  last_reports_[report.child] = report;
  if (report.final != 0 && report.child < builder_count) {
    if (!ledgers_[report.child].unpack(message.bytes().subspan(sizeof report))) {
      fail(1, fmt::format("the ledger of builder {} makes no sense", report.child + 1));
    }
  }
  start_if_connected();
}

void Run::start_if_connected() {
  if (phase_ != Phase::connecting || !readout_.trigger_connected() ||
      readout_.builders_connected() != builder_count) {
    return;
  }
  phase_ = Phase::running;
  give_up_.stop();
  stopwatch_.reset();
  card_.start();
  end_.start_once(std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(options_.seconds)));
  tick_.start_periodic(table_.period());
}

// The card stops; what it made is sent, acknowledged and reported; then the children end.
void Run::end() {
  phase_ = Phase::ending;
  end_.stop();
  card_.stop();
  const seconds within = interrupted_ ? end_within_interrupted : end_within;
  give_up_.start_once(within);
  readout_.finish(within, [this] {
    seconds_ = stopwatch_.seconds();
    cpu_seconds_ = stopwatch_.cpu_seconds();
    tick_.stop();
    readout_closed_ = true;
    finish_if_done();
  });
}

void Run::on_child_ended(const Children::Ended& ended) {
  if (phase_ == Phase::over) return;
  if (phase_ != Phase::ending || !ended.in_order) {
    fail(3, fmt::format("{} {}", ended.name, ended.how));
    return;
  }
  finish_if_done();
}

void Run::finish_if_done() {
  if (phase_ != Phase::ending || !readout_closed_ || children_.running() != 0) return;
  for (const Report& report : last_reports_) {
    if (report.final == 0) {
      fail(3, "a process ended without its last report");
      return;
    }
  }
  phase_ = Phase::over;
  context_.stop();
}

void Run::fail(int code, const std::string& what) {
  if (phase_ == Phase::over) return;
  if (!readout_closed_) {
    seconds_ = phase_ == Phase::connecting ? 0 : stopwatch_.seconds();
    cpu_seconds_ = stopwatch_.cpu_seconds();
  }
  phase_ = Phase::over;
  exit_code_ = interrupted_ ? 130 : code;
  failure_ = what;
  card_.stop();
  context_.stop();
}

void Run::show() { table_.show(snapshot()); }

Snapshot Run::snapshot() const {
  Snapshot now;
  now.seconds = stopwatch_.seconds();
  now.sent = readout_.sent();
  now.sent_bytes = readout_.sent_bytes();
  now.ring_fill = card_.fill();
  now.send_fill = readout_.fill();
  now.busy = readout_.busy();
  now.times_busy = readout_.times_busy();
  now.children = last_reports_;
  return now;
}

int Run::judge() {
  const Outcome outcome{snapshot(),       seconds_,          interrupted_,
                        readout_.books(), readout_.agains(), cpu_seconds_};
  if (seconds_ > 0) print_summary(outcome, card_);
  if (!failure_.empty()) {
    std::fflush(stdout);
    print(stderr, "demo: {}\n", failure_);
    return exit_code_;
  }
  const bool verified = verify(outcome, card_, ledgers_);
  if (interrupted_) return 130;
  return verified ? 0 : 1;
}

}  // namespace demo
