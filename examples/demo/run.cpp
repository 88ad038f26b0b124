// The phases of a run, as events move it from one to the next.
#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "context_options.hpp"
#include "cpu_time.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace demo {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds lease{400};
constexpr milliseconds watch_period{20};
constexpr milliseconds strike_period{1};
constexpr milliseconds cards_start_within{300};
// All of this takes a fraction of a second, but the machine may be busy.
constexpr seconds connect_within{30};
constexpr seconds end_within{60};
constexpr seconds good_bye_within{60};
// The ledger has room for events of so many seconds more than the cards are to run.
constexpr double spare_seconds = 120;

// No card fails in this demo, so cards are waited for as long as it takes.
netio::ManagerOptions manager_options() {
  netio::ManagerOptions options;
  options.plan = plan;
  options.lease = lease;
  options.wait = std::chrono::hours(1);
  return options;
}

}  // namespace

Run::Run(const Options& options)
    : options_(options),
      name_(fmt::format("netio-demo-{}", getpid())),
      ledger_(static_cast<std::uint64_t>(options.events_per_second *
                                         (options.seconds + spare_seconds))),
      context_(context_options()),
      signals_(context_.loop(), {SIGINT, SIGTERM, SIGCHLD},
               [this](int signal) { on_signal(signal); }),
      manager_(context_, manager_options()),
      reports_(context_),
      begin_(context_.loop(), [this] { begin(); }),
      tick_(context_.loop(), [this] { show(); }),
      watch_(context_.loop(), [this] { watch(); }),
      strike_(context_.loop(), [this] { strike(); }),
      give_up_(context_.loop(),
               [this] {
                 fail(1, phase_ == Phase::connecting ? "not all processes connected in time"
                                                     : "not all processes ended in time");
               }),
      disturbances_(context_.loop(), {{0.15, [this] { stop_recorder(); }},
                                      {0.25, [this] { continue_recorder(); }},
                                      {0.45, [this] { kill_builder(); }},
                                      {0.70, [this] { restart_builder(); }},
                                      {1.00, [this] { end(); }}}),
      live_(options.seconds) {
  listen();
}

void Run::listen() {
  manager_.on_builder_up([this](std::uint32_t, const netio::PeerInfo&) {
    start_cards_if_connected();
    if (to_end_) end_once_all_are_there();
  });
  manager_.on_refused([](const netio::PeerInfo&, std::string_view why) {
    print(stderr, "manager: refused: {}\n", why);
  });
  manager_.on_superseded([this](std::uint64_t) { fail(1, "there is another event manager"); });
  manager_.on_failed([this](std::string_view why) { fail(1, std::string(why)); });
  reports_.on_message([this](const netio::MessageView& message) { on_report(message); });
}

int Run::run() {
  print(
      stdout,
      "Four read-out cards have a fragment of each of {} events a second, for {} s. Two builders "
      "put the\nfragments of an event together. A recorder gets all events, and a monitor looks "
      "at some. The recorder\nis stopped for a while. Then a builder is killed, and the other one "
      "takes over. Ctrl-C ends it early.\n\n",
      grouped(options_.events_per_second), options_.seconds);
  std::fflush(stdout);
  report_address_ = reports_.bind("tcp://127.0.0.1:0");
  manager_.bind(manager_address(name_));
  for (std::size_t i = first_builder; i < child_count; ++i) {
    if (i != restarted_builder) start_child(i);
  }
  give_up_.start_once(connect_within);
  context_.run();
  return judge();
}

void Run::start_child(std::size_t index) {
  states_[index] = State::works;
  children_.start(
      index, std::string(roles[index].name),
      {"child", fmt::format("{}", index), name_, report_address_, fmt::format("{}", ledger_.fd()),
       fmt::format("{}", options_.events_per_second), fmt::format("{}", start_ns_)});
}

// The cards come last, so that everything is in its place for event 0.
void Run::start_cards_if_connected() {
  if (phase_ != Phase::connecting) return;
  const netio::ManagerBooks books = manager_.books();
  if (books.term == 0) return;  // a new manager assigns nothing for two leases
  for (std::size_t builder = 0; builder < builder_count; ++builder) {
    const Report& report = last_reports_[first_builder + builder];
    if (!books.builders[builder].connected || report.builder.subscribers != 2) return;
  }
  phase_ = Phase::starting;
  give_up_.stop();
  start_ns_ = steady_ns() + std::chrono::nanoseconds(cards_start_within).count();
  begin_.start_once(cards_start_within);
  for (std::size_t card = 0; card < card_count; ++card) start_child(card);
  cards_running_ = card_count;
}

void Run::begin() {
  phase_ = Phase::running;
  live_.head(snapshot());
  disturbances_.start(std::chrono::duration<double>(options_.seconds));
  tick_.start_periodic(live_.period());
  watch_.start_periodic(watch_period);
}

void Run::stop_recorder() {
  states_[recorder_index] = State::stopped;
  children_.signal(recorder_index, SIGSTOP);
  note("the recorder is stopped (SIGSTOP): the builders wait, and the stores of the cards fill up");
}

void Run::continue_recorder() {
  if (std::exchange(states_[recorder_index], State::works) != State::stopped) return;
  children_.signal(recorder_index, SIGCONT);
  note("the recorder goes on (SIGCONT), and the builders catch up");
}

// Right after it has built events that are not settled yet: another builder builds them again.
void Run::kill_builder() {
  built_before_kill_ = ledger_.built_by(killed_builder - first_builder).events;
  strike_.start_periodic(strike_period);
}

void Run::strike() {
  const std::uint64_t built = ledger_.built_by(killed_builder - first_builder).events;
  if (built == built_before_kill_ && !restart_wanted_) return;
  strike_.stop();
  builder_killed_ = true;
  revoked_before_kill_ = manager_.books().revoked;
  children_.signal(killed_builder, SIGKILL);
  note("builder 2 is killed (SIGKILL), and builder 1 goes on");
}

void Run::restart_builder() {
  restart_wanted_ = true;
  if (!builder_killed_) strike();
  restart_if_gone();
}

void Run::restart_if_gone() {
  if (!restart_wanted_ || states_[killed_builder] != State::absent) return;
  restart_wanted_ = false;
  start_child(restarted_builder);
  note("builder 2 is started again");
}

// Notes what happens by itself.
void Run::watch() {
  for (std::size_t card = 0; card < card_count && !told_busy_; ++card) {
    if (last_reports_[card].card.busy == 0) continue;
    told_busy_ = true;
    note(fmt::format("the store of {} is full: it is busy, and waits", roles[card].name));
  }
  const std::uint64_t revoked = manager_.books().revoked - revoked_before_kill_;
  if (builder_killed_ && !taken_over_ && revoked != 0) {
    taken_over_ = true;
    note(fmt::format("the lease of builder 2 is over: the {} that it had {} given to builder 1",
                     revoked == 1 ? "range" : fmt::format("{} ranges", revoked),
                     revoked == 1 ? "is" : "are"));
  }
  if (!builds_again_ && ledger_.built_by(restarted_builder - first_builder).events != 0) {
    builds_again_ = true;
    note("builder 2 builds events again");
  }
}

void Run::show() { live_.show(snapshot()); }

void Run::note(std::string_view what) { live_.note(passed(), what); }

void Run::on_signal(int signal) {
  if (signal == SIGCHLD) {
    while (const auto ended = children_.reap()) on_child_ended(*ended);
    return;
  }
  const bool first = !std::exchange(interrupted_, true);
  if (first && phase_ == Phase::running) {
    note("interrupted: the run ends early, and a second Ctrl-C ends it at once");
    restart_wanted_ = false;
    end();
  } else if (!first || phase_ != Phase::ending) {
    fail(130, "interrupted");
  }
}

void Run::on_report(const netio::MessageView& message) {
  Report report;
  if (!report_in(message.bytes(), report)) return;
  last_reports_[report.child] = report;
  start_cards_if_connected();
  if (to_end_) end_once_all_are_there();
}

void Run::end() {
  disturbances_.stop();
  strike_.stop();
  continue_recorder();
  to_end_ = true;
  give_up_.start_once(end_within);
  end_once_all_are_there();
}

// Waits for a builder that has just been started again: it would find nobody. All cards end in
// front of one event, which lies a little above what the manager has heard of.
void Run::end_once_all_are_there() {
  if (phase_ != Phase::running || restart_wanted_) return;
  const netio::ManagerBooks books = manager_.books();
  if (states_[restarted_builder] == State::works &&
      (!books.builders[roles[restarted_builder].number].connected ||
       last_reports_[restarted_builder].builder.subscribers != 2)) {
    return;
  }
  phase_ = Phase::ending;
  const auto margin = static_cast<std::uint64_t>(options_.events_per_second / 5);
  end_number_ = books.produced.number + margin + 1;
  note(fmt::format("the manager stops the run in front of event {}", grouped(end_number_)));
  manager_.stop({run_number, end_number_}, [this] {
    settled_ = true;
    seconds_ = passed();
    close_manager_if_settled();
  });
}

void Run::on_child_ended(const Children::Ended& ended) {
  if (phase_ == Phase::over) return;
  states_[ended.index] = State::absent;
  const bool killed = ended.index == killed_builder && builder_killed_;
  if (!killed && (phase_ != Phase::ending || !ended.in_order)) {
    fail(3, fmt::format("{} {}", ended.name, ended.how));
    return;
  }
  if (killed) restart_if_gone();
  if (ended.index < card_count) --cards_running_;
  close_manager_if_settled();
  finish_if_done();
}

// Builders end when the manager says good-bye, and recorder and monitor when the builders do.
void Run::close_manager_if_settled() {
  if (!settled_ || cards_running_ != 0 || phase_ != Phase::ending) return;
  if (std::exchange(manager_closing_, true)) return;
  watch_.stop();
  tick_.stop();
  manager_.close(good_bye_within, [this] {
    manager_closed_ = true;
    finish_if_done();
  });
}

// A process ends when its last report has arrived.
void Run::finish_if_done() {
  if (phase_ != Phase::ending || !manager_closed_ || children_.running() != 0) return;
  phase_ = Phase::over;
  context_.stop();
}

void Run::fail(int code, const std::string& what) {
  if (phase_ == Phase::over) return;
  if (seconds_ == 0 && phase_ >= Phase::running) seconds_ = passed();
  phase_ = Phase::over;
  exit_code_ = interrupted_ ? 130 : code;
  failure_ = what;
  context_.stop();
}

double Run::passed() const noexcept { return static_cast<double>(steady_ns() - start_ns_) / 1e9; }

Snapshot Run::snapshot() const {
  Snapshot now;
  now.seconds = passed();
  for (std::size_t i = 0; i < builder_processes; ++i) now.built[i] = ledger_.built_by(i);
  now.recorded = ledger_.recorded();
  now.children = last_reports_;
  now.states = states_;
  now.manager_cpu_seconds = cpu_seconds();
  return now;
}

int Run::judge() {
  if (!failure_.empty()) {
    std::fflush(stdout);
    print(stderr, "demo: {}\n", failure_);
    return exit_code_;
  }
  Outcome outcome;
  outcome.last = snapshot();
  outcome.seconds = seconds_;
  outcome.interrupted = interrupted_;
  outcome.end = end_number_;
  outcome.builder_killed = builder_killed_;
  outcome.builder_restarted = last_reports_[restarted_builder].at_ns != 0;
  outcome.manager = manager_.books();
  outcome.built = ledger_.count_built(end_number_);
  outcome.recorded = ledger_.count_recorded(end_number_);
  print_summary(outcome);
  const bool verified = verify(outcome);
  if (interrupted_) return 130;
  return verified ? 0 : 1;
}

}  // namespace demo
