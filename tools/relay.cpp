#include "relay.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <netio/netio.hpp>

#include "attempt_notes.hpp"
#include "connected_time.hpp"
#include "interrupt.hpp"
#include "peer_name.hpp"
#include "peer_wait.hpp"
#include "progress.hpp"
#include "relay_report.hpp"
#include "relay_sockets.hpp"
#include "report.hpp"
#include "session_options.hpp"
#include "turned_away.hpp"
#include "units.hpp"
#include "verdict.hpp"
#include "wire_note.hpp"

namespace netio::cli {

namespace {

using Pattern = RelayArguments::Pattern;

// Also where --linger is over, a good-bye is worth some time.
constexpr std::chrono::nanoseconds close_within_least = std::chrono::seconds(1);

// Who is at the two ends of each pattern.
struct Nouns {
  std::string_view pattern;
  std::string_view from;
  std::string_view to;
};

Nouns nouns_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::push:
      return {"push", "sender", "receiver"};
    case Pattern::publish:
      return {"publish", "publisher", "subscriber"};
    case Pattern::pair:
      return {"pair", "peer at FROM", "peer at TO"};
    case Pattern::request:
      return {"request", "requester", "replier"};
  }
  return {};
}

class RelaySession {
 public:
  explicit RelaySession(const RelayArguments& arguments);
  RelaySession(const RelaySession&) = delete;
  RelaySession& operator=(const RelaySession&) = delete;
  ExitCode run();

 private:
  struct Side {
    std::string_view noun;
    bool ends = true;  // the relay ends when all that came here have ended in order
    Socket* socket = nullptr;
    std::vector<std::string> addresses;
    PeerCounts peers;
    std::set<std::uint64_t> up;    // ids
    std::set<std::uint64_t> lost;  // and not back
    AttemptNotes attempts;
    bool closed = false;
    std::string last_loss;
  };

  void use(Side& side, Side& other);
  void meet(Side& side, const RelayEnd& end);
  void on_up(Side& side, const Side& other, const PeerInfo& peer);
  void on_down(Side& side, const PeerInfo& peer, const Down& down);
  void look_for_peers();
  void alone_too_long();
  void end(std::chrono::nanoseconds linger);
  void end_next();
  void interrupt();
  void judge();
  void judge_sent(const Side& side, const Books& books);
  void judge_missed(const Side& side, const Books& books);
  [[nodiscard]] ForwardBooks passed() const noexcept;
  [[nodiscard]] ProgressSample sample();
  [[nodiscard]] RelaySummary summary();
  [[nodiscard]] static bool all_ended(const Side& side) noexcept {
    return side.ends && side.peers.came != 0 && side.up.empty() && side.lost.empty();
  }

  const RelayArguments& arguments_;
  const Nouns nouns_;
  Report report_;
  Context context_;
  Progress progress_;
  TurnedAway turned_away_{progress_};
  Side from_;
  Side to_;
  RelaySockets sockets_;
  std::vector<Forward>& forwards_ = sockets_.forwards;
  ConnectedTime both_;  // sides had a peer
  Timer alone_;         // --connect-timeout
  Timer time_is_up_;    // --seconds
  Interrupt interrupt_;
  std::chrono::nanoseconds until_{0};  // the end may take
  std::size_t ended_ = 0;              // directions, or the one that is about to
  bool ending_ = false;
  bool interrupted_ = false;
  Verdict verdict_;
};

RelaySession::RelaySession(const RelayArguments& arguments)
    : arguments_(arguments),
      nouns_(nouns_of(arguments.pattern)),
      report_(arguments.report, false),
      context_(context_options(arguments.peer, Role::both)),
      progress_(context_.loop(), "netio relay", arguments.report.quiet,
                [this] { return sample(); }),
      sockets_(make_relay_sockets(context_, arguments,
                                  [this](const std::string& text) { progress_.note(text); })),
      alone_(context_.loop(), [this] { alone_too_long(); }),
      time_is_up_(context_.loop(), [this] { end(arguments_.linger); }),
      interrupt_(context_.loop(), [this] { interrupt(); }) {
  from_.noun = nouns_.from;
  to_.noun = nouns_.to;
  // Who asks, and who subscribes, comes and goes.
  from_.ends = !arguments.stay && arguments.pattern != Pattern::request;
  to_.ends = !arguments.stay && arguments.pattern != Pattern::publish;
  from_.socket = sockets_.from;
  to_.socket = sockets_.to;
  for (Forward& each : forwards_) {
    each.on_dropped([this](const MessageView& message) {
      progress_.note(fmt::format("dropped a message of {}: no {} takes it (--message-max there)",
                                 counted(message.size(), "byte"), nouns_.to));
    });
  }
  use(from_, to_);
  use(to_, from_);
}

void RelaySession::use(Side& side, Side& other) {
  side.socket->on_up([this, &side, &other](const PeerInfo& peer) { on_up(side, other, peer); });
  side.socket->on_down(
      [this, &side](const PeerInfo& peer, const Down& down) { on_down(side, peer, down); });
  side.socket->on_closed([this, &side](const Books&) {
    side.closed = true;
    if (&side == &from_ && arguments_.pattern == Pattern::pair) {
      to_.socket->close(std::max(until_ - context_.loop().now(), close_within_least));
    }
    if (from_.closed && to_.closed) context_.stop();
  });
}

void RelaySession::meet(Side& side, const RelayEnd& end) {
  PeerArguments there = arguments_.peer;
  there.binds = end.binds;
  // Where nothing comes back, the default needs no word.
  if (there.resume_bytes_max == relay_resume_bytes_default) there.resume_bytes_max = 0;
  there.channel = end.channel;
  std::vector<std::string> addresses = end.more;
  if (!end.channel) addresses.insert(addresses.begin(), end.address);
  if (end.channel) addresses.resize(1);  // all of its endpoints are met at once
  for (const std::string& address : addresses) {
    there.address = address;
    note_without_effect(progress_, there);
    const std::vector<std::string> bound = meet_peers(*side.socket, there, progress_);
    note_bound(progress_, bound);
    if (bound.empty()) side.addresses.push_back(address);
    side.addresses.insert(side.addresses.end(), bound.begin(), bound.end());
  }
}

ExitCode RelaySession::run() {
  meet(to_, arguments_.to);
  meet(from_, arguments_.from);
  look_for_peers();
  progress_.start();
  context_.run();
  both_.down(context_.loop().now());
  progress_.finish();
  if (interrupted_) {
    verdict_.code = ExitCode::interrupted;
  } else {
    judge();
  }
  verdict_.tell(progress_);
  const RelaySummary result = summary();
  report_.publish(to_text(result), [&result] { return to_json(result); });
  return verdict_.code;
}

void RelaySession::on_up(Side& side, const Side& other, const PeerInfo& peer) {
  if (peer.run == other.socket->run()) {
    verdict_.fail(
        ExitCode::usage,
        fmt::format("TO ({}) leads to FROM of this relay",
                    to_.addresses.empty() ? arguments_.to.address : to_.addresses.front()),
        "what is passed on would come back for ever");
    return context_.stop();
  }
  side.attempts.clear();
  side.up.insert(peer.id);
  const bool back = side.lost.erase(peer.id) != 0;
  if (!back) ++side.peers.came;
  progress_.note(
      fmt::format("{} {} {}", side.noun, named(peer), back ? "is back" : "is connected"));
  note_wire(progress_, peer);
  if (from_.up.empty() || to_.up.empty()) return;
  both_.up(context_.loop().now());
  if (arguments_.seconds && !time_is_up_.running() && !ending_) {
    time_is_up_.start_once(*arguments_.seconds);
  }
  alone_.stop();
}

void RelaySession::on_down(Side& side, const PeerInfo& peer, const Down& down) {
  if (down.reason == DownReason::closed_here) return;
  if (!peer.was_up) {
    if (!peer.dialed) {
      turned_away_.note(peer, why(peer, down));
    } else if (!peer.retrying) {
      verdict_.fail(ExitCode::failed, fmt::format("{}: {}", named(peer), why(peer, down)), {});
      end(arguments_.linger);
    } else if (side.attempts.is_new(peer, down)) {
      progress_.note(fmt::format("waiting for {}: {}", named(peer), why(peer, down)));
    }
    return;
  }
  side.up.erase(peer.id);
  if (side.up.empty()) both_.down(context_.loop().now());
  if (ended_in_order(down)) {
    ++side.peers.ended;
    progress_.note(fmt::format("{} {} has ended", side.noun, named(peer)));
  } else {
    ++side.peers.lost;
    side.lost.insert(peer.id);
    side.last_loss = fmt::format("{} {}: {}", side.noun, named(peer), why(peer, down));
    progress_.note("lost " + side.last_loss);
  }
  if (ending_) return;
  if (all_ended(from_)) return end(arguments_.linger);
  // Nobody is there who could take what is left.
  if (all_ended(to_)) return end(std::chrono::nanoseconds(0));
  look_for_peers();
}

void RelaySession::look_for_peers() {
  if (!arguments_.peer.connect_timeout || (!from_.up.empty() && !to_.up.empty())) return;
  if (!alone_.running()) alone_.start_once(*arguments_.peer.connect_timeout);
}

void RelaySession::alone_too_long() {
  const Side& missing = from_.up.empty() ? from_ : to_;
  if (from_.peers.came + to_.peers.came == 0) {
    verdict_.fail(ExitCode::failed,
                  fmt::format("neither a {} nor a {} came within {}", from_.noun, to_.noun,
                              duration_text(seconds_of(*arguments_.peer.connect_timeout))),
                  "are they there, and their addresses right? --connect-timeout waits longer");
  } else if (!missing.lost.empty()) {
    verdict_.fail(ExitCode::peer_lost, "lost " + missing.last_loss,
                  "it did not come back in time (--connect-timeout)");
  } else {
    verdict_.fail(ExitCode::failed,
                  fmt::format("no {} came within {}", missing.noun,
                              duration_text(seconds_of(*arguments_.peer.connect_timeout))),
                  "is it there, and its address right? --connect-timeout waits longer");
  }
  end(arguments_.linger);
}

// Passes on what is here, one direction after the other, and then says good-bye to both sides.
void RelaySession::end(std::chrono::nanoseconds linger) {
  if (std::exchange(ending_, true)) return;
  alone_.stop();
  time_is_up_.stop();
  until_ = context_.loop().now() + linger;
  end_next();
}

void RelaySession::end_next() {
  const std::chrono::nanoseconds left = until_ - context_.loop().now();
  if (ended_ == forwards_.size()) {
    // Of a pair, FROM still has to acknowledge what TO had sent, before TO is told.
    from_.socket->close(std::max(left, close_within_least));
    if (arguments_.pattern != Pattern::pair) to_.socket->close(std::max(left, close_within_least));
    return;
  }
  forwards_[ended_++].finish(std::max(left, std::chrono::nanoseconds(0)), [this] { end_next(); });
}

void RelaySession::interrupt() {
  if (std::exchange(interrupted_, true)) return context_.stop();
  if (!ending_ && passed().held + passed().unsettled != 0) {
    progress_.note("passes on what is here; Ctrl-C again ends at once");
  }
  end(arguments_.linger);
}

ForwardBooks RelaySession::passed() const noexcept {
  ForwardBooks sum;
  for (const Forward& each : forwards_) {
    const ForwardBooks books = each.books();
    sum.passed += books.passed;
    sum.bytes += books.bytes;
    sum.dropped += books.dropped;
    sum.held += books.held;
    sum.unsettled += books.unsettled;
  }
  return sum;
}

void RelaySession::judge() {
  const ForwardBooks books = passed();
  const Books to = to_.socket->books();
  const Books from = from_.socket->books();
  if (arguments_.pattern == Pattern::request && books.unsettled != 0) {
    verdict_.fail(ExitCode::failed,
                  fmt::format("{} not answered", counted(books.unsettled, "request")),
                  "the end did not wait longer for them (--linger)");
  }
  if (books.dropped + books.held != 0) {
    verdict_.fail(
        ExitCode::failed,
        fmt::format("{} dropped here", counted(books.dropped + books.held, "message")),
        "they are larger than the other side takes (--message-max), or it took none to the end");
  }
  // What a publisher drops is what its subscribers asked for, and told them.
  if (arguments_.pattern != Pattern::publish) {
    judge_sent(to_, to);
    judge_sent(from_, from);
    judge_missed(from_, from);
    judge_missed(to_, to);
  }
  if (!from_.lost.empty())
    verdict_.fail(ExitCode::peer_lost, "lost " + from_.last_loss, "what it still had did not come");
  if (!to_.lost.empty()) verdict_.fail(ExitCode::peer_lost, "lost " + to_.last_loss, {});
}

void RelaySession::judge_sent(const Side& side, const Books& books) {
  const std::uint64_t unsure =
      books.in_doubt + books.unacknowledged +
      books.dropped_by[static_cast<std::size_t>(DropReason::connection_lost)] +
      books.dropped_by[static_cast<std::size_t>(DropReason::linger_expired)];
  if (unsure == 0) return;
  verdict_.fail(
      ExitCode::peer_lost,
      fmt::format("{} may not have arrived at a {}", counted(unsure, "message"), side.noun),
      side.last_loss.empty() ? "it did not acknowledge them in time (--linger)"
                             : "lost " + side.last_loss);
}

void RelaySession::judge_missed(const Side& side, const Books& books) {
  if (books.missed == 0) return;
  verdict_.fail(ExitCode::peer_lost,
                fmt::format("{} lost with the connection to a {}", counted(books.missed, "message"),
                            side.noun),
                fmt::format("--resume at the {} keeps what is on its way", side.noun));
}

ProgressSample RelaySession::sample() {
  const ForwardBooks books = passed();
  ProgressSample result{books.passed, books.bytes, std::nullopt};
  if (from_.up.empty() && to_.up.empty()) {
    result.waits_for = fmt::format("waiting for a {} and a {}", from_.noun, to_.noun);
  } else if (from_.up.empty()) {
    result.waits_for = fmt::format("waiting for a {}", from_.noun);
  } else if (to_.up.empty()) {
    result.waits_for = fmt::format("waiting for a {}, {} held", to_.noun, grouped(books.held));
  }
  result.more = fmt::format("out {:.0f} % full{}", 100 * to_.socket->fill(),
                            books.held != 0 ? ", held up" : "");
  return result;
}

RelaySummary RelaySession::summary() {
  RelaySummary result;
  result.pattern = nouns_.pattern;
  result.code = verdict_.code;
  result.error = verdict_.error;
  result.seconds = seconds_of(both_.total());
  result.passed = passed();
  const auto side = [](const Side& of) {
    return RelaySide{of.addresses, of.peers, of.up.size(), of.socket->books(),
                     of.socket->counters()};
  };
  result.from = side(from_);
  result.to = side(to_);
  return result;
}

}  // namespace

ExitCode run_relay(const RelayArguments& arguments) { return RelaySession(arguments).run(); }

}  // namespace netio::cli
