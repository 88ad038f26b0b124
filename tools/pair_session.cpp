#include "pair_session.hpp"

#include <utility>

#include <fmt/format.h>

#include "peer_name.hpp"
#include "session_options.hpp"
#include "wire_note.hpp"

namespace netio::cli {

namespace {

// For the last answer on its way.
constexpr std::chrono::seconds last_answer_within{1};

}  // namespace

PairSession::PairSession(const PairArguments& arguments, std::string command)
    : arguments_(arguments),
      report_(arguments.report, false),
      context_(context_options(arguments.peer, Role::both)),
      progress_(context_.loop(), "netio " + command, arguments.report.quiet,
                [this] { return sample(); }),
      pair_(context_, socket_options(arguments.peer, Mode::unbuffered)),
      address_(arguments.peer.address),
      wait_(context_.loop(), arguments.peer, [this] { give_up(); }),
      time_is_up_(context_.loop(), [this] { time_is_up(); }),
      interrupt_(context_.loop(), [this] { interrupt(); }) {
  pair_.on_message([this](const MessageView& message) {
    if (!closing_) take(message);
  });
  pair_.on_writable([this] { on_writable(); });
  pair_.on_up([this](const PeerInfo& peer) { on_up(peer); });
  pair_.on_down([this](const PeerInfo& peer, const Down& down) { on_down(peer, down); });
  pair_.on_closed([this](const Books&) { context_.stop(); });
}

void PairSession::meet() {
  note_without_effect(progress_, arguments_.peer);
  if (arguments_.peer.binds) {
    address_ = bind_when_there(
        address_, [this](const std::string& address) { return pair_.bind(address); },
        arguments_.peer, progress_);
    progress_.note("listening on " + address_);
  } else {
    pair_.connect(address_);
  }
  wait_.begin();
}

ExitCode PairSession::run() {
  meet();
  context_.run();
  if (up_) connected_.down(context_.loop().now());
  progress_.finish();
  if (interrupted_) {
    verdict_.code = ExitCode::interrupted;
  } else {
    judge();
  }
  verdict_.tell(progress_);
  publish(report_);
  return verdict_.code;
}

void PairSession::on_up(const PeerInfo& peer) {
  up_ = true;
  attempts_.clear();
  wait_.up();
  connected_.up(context_.loop().now());
  note_wire(progress_, peer);
  if (peers_.came++ == 0 && arguments_.seconds) time_is_up_.start_once(*arguments_.seconds);
  peer_up(peer);
}

void PairSession::on_down(const PeerInfo& peer, const Down& down) {
  if (down.reason == DownReason::closed_here || closing_) return;
  if (!peer.was_up) {
    note_not_met(peer, down);
  } else {
    up_ = false;
    connected_.down(context_.loop().now());
    if (down.reason == DownReason::closed_by_peer) {
      ++peers_.ended;
      progress_.note(named(peer) + " has ended");
    } else {
      ++peers_.lost;
      progress_.note(fmt::format("lost {}: {}", named(peer), why(peer, down)));
    }
    peer_down();
  }
  if (!closing_) wait_.down(peer, down, pair_.peers_connected());
}

void PairSession::note_not_met(const PeerInfo& peer, const Down& down) {
  if (!peer.dialed) return turned_away_.note(peer, why(peer, down));
  if (!peer.retrying || !attempts_.is_new(peer, down)) return;
  progress_.note(fmt::format("waiting for {}: {}", named(peer), why(peer, down)));
}

void PairSession::close() {
  if (std::exchange(closing_, true)) return;
  pair_.close(last_answer_within);
}

void PairSession::interrupt() {
  if (std::exchange(interrupted_, true) || !up_) return context_.stop();
  close();
}

void PairSession::give_up() {
  verdict_.fail(wait_.met() ? ExitCode::peer_lost : ExitCode::failed, wait_.cause(),
                wait_.advice());
  context_.stop();
}

}  // namespace netio::cli
