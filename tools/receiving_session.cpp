#include "receiving_session.hpp"

#include <algorithm>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "peer_name.hpp"
#include "session_options.hpp"
#include "wire_note.hpp"

namespace netio::cli {

namespace {

// For the last acknowledgements on their way out.
constexpr std::chrono::seconds last_word_within{1};
// How often to look for the first bytes. A sender whose first message comes within this was sending
// since it was connected.
constexpr std::chrono::milliseconds look_every{100};
// So much is part of a message; on fabrics a little comes without any.
constexpr std::uint64_t begun_bytes = 64U << 10U;

}  // namespace

ReceivingSession::ReceivingSession(const RecvArguments& arguments, std::string command,
                                   std::string peer_noun, Verifier::Begin streams_begin)
    : arguments_(arguments),
      report_(arguments.report, arguments.out == "-"),
      context_(context_options(arguments.peer, Role::receiver)),
      progress_(context_.loop(), "netio " + command, arguments.report.quiet,
                [this] { return sample(); }),
      command_(std::move(command)),
      peer_noun_(std::move(peer_noun)),
      waits_for_("waiting for a " + peer_noun_),
      look_timer_(context_.loop(), [this] { look(); }),
      time_is_up_(context_.loop(), [this] { close(); }),
      peer_table_(context_.loop(), [this](const std::string& text) { progress_.note(text); }),
      wait_(context_.loop(), arguments.peer, [this] { give_up(); }),
      interrupt_(context_.loop(), [this] { interrupt(); }),
      address_(arguments.peer.address) {
  if (arguments.verify) verifier_.emplace(streams_begin, arguments.shared);
}

void ReceivingSession::use(Socket& socket, Receiving& receiving) {
  if (arguments_.peer.resume_bytes_max != 0 && !(arguments_.keep && arguments_.peer.binds)) {
    wait_.wait_for_lost(arguments_.peer.resume_within);
  }
  socket_ = &socket;
  peer_table_.use(socket);
  receiving_ = &receiving;
  if (arguments_.count) {
    receive_each();
  } else {
    receive_pages();
  }
  socket.on_up([this](const PeerInfo& peer) { on_up(peer); });
  socket.on_down([this](const PeerInfo& peer, const Down& down) { on_down(peer, down); });
  socket.on_closed([this](const Books&) { stop(); });
}

void ReceivingSession::meet() {
  note_without_effect(progress_, arguments_.peer);
  const std::vector<std::string> bound = meet_peers(*socket_, arguments_.peer, progress_);
  if (!bound.empty()) address_ = bound.front();
  // Only now: an address that cannot be had leaves no file behind.
  if (!arguments_.out.empty()) output_.emplace(arguments_.out);
  note_bound(progress_, bound);
  if (arguments_.out == "-" && ::isatty(STDOUT_FILENO) == 1) progress_.stay_off_terminal();
  wait_.begin();
}

ExitCode ReceivingSession::run() {
  meet();
  context_.run();
  progress_.finish();
  peer_table_.look();
  if (output_ && peers_.came != 0) output_->finish();
  if (arguments_.keep) absences_.finish(context_.loop().now());
  peers_.away = absences_.count();
  peers_.away_seconds = std::chrono::duration<double>(absences_.total()).count();
  settle();
  verify();
  judge();
  if (interrupted_) verdict_.code = ExitCode::interrupted;
  verdict_.tell(progress_);
  const Summary result = summary();
  report_.publish(result.to_be_told() ? to_text(result) : std::string(),
                  [&result] { return to_json(result); });
  return verdict_.code;
}

// The last one may lie in the middle of a page, whose rest is then neither delivered nor
// acknowledged.
void ReceivingSession::receive_each() {
  receiving_->on_message([this](const MessageView& message) {
    if (closing_) return;
    take(message);
    write_out();
    if (messages_ == arguments_.count) close();
  });
}

void ReceivingSession::receive_pages() {
  receiving_->on_batch([this](const Batch& batch) {
    if (closing_) return;
    for (const MessageView message : batch) take(message);
    write_out();
  });
}

void ReceivingSession::take(const MessageView& message) {
  last_ = context_.loop().now();
  if (messages_++ == 0) {
    const bool seen_coming = !look_timer_.running() || looked_ == up_at_;
    begun_ = seen_coming ? looked_ : last_;
    look_timer_.stop();
  }
  const std::span<const std::byte> bytes = payload_.of(message);
  bytes_ += bytes.size();
  if (verifier_) verifier_->check(receiving_->sender_id(), message.tag(), bytes);
  if (output_) output_->append(bytes);
  taken(message);
}

// A large message begins long before it is here.
void ReceivingSession::look() {
  if (socket_->counters().bytes_arrived >= begun_bytes) {
    look_timer_.stop();
  } else {
    looked_ = context_.loop().now();
  }
}

// With what has come of messages that are not whole yet, while none is delivered.
ProgressSample ReceivingSession::sample() {
  const std::uint64_t arrived = socket_->counters().bytes_arrived;
  if (std::exchange(sampled_messages_, messages_) != messages_) sampled_arrived_ = arrived;
  const std::uint64_t begun = arrived - sampled_arrived_;
  sampled_bytes_ = std::max(sampled_bytes_, bytes_ + (begun < begun_bytes ? 0 : begun));
  return {messages_, sampled_bytes_, std::nullopt, up_.empty() ? waits_for_ : std::string()};
}

// What a call-back returns for is acknowledged to the sender: so it is written first.
void ReceivingSession::write_out() {
  if (!output_) return;
  output_->flush();
  if (output_->state() != Output::State::open) output_ended();
}

void ReceivingSession::on_up(const PeerInfo& peer) {
  note_wire(progress_, peer);
  up_.insert(peer.id);
  peer_table_.up(peer);
  wait_.up();
  attempts_.clear();
  // The library knows a sender that returns: its books go on where they were.
  const std::uint64_t taken_before = peer.books.delivered + peer.books.missed;
  if (verifier_) verifier_->expect(peer.id, taken_before);
  if (came_back(peer) || peers_.came++ != 0) return;
  up_at_ = looked_ = context_.loop().now();
  look_timer_.start_periodic(look_every);
  progress_.start();
  if (arguments_.seconds) time_is_up_.start_once(*arguments_.seconds);
}

// False for one that was not here before: also for another run of one that was.
bool ReceivingSession::came_back(const PeerInfo& peer) {
  const std::optional<Absence> absence = absences_.end(peer, context_.loop().now());
  if (!absence) return false;
  const std::string after =
      fmt::format("{} {} came back after {}", peer_noun_, named(peer),
                  duration_text(std::chrono::duration<double>(absence->lasted).count()));
  if (!absence->another_run) {
    if (absence->lost) --peers_.lost;
    progress_.note(after);
    return true;
  }
  ++peers_.restarted;
  progress_.note(after + " as another run (it was restarted, or is another one)" +
                 (absence->lost ? ": what the one before still held is not known" : ""));
  return false;
}

void ReceivingSession::on_down(const PeerInfo& peer, const Down& down) {
  peer_table_.down(peer);
  gone(peer);
  if (down.reason == DownReason::closed_here || closing_) return;
  if (verifier_) verifier_->forget(peer.id);
  up_.erase(peer.id);
  if (peer.was_up) {
    absences_.begin(peer, down.reason != DownReason::closed_by_peer, context_.loop().now());
  }
  if (!peer.was_up) {
    note_not_met(peer, down);
  } else if (down.reason == DownReason::closed_by_peer) {
    ++peers_.ended;
  } else {
    ++peers_.lost;
    last_loss_ = fmt::format("{}: {}", named(peer), why(peer, down));
    progress_.note(fmt::format("lost {} {}", peer_noun_, last_loss_));
  }
  if (!up_.empty()) return;
  const bool may_return = arguments_.peer.resume_bytes_max != 0 && absences_.any_lost();
  if (peers_.came >= arguments_.senders_min && peers_.came > 0 && !arguments_.keep && !may_return) {
    close();
  } else {
    wait_.down(peer, down, socket_->peers_connected());
  }
}

void ReceivingSession::note_not_met(const PeerInfo& peer, const Down& down) {
  if (peer.dialed) {
    if (!peer.retrying || !attempts_.is_new(peer, down)) return;
    return progress_.note(fmt::format("waiting for {}: {}", named(peer), why(peer, down)));
  }
  turned_away_.note(peer, why(peer, down));
}

void ReceivingSession::close() {
  if (std::exchange(closing_, true)) return;
  peer_table_.look();
  socket_->close(last_word_within);
}

// What could not be written is not acknowledged: the socket is cut, not closed. A reader that left
// has what it wanted; what was on its way to it counts as taken, as what is left in the pipe does.
void ReceivingSession::output_ended() {
  if (output_->state() == Output::State::reader_gone) return close();
  closing_ = true;
  receiving_->pause();
  switch (output_->state()) {
    case Output::State::open:
    case Output::State::reader_gone:
      return;
    case Output::State::interrupted:
      interrupted_ = true;
      break;
    case Output::State::failed: {
      std::string cause =
          fmt::format("cannot write to {}: {}; written before that: {}, {}", output_->name(),
                      output_->error(), counted(output_->messages_written(), "message"),
                      counted(output_->bytes_written(), "byte"));
      if (output_->partial_bytes() != 0) {
        cause += fmt::format(", of which the last {} are of a message that is cut off",
                             grouped(output_->partial_bytes()));
      }
      verdict_.fail(ExitCode::failed, std::move(cause), {});
    }
  }
  stop();
}

void ReceivingSession::give_up() {
  verdict_.fail(wait_.met() ? ExitCode::peer_lost : ExitCode::failed, wait_.cause(),
                wait_.advice());
  stop();
}

void ReceivingSession::interrupt() {
  const bool connected = !up_.empty() && !interrupted_ && !closing_;
  interrupted_ = true;
  if (connected) {
    close();
  } else {
    stop();
  }
}

void ReceivingSession::verify() {
  if (!verifier_) return;
  const Verification& checked = verifier_->result();
  if (checked.passed()) return;
  verdict_.fail(
      ExitCode::failed,
      fmt::format("verification failed: {} corrupt, {} missing, {} repeated",
                  grouped(checked.corrupt), grouped(checked.missing), grouped(checked.repeated)),
      std::string(advice_for(checked)));
}

void ReceivingSession::fail_for_lost(std::uint64_t missed, const std::string& why) {
  if (peers_.lost != 0) {
    verdict_.fail(ExitCode::peer_lost,
                  fmt::format("{} of {} lost in mid-stream, the last was {}", grouped(peers_.lost),
                              counted(peers_.came, peer_noun_), last_loss_),
                  "what it had sent and is not in the summary is gone");
  } else if (missed != 0) {
    verdict_.fail(ExitCode::peer_lost, fmt::format("{} {}", counted(missed, "message"), why), {});
  }
}

Summary ReceivingSession::summary() const {
  Summary result;
  result.command = command_;
  result.address = address_;
  result.code = verdict_.code;
  result.error = verdict_.error;
  result.messages = messages_;
  result.bytes = bytes_;
  result.segmented = payload_.segmented();
  result.seconds = std::chrono::duration<double>(last_ - begun_).count();
  result.timed = messages_ != 1 || begun_ != last_ || begun_ == up_at_;
  result.books = socket_->books();
  result.counters = socket_->counters();
  result.kept_bytes = socket_->kept_bytes();
  result.peers = peers_;
  result.per_peer = peer_table_.lines();
  result.peers_left_out = peer_table_.not_listed();
  result.met = wait_.met();
  if (output_) {
    result.output =
        WrittenOutput{output_->name(), output_->messages_written(), output_->bytes_written()};
  }
  complete(result);
  if (verifier_) result.verification = verifier_->result();
  return result;
}

}  // namespace netio::cli
