#include "call_session.hpp"

#include <utility>

#include <fmt/format.h>

#include "peer_name.hpp"
#include "session_options.hpp"
#include "units.hpp"
#include "wire_note.hpp"

namespace netio::cli {

namespace {

// For the last answers on their way, and the good-bye.
constexpr std::chrono::seconds last_answers_within{1};

}  // namespace

CallSession::CallSession(const CallArguments& arguments, std::string command, std::string peer_noun,
                         bool output_carries_data)
    : arguments_(arguments),
      report_(arguments.report, output_carries_data),
      context_(context_options(arguments.peer, Role::both)),
      progress_(context_.loop(), "netio " + command, arguments.report.quiet,
                [this] { return sample(); }),
      wait_(context_.loop(), arguments.peer, [this] { give_up(); }),
      command_(std::move(command)),
      peer_noun_(std::move(peer_noun)),
      address_(arguments.peer.address),
      time_is_up_(context_.loop(), [this] { time_is_up(); }),
      interrupt_(context_.loop(), [this] { interrupt(); }) {}

void CallSession::use(Socket& socket) {
  socket_ = &socket;
  socket.on_up([this](const PeerInfo& peer) { on_up(peer); });
  socket.on_down([this](const PeerInfo& peer, const Down& down) { on_down(peer, down); });
  socket.on_closed([this](const Books&) { context_.stop(); });
}

void CallSession::meet() {
  note_without_effect(progress_, arguments_.peer);
  prepare();
  const std::vector<std::string> bound = meet_peers(*socket_, arguments_.peer, progress_);
  if (!bound.empty()) address_ = bound.front();
  note_bound(progress_, bound);
  wait_.begin();
}

ExitCode CallSession::run() {
  meet();
  context_.run();
  connected_.down(context_.loop().now());
  progress_.finish();
  if (interrupted_) {
    verdict_.code = ExitCode::interrupted;
  } else {
    judge();
  }
  verdict_.tell(progress_);
  const Summary result = summary();
  report_.publish(to_be_told(result) ? to_text(result) : std::string(),
                  [&result] { return to_json(result); });
  return verdict_.code;
}

void CallSession::on_up(const PeerInfo& peer) {
  const bool came_back = peers_.came != 0 && peer.dialed;
  up_[peer.id] = peer.message_bytes_max;
  attempts_.clear();
  wait_.up();
  connected_.up(context_.loop().now());
  if (came_back) progress_.note("connected to " + named(peer));
  note_wire(progress_, peer);
  if (peers_.came++ == 0) {
    progress_.start();
    if (arguments_.seconds) time_is_up_.start_once(*arguments_.seconds);
  }
  peer_up();
}

void CallSession::on_down(const PeerInfo& peer, const Down& down) {
  if (down.reason == DownReason::closed_here) return;
  if (closing_) {
    if (peer.was_up && ended_in_order(down)) ++peers_.ended;
    return;
  }
  up_.erase(peer.id);
  if (up_.empty()) connected_.down(context_.loop().now());
  if (!peer.was_up) {
    if (!peer.dialed) {
      turned_away_.note(peer, why(peer, down));
    } else if (peer.retrying && attempts_.is_new(peer, down)) {
      progress_.note(fmt::format("waiting for {}: {}", named(peer), why(peer, down)));
    }
  } else if (ended_in_order(down)) {
    ++peers_.ended;
    progress_.note(fmt::format("{} {} has ended", peer_noun_, named(peer)));
  } else {
    ++peers_.lost;
    progress_.note(fmt::format("lost {} {}: {}", peer_noun_, named(peer), why(peer, down)));
  }
  wait_.down(peer, down, socket_->peers_connected());
}

void CallSession::close() {
  if (std::exchange(closing_, true)) return;
  socket_->close(last_answers_within);
}

void CallSession::interrupt() {
  if (std::exchange(interrupted_, true) || up_.empty()) return context_.stop();
  close();
}

void CallSession::give_up() {
  if (!wait_.ended() || !ends_with_peer()) {
    verdict_.fail(wait_.met() ? ExitCode::peer_lost : ExitCode::failed, wait_.cause(),
                  wait_.advice());
  }
  gave_up();
}

Summary CallSession::summary() const {
  Summary result;
  result.command = command_;
  result.address = address_;
  result.code = verdict_.code;
  result.error = verdict_.error;
  result.seconds = seconds_of(connected_.total());
  result.books = socket_->books();
  result.counters = socket_->counters();
  result.peers = peers_;
  result.met = wait_.met();
  complete(result);
  return result;
}

}  // namespace netio::cli
