#include "build_builder.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <netio/builder_unit.hpp>
#include <netio/context.hpp>

#include "build_joining.hpp"
#include "build_peers.hpp"
#include "build_report.hpp"
#include "event_check.hpp"
#include "event_files.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "session_options.hpp"
#include "verdict.hpp"

namespace netio::cli {

namespace {

constexpr std::chrono::seconds last_word_within{1};
constexpr std::chrono::milliseconds look_every{20};
constexpr std::size_t missing_shown_max = 3;

BuilderOptions builder_options(const BuilderArguments& arguments) {
  BuilderOptions options;
  options.plan = arguments.plan;
  options.builder = arguments.builder;
  options.deadline = arguments.deadline;
  options.meet_within = arguments.meet_within.value_or(options.meet_within);
  options.window_bytes = arguments.window_bytes;
  options.turns = arguments.turns;
  options.weight = arguments.weight.value_or(options.weight);
  options.credit = arguments.credit.value_or(options.credit);
  options.socket = socket_options(arguments.peer, Mode::buffered);
  // What cannot be written, or is not wanted any more, is kept: so it stays with the units.
  options.settle_released = true;
  return options;
}

class BuilderSession {
 public:
  explicit BuilderSession(const BuilderArguments& arguments);
  BuilderSession(const BuilderSession&) = delete;
  BuilderSession& operator=(const BuilderSession&) = delete;
  ExitCode run();

 private:
  using ToldReasons = std::array<bool, static_cast<std::size_t>(Missing::count_)>;

  void listen();
  void listen_to_manager();
  void take(const Event& event);
  [[nodiscard]] bool write(const Event& event);
  void leave(const Event& event) noexcept;
  void count_missing(const Event& event);
  void peer_up(std::uint32_t source, const PeerInfo& peer);
  void look_for_end();
  void close();
  void end_soon();
  void give_up(const BuildPeers& peers);
  void interrupt();
  void judge();
  [[nodiscard]] BuilderBooks books() const;
  [[nodiscard]] ProgressSample sample();
  [[nodiscard]] static std::string slowest(const BuilderBooks& books);
  [[nodiscard]] BuilderSummary summary() const;

  const BuilderArguments& arguments_;
  Report report_;
  Context context_;
  Progress progress_;
  std::vector<KeptEvent> left_;  // to the units
  BuilderUnit unit_;
  std::optional<EventFiles> files_;
  std::optional<EventCheck> check_;
  BuildPeers units_;
  BuildPeers manager_;
  Timer look_timer_;
  Timer time_is_up_;  // --seconds
  Timer end_soon_;
  Interrupt interrupt_;
  std::vector<std::string> addresses_;
  BuilderBooks taken_;  // what is counted here: without the events that are left to the units
  std::vector<std::uint64_t> without_;     // by source
  std::vector<ToldReasons> told_reasons_;  // by source
  bool full_ = false;                      // nothing more is wanted
  bool closing_ = false;
  bool interrupted_ = false;
  std::optional<std::chrono::nanoseconds> begun_;
  std::chrono::nanoseconds last_{0};  // event
  BuilderBooks books_;
  Verdict verdict_;
};

BuilderSession::BuilderSession(const BuilderArguments& arguments)
    : arguments_(arguments),
      report_(arguments.report, false),
      context_(BuilderUnit::with_memory(builder_options(arguments),
                                        context_options(arguments.peer, Role::receiver))),
      progress_(context_.loop(), "netio build builder", arguments.report.quiet,
                [this] { return sample(); }),
      unit_(context_, builder_options(arguments)),
      units_(context_.loop(), progress_,
             {"unit", arguments.plan.sources, false, arguments.peer.connect_timeout},
             [this] { give_up(units_); }),
      manager_(context_.loop(), progress_, one_manager(arguments.manager, arguments),
               [this] { give_up(manager_); }),
      look_timer_(context_.loop(), [this] { look_for_end(); }),
      time_is_up_(context_.loop(), [this] { close(); }),
      end_soon_(context_.loop(), [this] { close(); }),
      interrupt_(context_.loop(), [this] { interrupt(); }),
      without_(arguments.plan.sources),
      told_reasons_(arguments.plan.sources) {
  taken_.sources.resize(arguments.plan.sources);
  listen();
  if (arguments.plan.managed) listen_to_manager();
  if (arguments.verify) {
    check_.emplace(arguments.plan, arguments.builder,
                   [this](const std::string& text) { progress_.note(text); });
  }
}

void BuilderSession::listen() {
  unit_.on_up([this](std::uint32_t source, const PeerInfo& peer) { peer_up(source, peer); });
  unit_.on_down([this](std::uint32_t source, const PeerInfo& peer, const Down& down) {
    units_.down(source, peer, down);
    look_for_end();
  });
  unit_.on_refused(
      [this](const PeerInfo& peer, std::string_view why) { units_.refused(peer, why); });
  unit_.on_event([this](const Event& event) { take(event); });
}

void BuilderSession::listen_to_manager() {
  unit_.on_manager_up([this](const PeerInfo& peer) { manager_.up(0, peer); });
  unit_.on_manager_down([this](const PeerInfo& peer, const Down& down) {
    manager_.down(0, peer, down);
    look_for_end();
  });
  unit_.on_manager_refused([this](std::string_view why) { manager_.refused(0, why); });
}

ExitCode BuilderSession::run() {
  for (const std::string& each : arguments_.addresses) {
    const auto bind = [this](const std::string& address) { return unit_.bind(address); };
    addresses_.push_back(bind_when_there(each, bind, arguments_.peer, progress_));
  }
  if (arguments_.plan.managed) {
    unit_.join(arguments_.manager);
    manager_.expect(0, arguments_.manager);
  }
  // Only now: an address that cannot be had leaves no files behind.
  if (!arguments_.out.empty()) {
    files_.emplace(arguments_.out, arguments_.builder, arguments_.plan.sources, arguments_.append);
  }
  for (const std::string& each : addresses_) progress_.note("listening on " + each);
  manager_.begin();
  units_.begin();
  context_.run();
  progress_.finish();
  books_ = books();
  judge();
  if (interrupted_) verdict_.code = ExitCode::interrupted;
  verdict_.tell(progress_);
  const BuilderSummary result = summary();
  report_.publish(to_text(result), [&result] { return to_json(result); });
  return verdict_.code;
}

// An event is settled when this returns, unless it is left to the units.
void BuilderSession::take(const Event& event) {
  if (full_) return leave(event);
  if (!write(event)) {
    leave(event);
    return end_soon();
  }
  if (check_) check_->check(event);
  count_missing(event);
  ++(event.complete() ? taken_.complete : taken_.incomplete);
  if (event.again()) ++taken_.again;
  taken_.bytes += event.bytes();
  last_ = context_.loop().now();
  if (taken_.complete + taken_.incomplete == arguments_.events) end_soon();
}

bool BuilderSession::write(const Event& event) {
  if (!files_) return true;
  files_->write(event);
  switch (files_->state()) {
    case Output::State::open:
      return true;
    case Output::State::interrupted:
      interrupted_ = true;
      break;
    case Output::State::reader_gone:
    case Output::State::failed:
      verdict_.fail(ExitCode::failed, files_->error(), "the units still have what was not written");
      break;
  }
  return false;
}

void BuilderSession::leave(const Event& event) noexcept {
  try {
    left_.push_back(event.keep());
  } catch (const std::bad_alloc&) {
    verdict_.fail(ExitCode::failed, "out of memory for an event that is left to the units", {});
  }
}

// Notes the first event that a source is missing in for a reason, since it was connected.
void BuilderSession::count_missing(const Event& event) {
  for (std::uint32_t source = 0; source < event.size(); ++source) {
    const EventFragment fragment = event[source];
    if (fragment.here) continue;
    if (fragment.missing == Missing::no) {
      ++without_[source];
      continue;
    }
    ++taken_.sources[source].missing_by[static_cast<std::size_t>(fragment.missing)];
    bool& told = told_reasons_[source][static_cast<std::size_t>(fragment.missing)];
    if (std::exchange(told, true)) continue;
    progress_.note(fmt::format("event {} of run {} is incomplete: unit {} {}",
                               grouped(event.id().number), event.id().run, source,
                               missing_word(fragment.missing)));
  }
}

void BuilderSession::peer_up(std::uint32_t source, const PeerInfo& peer) {
  told_reasons_[source] = {};
  units_.up(source, peer);
  if (begun_) return;
  begun_ = last_ = context_.loop().now();
  progress_.start();
  if (arguments_.seconds) time_is_up_.start_once(*arguments_.seconds);
}

// What units that have ended left open is over when its deadline is. With a manager, this builder
// ends when the manager has. What is open then may be built after another manager has come, as long
// as there are units.
void BuilderSession::look_for_end() {
  if (closing_ || arguments_.stay) return;
  const bool managed = arguments_.plan.managed;
  if (managed ? !manager_.all_ended() : !units_.all_ended()) return;
  const bool hopeless = managed && units_.here() == 0;
  if (unit_.books().open != 0 && !hopeless) return look_timer_.start_once(look_every);
  close();
}

// Not from here: an event is being handed over.
void BuilderSession::end_soon() {
  full_ = true;
  end_soon_.start_once(std::chrono::nanoseconds(0));
}

void BuilderSession::close() {
  if (std::exchange(closing_, true)) return;
  full_ = true;
  units_.closing();
  manager_.closing();
  time_is_up_.stop();
  unit_.close(last_word_within, [this] { context_.stop(); });
}

void BuilderSession::give_up(const BuildPeers& peers) {
  verdict_.fail(peers.code(), peers.cause(), peers.advice());
  close();
}

void BuilderSession::interrupt() {
  if (std::exchange(interrupted_, true) || closing_) return context_.stop();
  close();
}

BuilderBooks BuilderSession::books() const {
  BuilderBooks books = unit_.books();
  books.complete = taken_.complete;
  books.incomplete = taken_.incomplete;
  books.again = taken_.again;
  books.bytes = taken_.bytes;
  for (std::size_t source = 0; source < books.sources.size(); ++source) {
    books.sources[source].missing_by = taken_.sources[source].missing_by;
  }
  return books;
}

void BuilderSession::judge() {
  if (check_ && !check_->result().passed()) {
    const EventVerification& checked = check_->result();
    verdict_.fail(ExitCode::failed,
                  fmt::format("verification failed: {} wrong, {} skipped, {} out of order",
                              counted(checked.wrong, "fragment"), counted(checked.skipped, "event"),
                              grouped(checked.order)),
                  checked.right == 0 && checked.wrong != 0
                      ? "fragments of a file bear no checksum: --verify is for generated load"
                      : "");
  }
  if (arguments_.complete && books_.incomplete != 0) {
    verdict_.fail(ExitCode::failed,
                  fmt::format("{} of {} incomplete: {}", grouped(books_.incomplete),
                              counted(books_.complete + books_.incomplete, "event"),
                              missing_text(books_, missing_shown_max)),
                  {});
  }
  if (units_.counts().lost != 0) {
    verdict_.fail(ExitCode::peer_lost, "lost " + units_.last_loss(), "what its store held is gone");
  }
}

// The unit that most open events wait for.
std::string BuilderSession::slowest(const BuilderBooks& books) {
  std::uint64_t most = 0;
  std::size_t slow = 0;
  for (std::size_t source = 0; source < books.sources.size(); ++source) {
    const std::uint64_t here = std::min(books.sources[source].open, books.open);
    if (books.open - here <= most) continue;
    most = books.open - here;
    slow = source;
  }
  if (most == 0) return "";
  return fmt::format(", {} wait for unit {}{}", grouped(most), slow,
                     books.sources[slow].busy ? ", whose store is full" : "");
}

ProgressSample BuilderSession::sample() {
  const BuilderBooks books = this->books();
  ProgressSample result{books.complete + books.incomplete, books.bytes, std::nullopt, {}, "event"};
  const std::string missed = missed_of(manager_, units_);
  if (units_.here() == 0) {
    result.waits_for = missed.empty() ? "waiting for units" : "waiting for " + missed;
    return result;
  }
  result.more = fmt::format("{} open{}", grouped(books.open), slowest(books));
  if (!missed.empty()) result.more += ", without " + missed;
  if (books.incomplete != 0) {
    result.more += fmt::format(", {} incomplete ({})", grouped(books.incomplete),
                               missing_text(books, missing_shown_max));
  }
  return result;
}

BuilderSummary BuilderSession::summary() const {
  BuilderSummary result;
  result.plan = arguments_.plan;
  result.code = verdict_.code;
  result.error = verdict_.error;
  result.bytes = books_.bytes;
  result.seconds = begun_ ? seconds_of(last_ - *begun_) : 0;
  result.peers = units_.counts();
  result.refused = units_.refusals();
  if (arguments_.plan.managed) result.manager = manager_summary(arguments_.manager, manager_);
  result.addresses = addresses_;
  result.builder = arguments_.builder;
  result.left = left_.size();
  result.books = books_;
  result.without = without_;
  if (check_) result.verification = check_->result();
  if (files_) {
    result.written = BuilderSummary::Written{files_->folder(), files_->events_written(),
                                             files_->bytes_written(), files_->events_there()};
  }
  return result;
}

}  // namespace

ExitCode run_build_builder(const BuilderArguments& arguments) {
  return BuilderSession(arguments).run();
}

}  // namespace netio::cli
