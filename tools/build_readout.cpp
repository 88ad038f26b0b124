#include "build_readout.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <netio/context.hpp>
#include <netio/readout_unit.hpp>

#include "build_joining.hpp"
#include "build_peers.hpp"
#include "build_report.hpp"
#include "fragment_source.hpp"
#include "input.hpp"
#include "interrupt.hpp"
#include "pace.hpp"
#include "progress.hpp"
#include "readout_course.hpp"
#include "report.hpp"
#include "session_options.hpp"
#include "verdict.hpp"

namespace netio::cli {

namespace {

// "As long as it takes", in a form that can be added to the clock.
constexpr std::chrono::hours for_ever{24 * 365};
// After Ctrl-C: what was sent may still be built, but somebody is waiting for the prompt.
constexpr std::chrono::seconds after_interrupt{1};
// A unit that joins a run late begins when it is connected to all builders, or after this time: a
// builder may be gone.
constexpr std::chrono::seconds builders_within{1};

ContextOptions readout_context(const ReadoutArguments& arguments) {
  ContextOptions options = context_options(arguments.peer, Role::sender);
  // Each builder says little, but has a connection to say it on. So does a manager.
  constexpr std::size_t connection_bytes = std::size_t{1} << 20U;
  options.receive_pool_bytes =
      std::max(options.receive_pool_bytes, (arguments.plan.builders + 1) * connection_bytes);
  // Fragments that are larger than a page, and the store does not hold in pages.
  options.large_bytes_max = std::max(options.large_bytes_max, 2 * arguments.store_bytes_max);
  return options;
}

ReadoutOptions readout_options(const ReadoutArguments& arguments) {
  ReadoutOptions options;
  options.plan = arguments.plan;
  options.source = arguments.source;
  options.store_bytes_max = arguments.store_bytes_max;
  options.when_full = arguments.when_full;
  options.socket = socket_options(arguments.peer, Mode::buffered);
  return options;
}

class ReadoutSession {
 public:
  explicit ReadoutSession(const ReadoutArguments& arguments);
  ReadoutSession(const ReadoutSession&) = delete;
  ReadoutSession& operator=(const ReadoutSession&) = delete;
  ExitCode run();

 private:
  // A unit with a manager is told where it begins.
  enum class Phase : std::uint8_t { joining, sending, finishing };

  void listen();
  void listen_to_manager();
  void make_source();
  void meet();
  void welcome(EventId produced);
  void begin();
  void stop(EventId at);
  void manager_down(const PeerInfo& peer, const Down& down);
  void pump();
  [[nodiscard]] Turn send_some(Allowance due);
  void go_on();
  void end_of_run();
  void finish(std::chrono::nanoseconds linger);
  void give_up(const BuildPeers& peers);
  void interrupt();
  void fail_for_defect();
  void judge();
  void count_busy();
  [[nodiscard]] std::uint64_t left() const noexcept;
  [[nodiscard]] ProgressSample sample();
  [[nodiscard]] std::string waits_for(bool held_up) const;
  [[nodiscard]] ReadoutSummary summary() const;

  const ReadoutArguments& arguments_;
  Report report_;
  Context context_;
  Progress progress_;
  ReadoutUnit unit_;
  FragmentOutlet outlet_;
  std::unique_ptr<MessageSource> source_;
  BuildPeers builders_;
  BuildPeers manager_;
  Pace pace_;
  Timer turn_;        // the next pump()
  Timer time_is_up_;  // --seconds
  Timer begin_late_;
  Interrupt interrupt_;
  Phase phase_ = Phase::joining;
  ReadoutCourse course_;
  bool interrupted_ = false;
  std::optional<std::chrono::nanoseconds> busy_since_;
  std::uint64_t busy_ = 0;
  std::chrono::nanoseconds busy_for_{0};
  std::uint64_t sampled_messages_ = 0;
  std::chrono::nanoseconds begun_{0};
  std::chrono::nanoseconds ended_{0};
  Verdict verdict_;
};

ReadoutSession::ReadoutSession(const ReadoutArguments& arguments)
    : arguments_(arguments),
      report_(arguments.report, false),
      context_(readout_context(arguments)),
      progress_(context_.loop(), "netio build readout", arguments.report.quiet,
                [this] { return sample(); }),
      unit_(context_, readout_options(arguments)),
      outlet_(unit_, arguments.first),
      builders_(context_.loop(), progress_, builders_of_unit(arguments),
                [this] { give_up(builders_); }),
      manager_(context_.loop(), progress_, one_manager(arguments.manager, arguments),
               [this] { give_up(manager_); }),
      pace_(arguments.rate),
      turn_(context_.loop(), [this] { pump(); }),
      time_is_up_(context_.loop(), [this] { end_of_run(); }),
      begin_late_(context_.loop(), [this] { begin(); }),
      interrupt_(context_.loop(), [this] { interrupt(); }),
      course_(arguments) {
  listen();
  if (arguments.plan.managed) listen_to_manager();
}

void ReadoutSession::listen() {
  unit_.on_room([this] { go_on(); });
  unit_.on_up([this](std::uint32_t builder, const PeerInfo& peer) {
    builders_.up(builder, peer);
    if (begin_late_.running() && unit_.builders_connected() == arguments_.plan.builders) {
      begin_late_.start_once(std::chrono::nanoseconds(0));
    }
  });
  unit_.on_down([this](std::uint32_t builder, const PeerInfo& peer, const Down& down) {
    builders_.down(builder, peer, down);
  });
  unit_.on_refused(
      [this](std::uint32_t builder, std::string_view why) { builders_.refused(builder, why); });
}

void ReadoutSession::listen_to_manager() {
  unit_.on_manager_up([this](const PeerInfo& peer) { manager_.up(0, peer); });
  unit_.on_manager_down(
      [this](const PeerInfo& peer, const Down& down) { manager_down(peer, down); });
  unit_.on_manager_refused([this](std::string_view why) { manager_.refused(0, why); });
  unit_.on_begin([this](EventId produced) { welcome(produced); });
  unit_.on_stop([this](EventId at) { stop(at); });
}

void ReadoutSession::make_source() {
  if (arguments_.file.empty()) {
    source_ = std::make_unique<FragmentLoad>(arguments_.fragment_bytes, arguments_.source, outlet_);
    return;
  }
  if (arguments_.file == "-" && ::isatty(STDIN_FILENO) == 1) {
    progress_.note("reading from the terminal until Ctrl-D");
    progress_.stay_off_terminal();  // what is typed stands where the bar would be drawn
  }
  source_ =
      open_input({arguments_.file, arguments_.frame, arguments_.peer.message_bytes_max, false},
                 context_.loop(), outlet_, [this] { go_on(); });
}

ExitCode ReadoutSession::run() {
  make_source();
  meet();
  begun_ = context_.loop().now();
  progress_.start();
  context_.run();
  if (ended_.count() == 0) ended_ = context_.loop().now();
  count_busy();
  progress_.finish();
  judge();
  verdict_.tell(progress_);
  const ReadoutSummary result = summary();
  report_.publish(to_text(result), [&result] { return to_json(result); });
  return verdict_.code;
}

void ReadoutSession::meet() {
  for (std::uint32_t builder = 0; builder < arguments_.addresses.size(); ++builder) {
    unit_.connect(builder, arguments_.addresses[builder]);
    builders_.expect(builder, arguments_.addresses[builder]);
  }
  // Builders wait for a unit that has nothing yet.
  if (!arguments_.plan.managed || arguments_.first_event) begin();
  if (arguments_.plan.managed) {
    unit_.join(arguments_.manager);
    manager_.expect(0, arguments_.manager);
  }
  builders_.begin();
  manager_.begin();
}

// The manager is there. It says where this unit begins if others are at work already.
void ReadoutSession::welcome(EventId produced) {
  if (phase_ != Phase::joining || begin_late_.running()) return;
  course_.welcome(produced);
  if (!course_.is_late()) return begin();
  begin_late_.start_once(unit_.builders_connected() == arguments_.plan.builders
                             ? std::chrono::nanoseconds(0)
                             : builders_within);
}

void ReadoutSession::begin() {
  if (phase_ != Phase::joining) return;
  phase_ = Phase::sending;
  const EventId at = course_.begin();
  if (at.number > event_number_max) {
    progress_.note(fmt::format("run {} is over: the other units have ended", at.run));
  } else if (course_.is_late()) {
    progress_.note(fmt::format("begins with event {} of run {}, above what others have produced",
                               grouped(at.number), at.run));
  }
  outlet_.begin(at);
  unit_.advance(at);
  begun_ = context_.loop().now();
  pace_.start(begun_);
  if (arguments_.seconds) time_is_up_.start_once(*arguments_.seconds);
  turn_.start_once(std::chrono::nanoseconds(0));
}

// The manager builds nothing from here on. If this unit is there already, it says nothing more: the
// manager knows, or asks, how far it is, and may be gone before it hears of an end.
void ReadoutSession::stop(EventId at) {
  course_.stop(at);
  const EventId next = phase_ == Phase::joining ? course_.begin() : outlet_.next();
  if (phase_ == Phase::finishing || !course_.has_stopped(next)) return;
  progress_.note(fmt::format("the manager has stopped in front of event {} of run {}",
                             grouped(at.number), at.run));
  finish(arguments_.linger.value_or(for_ever));
}

// A manager that has stopped, and says good-bye, builds nothing more.
void ReadoutSession::manager_down(const PeerInfo& peer, const Down& down) {
  manager_.down(0, peer, down);
  if (!course_.stop() || down.reason != DownReason::closed_by_peer) return;
  finish(std::chrono::nanoseconds(0));
}

std::uint64_t ReadoutSession::left() const noexcept { return course_.left(outlet_.next()); }

void ReadoutSession::pump() {
  if (phase_ != Phase::sending || busy_since_) return;
  if (left() == 0) return end_of_run();
  const std::chrono::nanoseconds now = context_.loop().now();
  Allowance due = pace_.due(now, source_->messages(), source_->bytes());
  if (due.messages == 0 || due.bytes == 0) {
    turn_.start_once(pace_.wait(now, source_->messages(), source_->bytes()));
    return;
  }
  due.messages = std::min(due.messages, left());
  const Turn turn = send_some(due);
  course_.note_start(unit_.books(), now);
  // The manager that hears of the last event may be gone before the next turn.
  if (turn != Turn::end && left() == 0) return end_of_run();
  switch (turn) {
    case Turn::more:
      turn_.start_once(std::chrono::nanoseconds(0));
      break;
    case Turn::blocked:
      busy_since_ = now;
      ++busy_;
      turn_.stop();
      break;
    case Turn::waiting:
      turn_.stop();
      break;
    case Turn::end:
      if (!source_->defect().empty()) fail_for_defect();
      end_of_run();
      break;
  }
}

Turn ReadoutSession::send_some(Allowance due) {
  try {
    return source_->send_some(outlet_, due);
  } catch (const Failure& failure) {
    verdict_.fail(failure.code(), failure.what(), failure.advice());
  } catch (const std::bad_alloc&) {
    verdict_.fail(ExitCode::failed, "out of memory for the next record of the input",
                  "a smaller --message-max refuses such records");
  }
  return Turn::end;
}

// The store has room, or there is input again.
void ReadoutSession::go_on() {
  count_busy();
  if (phase_ == Phase::sending) turn_.start_once(std::chrono::nanoseconds(0));
}

void ReadoutSession::count_busy() {
  if (!busy_since_) return;
  busy_for_ += context_.loop().now() - *busy_since_;
  busy_since_.reset();
}

void ReadoutSession::end_of_run() {
  if (phase_ != Phase::sending) return;
  unit_.advance(netio::end_of_run(outlet_.next().run));
  finish(arguments_.linger.value_or(for_ever));
}

void ReadoutSession::finish(std::chrono::nanoseconds linger) {
  phase_ = Phase::finishing;
  count_busy();
  turn_.stop();
  time_is_up_.stop();
  begin_late_.stop();
  unit_.flush();
  unit_.finish(linger, [this] {
    builders_.closing();
    manager_.closing();
    ended_ = context_.loop().now();
    context_.stop();
  });
}

void ReadoutSession::give_up(const BuildPeers& peers) {
  verdict_.fail(peers.code(), peers.cause(), peers.advice());
  finish(std::chrono::nanoseconds(0));
}

void ReadoutSession::interrupt() {
  if (std::exchange(interrupted_, true)) return context_.stop();
  if (phase_ == Phase::finishing) return finish(std::chrono::nanoseconds(0));
  finish(std::min<std::chrono::nanoseconds>(arguments_.linger.value_or(after_interrupt),
                                            after_interrupt));
}

void ReadoutSession::fail_for_defect() {
  verdict_.fail(ExitCode::failed, source_->defect(),
                source_->too_big() ? "raise --store, and --message-max on both sides" : "");
}

void ReadoutSession::judge() {
  const ReadoutBooks books = unit_.books();
  if (interrupted_) {
    verdict_.code = ExitCode::interrupted;
    return;
  }
  if (!course_.holds_no_others(books, outlet_.next())) {
    verdict_.fail(ExitCode::peer_lost,
                  fmt::format("the builders are not done with {}", counted(books.held, "fragment")),
                  "they are lost with this unit; --linger waits longer");
  }
  if (const std::uint64_t late = course_.late(books); late != 0) {
    verdict_.fail(
        ExitCode::failed,
        fmt::format("{} too late: the builders were done with their events",
                    counted(late, "fragment")),
        arguments_.plan.managed
            ? "a longer --unit-wait at the manager waits for a slow unit"
            : "a longer --deadline at the builders waits for a slow unit, and a unit that is "
              "started again needs its --first-event");
  }
}

ProgressSample ReadoutSession::sample() {
  const ReadoutBooks books = unit_.books();
  const bool held_up = busy_since_ && source_->messages() == sampled_messages_;
  sampled_messages_ = source_->messages();
  ProgressSample result{source_->messages(), source_->bytes(), source_->fraction(),
                        waits_for(held_up), "fragment"};
  const double sent = static_cast<double>(std::max<std::uint64_t>(source_->messages(), 1));
  if (arguments_.events) result.fraction = course_.fraction(outlet_.next());
  // Done is what is held no more.
  if (result.fraction) *result.fraction *= 1 - static_cast<double>(books.held) / sent;
  result.more =
      fmt::format("store {:.0f} % full", 100 * static_cast<double>(books.held_bytes) /
                                             static_cast<double>(arguments_.store_bytes_max));
  if (const std::string missed = missed_of(manager_, builders_); !missed.empty()) {
    result.more += ", without " + missed;
  }
  return result;
}

// Said in place of rates; empty: nothing is waited for.
std::string ReadoutSession::waits_for(bool held_up) const {
  const std::string missed = missed_of(manager_, builders_);
  if (phase_ == Phase::joining) {
    return "waiting for " + (missed.empty() ? "the manager to begin" : missed);
  }
  const bool nothing_held = unit_.books().held == 0;
  if (phase_ == Phase::finishing && nothing_held && !manager_.missed().empty()) {
    return "waiting for " + manager_.missed() + " (Ctrl-C ends it)";
  }
  if (phase_ == Phase::finishing && nothing_held && (missed.empty() || arguments_.plan.managed)) {
    return "waiting for the other units to end (Ctrl-C ends it)";
  }
  if (phase_ == Phase::finishing) {
    return fmt::format("waiting for {}, {} held (Ctrl-C ends it)",
                       missed.empty() ? "builders to be done" : missed,
                       counted(unit_.books().held, "fragment"));
  }
  if (!held_up) return {};
  return missed.empty() ? "held up: the store is full" +
                              mostly_for(unit_.held_for_builders(), unit_.books().held_bytes)
                        : fmt::format("held up: the store is full, {} missing", missed);
}

ReadoutSummary ReadoutSession::summary() const {
  ReadoutSummary result;
  result.plan = arguments_.plan;
  result.code = verdict_.code;
  result.error = verdict_.error;
  result.bytes = source_->bytes();
  result.seconds = seconds_of(ended_ - begun_);
  result.peers = builders_.counts();
  result.refused = builders_.refusals();
  if (arguments_.plan.managed) result.manager = manager_summary(arguments_.manager, manager_);
  result.stop = course_.stop();
  result.addresses = arguments_.addresses;
  result.source = arguments_.source;
  result.first = course_.begin();
  result.next = outlet_.next();
  result.books = unit_.books();
  result.held_for = unit_.held_for_builders();
  result.busy = busy_;
  result.busy_seconds = seconds_of(busy_for_);
  return result;
}

}  // namespace

ExitCode run_build_readout(const ReadoutArguments& arguments) {
  return ReadoutSession(arguments).run();
}

}  // namespace netio::cli
