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
      give_up_(context_.loop(),
               [this] {
                 fail(1, phase_ == Phase::connecting ? "not all processes connected in time"
                                                     : "not all processes ended in time");
               }),
      disturbances_(context_.loop(), {{0.20, [this] { stop_recorder(); }},
                                      {0.35, [this] { continue_recorder(); }},
                                      {0.65, [this] { kill_monitor(); }},
                                      {0.75, [this] { restart_monitor(); }}}) {
  reports_.on_message([this](const netio::MessageView& message) { on_report(message); });
  report_address_ = reports_.bind("tcp://127.0.0.1:0");
  readout_.on_subscribed([this] {
    start_if_connected();
    if (to_end_) end_once_all_are_there();
  });
}

int Run::run() {
  print(stdout,
        "A read-out card with {} links publishes {} fragments a second for {} s. Two builders take "
        "half\nof the links each and lose nothing, though they pause at half-time; a recorder is "
        "stopped for a\nwhile, a monitor killed and restarted. A trigger watches. Ctrl-C ends it "
        "early.\n\n",
        link_count, grouped(options_.fragments_per_second), options_.seconds);
  std::fflush(stdout);
  start_children();
  give_up_.start_once(connect_within);
  context_.run();
  return judge();
}

void Run::start_children() {
  for (std::size_t i = 0; i < first_subscriber_count; ++i) start_subscriber(i);
  children_.start(trigger_index, "trigger",
                  {"trigger", fmt::format("{}", trigger_index), readout_.trigger_address(),
                   report_address_, fmt::format("{}", options_.seconds)});
}

void Run::start_subscriber(std::size_t index) {
  children_.start(index, std::string(roles[index].name),
                  {"subscriber", fmt::format("{}", index), readout_.data_address(), report_address_,
                   fmt::format("{}", options_.seconds)});
}

void Run::stop_recorder() {
  recorder_stopped_ = true;
  children_.signal(recorder_index, SIGSTOP);
  table_.note(stopwatch_.seconds(), "the recorder is stopped (SIGSTOP)");
}

void Run::continue_recorder() {
  if (!std::exchange(recorder_stopped_, false)) return;
  children_.signal(recorder_index, SIGCONT);
  table_.note(stopwatch_.seconds(), "the recorder goes on (SIGCONT)");
}

void Run::kill_monitor() {
  monitor_killed_ = true;
  children_.signal(monitor_index, SIGKILL);
  table_.note(stopwatch_.seconds(), "the monitor is killed (SIGKILL)");
}

void Run::restart_monitor() {
  monitor_restarted_ = true;
  start_subscriber(monitor_again_index);
  table_.note(stopwatch_.seconds(), "the monitor is started again");
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

// The trigger is connected before it reports anything.
void Run::on_report(const netio::MessageView& message) {
  Report report;
  if (!report_in(message.bytes(), report) || report.child >= child_count) return;
  last_reports_[report.child] = report;
  if (report.final != 0 && report.child < builder_count) {
    if (!ledgers_[report.child].unpack(message.bytes().subspan(sizeof report))) {
      fail(1, fmt::format("the ledger of {} makes no sense", roles[report.child].name));
    }
  }
  start_if_connected();
}

void Run::start_if_connected() {
  if (phase_ != Phase::connecting || !readout_.trigger_connected() ||
      !readout_.subscriptions().complete()) {
    return;
  }
  phase_ = Phase::running;
  give_up_.stop();
  stopwatch_.reset();
  card_.start();
  const std::chrono::duration<double> run(options_.seconds);
  disturbances_.start(run);
  end_.start_once(std::chrono::duration_cast<std::chrono::nanoseconds>(run));
  tick_.start_periodic(table_.period());
}

void Run::end() {
  end_.stop();
  disturbances_.stop();
  continue_recorder();
  to_end_ = true;
  end_once_all_are_there();
}

// A monitor that has just been started again would find nobody. The card stops; what it made is
// published, acknowledged and reported; then the children end.
void Run::end_once_all_are_there() {
  if (phase_ != Phase::running) return;
  if (monitor_restarted_ && !readout_.subscriptions().of(monitor_again_index).came) {
    give_up_.start_once(connect_within);
    return;
  }
  phase_ = Phase::ending;
  card_seconds_ = stopwatch_.seconds();
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
  const bool killed = ended.index == monitor_index && monitor_killed_;
  if (!killed && (phase_ != Phase::ending || !ended.in_order)) {
    fail(3, fmt::format("{} {}", ended.name, ended.how));
    return;
  }
  finish_if_done();
}

void Run::finish_if_done() {
  if (phase_ != Phase::ending || !readout_closed_ || children_.running() != 0) return;
  for (std::size_t i = 0; i < child_count; ++i) {
    const bool absent = (i == monitor_index && monitor_killed_) ||
                        (i == monitor_again_index && !monitor_restarted_);
    if (absent || last_reports_[i].final != 0) continue;
    fail(3, "a process ended without its last report");
    return;
  }
  phase_ = Phase::over;
  context_.stop();
}

void Run::fail(int code, const std::string& what) {
  if (phase_ == Phase::over) return;
  if (phase_ == Phase::running) card_seconds_ = stopwatch_.seconds();
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
  now.busy = readout_.busy();
  now.times_busy = readout_.times_busy();
  now.children = last_reports_;
  now.recorder_stopped = recorder_stopped_;
  now.monitor_killed = monitor_killed_;
  now.monitor_restarted = monitor_restarted_;
  return now;
}

int Run::judge() {
  const Outcome outcome{snapshot(),          card_seconds_,           seconds_,
                        interrupted_,        readout_.books(),        cpu_seconds_,
                        readout_.counters(), readout_.subscriptions()};
  if (seconds_ > 0) print_summary(outcome, card_);
  if (!failure_.empty()) {
    std::fflush(stdout);
    print(stderr, "demo: {}\n", failure_);
    return exit_code_;
  }
  const bool exact = verify_books(outcome, card_);
  const bool verified = verify(outcome, card_, ledgers_) && exact;
  if (interrupted_) return 130;
  return verified ? 0 : 1;
}

}  // namespace demo
