#include "build_manager.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <netio/context.hpp>
#include <netio/event_manager.hpp>

#include "build_peers.hpp"
#include "build_report.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "session_options.hpp"
#include "units.hpp"
#include "verdict.hpp"

namespace netio::cli {

namespace {

constexpr std::chrono::seconds good_bye_within{1};
constexpr std::chrono::milliseconds look_for_open_every{20};
constexpr std::size_t shares_shown_max = 8;
constexpr std::size_t units_shown_max = 4;

ManagerOptions manager_options(const ManagerArguments& arguments) {
  ManagerOptions options;
  options.plan = arguments.plan;
  options.lease = arguments.lease;
  options.wait = arguments.wait;
  options.socket = socket_options(arguments.peer, Mode::buffered);
  return options;
}

class ManagerSession {
 public:
  explicit ManagerSession(const ManagerArguments& arguments);
  ManagerSession(const ManagerSession&) = delete;
  ManagerSession& operator=(const ManagerSession&) = delete;
  ExitCode run();

 private:
  void listen();
  void refused(const PeerInfo& peer, std::string_view why);
  void look_for_end();
  [[nodiscard]] EventId produced() const;
  void stop(EventId at);
  void close();
  void give_up(const BuildPeers& peers);
  void interrupt();
  void judge();
  [[nodiscard]] ProgressSample sample();
  [[nodiscard]] std::string waits_for(const ManagerBooks& books) const;
  [[nodiscard]] std::string shares(const ManagerBooks& books);
  [[nodiscard]] ManagerSummary summary() const;

  const ManagerArguments& arguments_;
  Report report_;
  Context context_;
  Progress progress_;
  EventManager manager_;
  BuildPeers units_;
  BuildPeers builders_;
  Timer look_timer_;
  Timer time_is_up_;  // --seconds
  Interrupt interrupt_;
  std::vector<std::string> addresses_;
  std::vector<std::uint64_t> given_;  // by builder, at the last sample
  bool met_ = false;                  // a unit or a builder was here
  bool stopping_ = false;
  bool closing_ = false;
  bool interrupted_ = false;
  std::chrono::nanoseconds begun_{0};
  std::chrono::nanoseconds ended_{0};
  ManagerBooks books_;
  Verdict verdict_;
};

ManagerSession::ManagerSession(const ManagerArguments& arguments)
    : arguments_(arguments),
      report_(arguments.report, false),
      context_(context_options(arguments.peer, Role::both)),
      progress_(context_.loop(), "netio build manager", arguments.report.quiet,
                [this] { return sample(); }),
      manager_(context_, manager_options(arguments)),
      units_(context_.loop(), progress_,
             {"unit", arguments.plan.sources, false, arguments.peer.connect_timeout},
             [this] { give_up(units_); }),
      builders_(context_.loop(), progress_,
                {"builder", arguments.plan.builders, false, arguments.peer.connect_timeout},
                [this] { give_up(builders_); }),
      look_timer_(context_.loop(), [this] { look_for_end(); }),
      time_is_up_(context_.loop(), [this] { stop(produced()); }),
      interrupt_(context_.loop(), [this] { interrupt(); }),
      given_(arguments.plan.builders) {
  listen();
}

void ManagerSession::listen() {
  manager_.on_unit_up([this](std::uint32_t source, const PeerInfo& peer) {
    met_ = true;
    units_.up(source, peer);
  });
  manager_.on_builder_up([this](std::uint32_t builder, const PeerInfo& peer) {
    met_ = true;
    builders_.up(builder, peer);
  });
  manager_.on_unit_down([this](std::uint32_t source, const PeerInfo& peer, const Down& down) {
    units_.down(source, peer, down);
    look_for_end();
  });
  manager_.on_builder_down([this](std::uint32_t builder, const PeerInfo& peer, const Down& down) {
    builders_.down(builder, peer, down);
  });
  manager_.on_refused([this](const PeerInfo& peer, std::string_view why) { refused(peer, why); });
  manager_.on_superseded([this](std::uint64_t term) {
    verdict_.fail(ExitCode::failed, fmt::format("another manager is at work, with term {}", term),
                  "only one may be at work at a time: end the other one, or leave it to that one");
    close();
  });
  manager_.on_failed([this](std::string_view why) {
    verdict_.fail(ExitCode::failed, std::string(why), "start it again: it learns what is done");
    close();
  });
}

ExitCode ManagerSession::run() {
  for (const std::string& address : arguments_.addresses) {
    const auto bind = [this](const std::string& one) { return manager_.bind(one); };
    addresses_.push_back(bind_when_there(address, bind, arguments_.peer, progress_));
    progress_.note("listening on " + addresses_.back());
  }
  units_.begin();
  builders_.begin();
  begun_ = context_.loop().now();
  progress_.start();
  if (arguments_.seconds) time_is_up_.start_once(*arguments_.seconds);
  if (arguments_.events) stop({arguments_.run, *arguments_.events});
  context_.run();
  if (ended_.count() == 0) ended_ = context_.loop().now();
  progress_.finish();
  books_ = manager_.books();
  judge();
  if (interrupted_) verdict_.code = ExitCode::interrupted;
  verdict_.tell(progress_);
  const ManagerSummary result = summary();
  report_.publish(to_text(result), [&result] { return to_json(result); });
  return verdict_.code;
}

// The reason begins with who it is.
void ManagerSession::refused(const PeerInfo& peer, std::string_view why) {
  (why.starts_with("builder ") ? builders_ : units_).refused(peer, why);
}

// Builders may still be at work on what units have left open. Those that are gone will not be.
// After Ctrl-C units that are not here are not waited for.
void ManagerSession::look_for_end() {
  const bool left = interrupted_ ? units_.here() == 0 : units_.all_ended() && !arguments_.stay;
  if (closing_ || !left) return;
  const bool open = manager_.books().open != 0 && builders_.here() != 0;
  if (open) return look_timer_.start_once(look_for_open_every);
  close();
}

void ManagerSession::stop(EventId at) {
  if (closing_) return;
  stopping_ = true;
  manager_.stop(at, [this] { close(); });
}

void ManagerSession::close() {
  if (std::exchange(closing_, true)) return;
  ended_ = context_.loop().now();
  units_.closing();
  builders_.closing();
  time_is_up_.stop();
  look_timer_.stop();
  manager_.close(good_bye_within, [this] { context_.stop(); });
}

void ManagerSession::give_up(const BuildPeers& peers) {
  verdict_.fail(peers.code(), peers.cause(), peers.advice());
  close();
}

// In front of it everything is built that units have produced so far. A unit that has ended its run
// has produced all that it has, and the others may be far from there.
EventId ManagerSession::produced() const {
  const ManagerBooks books = manager_.books();
  EventId most = books.assigned_below;
  for (const ManagerBooks::Unit& unit : books.units) {
    if (unit.produced.number <= event_number_max) most = std::max(most, unit.produced);
  }
  return most == EventId{} ? books.produced : most;
}

// The second Ctrl-C ends at once. So does the first one if there is nothing to wait for.
void ManagerSession::interrupt() {
  if (std::exchange(interrupted_, true) || closing_) return context_.stop();
  if (!met_) return close();
  const EventId produced = this->produced();
  progress_.note(fmt::format("stopping in front of event {} of run {}; Ctrl-C again ends at once",
                             grouped(produced.number), produced.run));
  stop(produced);
  look_for_end();
}

// What a builder had that was lost is built by others, if there are any.
void ManagerSession::judge() {
  if (units_.counts().lost != 0)
    verdict_.fail(ExitCode::peer_lost, "lost " + units_.last_loss(), {});
  if (builders_.counts().lost != 0 && books_.open + books_.waiting != 0) {
    verdict_.fail(ExitCode::peer_lost, "lost " + builders_.last_loss(),
                  "some of its events are not built");
  }
}

std::string ManagerSession::waits_for(const ManagerBooks& books) const {
  const auto named = [](const std::string& missed, const char* all) {
    return "waiting for " + (missed.empty() ? std::string(all) + " (all have ended)" : missed);
  };
  if (units_.here() == 0) return named(units_.missed(), "a unit");
  if (builders_.here() == 0) return named(builders_.missed(), "a builder");
  if (books.term == 0) return "learning what was assigned before";
  return {};
}

// What part of the new assignments each builder was given: "builders 52% 48%".
std::string ManagerSession::shares(const ManagerBooks& books) {
  std::vector<std::uint64_t> parts;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < books.builders.size(); ++i) {
    const std::uint64_t given = books.builders[i].done + books.builders[i].open;
    const std::uint64_t before = std::exchange(given_[i], given);
    parts.push_back(given - std::min(before, given));
    all += parts.back();
  }
  if (all == 0 || parts.size() < 2) return {};
  const auto percent = [all](std::uint64_t part) {
    return fmt::format("{:.0f}%", 100 * static_cast<double>(part) / static_cast<double>(all));
  };
  std::string text = ", builders";
  if (parts.size() > shares_shown_max) {
    const auto [least, most] = std::ranges::minmax(parts);
    return text + fmt::format(" {} to {}", percent(least), percent(most));
  }
  for (const std::uint64_t part : parts) text += " " + percent(part);
  return text;
}

// "unit 2", "units 0, 2 and 7 more"; empty if `is_so` is true of none.
template <typename Is>
std::string listed(const ManagerBooks& books, Is&& is_so) {
  std::string list;
  std::size_t count = 0;
  for (std::size_t number = 0; number < books.units.size(); ++number) {
    if (!is_so(books.units[number])) continue;
    if (++count <= units_shown_max) list += fmt::format("{}{}", count == 1 ? "" : ", ", number);
  }
  if (count == 0) return {};
  if (count > units_shown_max) list += fmt::format(" and {} more", count - units_shown_max);
  return fmt::format("unit{} {}", count == 1 ? "" : "s", list);
}

ProgressSample ManagerSession::sample() {
  const ManagerBooks books = manager_.books();
  ProgressSample result{books.events, 0, std::nullopt, waits_for(books), "event"};
  result.has_bytes = false;
  if (arguments_.events && books.assigned_below.run == arguments_.run) {
    result.fraction =
        static_cast<double>(books.assigned_below.number) / static_cast<double>(*arguments_.events);
  }
  result.more = fmt::format("{} open", grouped(books.open));
  if (books.waiting != 0) result.more += fmt::format(", {} taken away", grouped(books.waiting));
  const std::string behind = listed(books, [](const auto& unit) { return unit.behind; });
  const std::string busy = listed(books, [](const auto& unit) { return unit.busy; });
  if (!behind.empty()) result.more += ", " + behind + " behind";
  if (!busy.empty()) result.more += ", " + busy + " busy";
  result.more += shares(books);
  for (const std::string& missed : {units_.missed(), builders_.missed()}) {
    if (!missed.empty()) result.more += ", without " + missed;
  }
  if (stopping_ && !arguments_.events) result.more += ", stopping";
  return result;
}

ManagerSummary ManagerSession::summary() const {
  ManagerSummary result;
  result.plan = arguments_.plan;
  result.code = verdict_.code;
  result.error = verdict_.error;
  result.seconds = seconds_of(ended_ - begun_);
  result.peers = units_.counts();
  result.refused = units_.refusals() + builders_.refusals();
  result.addresses = addresses_;
  result.builders = builders_.counts();
  result.books = books_;
  return result;
}

}  // namespace

ExitCode run_build_manager(const ManagerArguments& arguments) {
  return ManagerSession(arguments).run();
}

}  // namespace netio::cli
