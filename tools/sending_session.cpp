#include "sending_session.hpp"

#include <algorithm>
#include <new>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "input.hpp"
#include "load.hpp"
#include "session_options.hpp"
#include "wire_note.hpp"

namespace netio::cli {

namespace {

// "While it is connected", in a form that can be added to the clock.
constexpr std::chrono::hours linger_unlimited{24 * 365};
// After Ctrl-C: what was taken may still be delivered, but somebody is waiting for the prompt.
constexpr std::chrono::seconds linger_interrupted{1};

}  // namespace

SendingSession::SendingSession(const SendArguments& arguments, std::string command,
                               std::string peer_noun)
    : arguments_(arguments),
      report_(arguments.report, false),
      context_(context_options(arguments.peer, Role::sender)),
      progress_(context_.loop(), "netio " + command, arguments.report.quiet,
                [this] { return sample(); }),
      peer_table_(context_.loop(), [this](const std::string& text) { progress_.note(text); }),
      wait_(context_.loop(), arguments.peer, [this] { give_up(); }),
      command_(std::move(command)),
      peer_noun_(std::move(peer_noun)),
      pace_(arguments.rate),
      turn_(context_.loop(), [this] { pump(); }),
      time_is_up_(context_.loop(), [this] { close(arguments_.linger.value_or(linger_unlimited)); }),
      waits_for_absent_(context_.loop(), [this] { close_when_all_are_back(); }),
      interrupt_(context_.loop(), [this] { interrupt(); }),
      address_(arguments.peer.address) {}

void SendingSession::use(Socket& socket, Outlet& outlet) {
  if (arguments_.peer.resume_bytes_max != 0) wait_.wait_for_lost(arguments_.peer.resume_within);
  socket_ = &socket;
  outlet_ = &outlet;
  peer_table_.use(socket);
  socket.on_up([this](const PeerInfo& peer) { on_up(peer); });
  socket.on_down([this](const PeerInfo& peer, const Down& down) { on_down(peer, down); });
  socket.on_closed([this](const Books&) { on_closed(); });
}

void SendingSession::make_source() {
  const auto on_ready = [this] { pump(); };
  // Unbuffered messages are lent; segments, and what goes to all, are copied.
  const bool lends =
      arguments_.mode == Mode::unbuffered && arguments_.head_bytes == 0 && !arguments_.to_all;
  if (arguments_.load) {
    source_ = make_load(*arguments_.load, lends, *outlet_, on_ready,
                        [this] { progress_.note("preparing the load ..."); });
  } else {
    if (arguments_.input == "-" && ::isatty(STDIN_FILENO) == 1) {
      progress_.note("reading from the terminal until Ctrl-D (generated load: --size)");
      progress_.stay_off_terminal();  // what is typed stands where the bar would be drawn
    } else if (arguments_.input == "-" && arguments_.rate) {
      progress_.note("sending standard input (generated load: --size)");
    }
    source_ =
        open_input({arguments_.input, arguments_.frame, arguments_.peer.message_bytes_max, lends},
                   context_.loop(), *outlet_, on_ready);
  }
}

// What takes time comes first: whoever is met waits for no greeting.
void SendingSession::meet() {
  note_without_effect(progress_, arguments_.peer);
  make_source();
  const std::vector<std::string> bound = meet_peers(*socket_, arguments_.peer, progress_);
  if (!bound.empty()) address_ = bound.front();
  note_bound(progress_, bound);
  if (waits_for_peers()) {
    wait_.begin();
    if (gathers()) progress_.start();
  } else {
    begin();
  }
}

ExitCode SendingSession::run() {
  meet();
  context_.run();
  progress_.finish();
  judge();
  verdict_.tell(progress_);
  const Summary result = summary();
  report_.publish(result.to_be_told() ? to_text(result) : std::string(),
                  [&result] { return to_json(result); });
  return verdict_.code;
}

void SendingSession::begin() {
  if (phase_ != Phase::waiting) return;
  phase_ = Phase::sending;
  wait_.enough();
  begun_ = context_.loop().now();
  if (!up_.empty()) connected_.up(*begun_);
  pace_.start(*begun_);
  progress_.start();
  if (arguments_.seconds) time_is_up_.start_once(*arguments_.seconds);
  // Not from here: the call-back of one event is no place for the work of another.
  turn_.start_once(std::chrono::nanoseconds(0));
}

void SendingSession::pump() {
  if (phase_ != Phase::sending || blocked_) return;
  const std::chrono::nanoseconds now = context_.loop().now();
  const Allowance due = pace_.due(now, source_->messages(), source_->bytes());
  if (due.messages == 0 || due.bytes == 0) {
    turn_.start_once(pace_.wait(now, source_->messages(), source_->bytes()));
    return;
  }
  Turn turn = Turn::end;
  try {
    turn = source_->send_some(*outlet_, due);
  } catch (const Failure& failure) {
    verdict_.fail(failure.code(), failure.what(), failure.advice());
  } catch (const std::bad_alloc&) {
    verdict_.fail(ExitCode::failed, "out of memory for the next record of the input",
                  "a smaller --message-max refuses such records");
  }
  switch (turn) {
    case Turn::more:
      turn_.start_once(std::chrono::nanoseconds(0));
      break;
    case Turn::blocked:
      blocked_ = true;
      turn_.stop();
      break;
    case Turn::waiting:
      turn_.stop();
      break;
    case Turn::end:
      if (!source_->defect().empty()) fail_for_defect();
      close(arguments_.linger.value_or(linger_unlimited));
      break;
  }
}

void SendingSession::on_writable() {
  blocked_ = false;
  pump();
}

void SendingSession::on_up(const PeerInfo& peer) {
  note_wire(progress_, peer);
  absent_.erase(peer.id);
  up_[peer.id] = peer.message_bytes_max;
  if (phase_ != Phase::waiting) connected_.up(context_.loop().now());
  wait_.up(!gathers());
  peer_table_.up(peer);
  peer_up(peer);
}

void SendingSession::on_down(const PeerInfo& peer, const Down& down) {
  up_.erase(peer.id);
  if (peer.was_up && !ended_in_order(down)) {
    ++connections_lost_;
    absent_.insert(peer.id);
  }
  peer_table_.down(peer);
  if (up_.empty()) connected_.down(context_.loop().now());
  peer_down(peer, down);
}

void SendingSession::close(std::chrono::nanoseconds linger) {
  if (phase_ == Phase::closing || phase_ == Phase::closed) return;
  phase_ = Phase::closing;
  turn_.stop();
  time_is_up_.stop();
  linger_ = linger;
  close_when_all_are_back();
}

// A socket that closes lets nobody in any more: who is away and has not got everything is waited
// for before that, until the library gives up what is kept.
void SendingSession::close_when_all_are_back() {
  const bool kept = arguments_.peer.resume_bytes_max != 0 && !absent_.empty() && !interrupted_ &&
                    socket_->books().unacknowledged != 0;
  if (kept) return waits_for_absent_.start_once(std::chrono::milliseconds(20));
  socket_->close(linger_);
  wait_.closing(socket_->peers_connected());
}

void SendingSession::on_closed() {
  phase_ = Phase::closed;
  ended_ = context_.loop().now();
  connected_.down(ended_);
  peer_table_.stop();
  context_.stop();
}

// What is not on the wire by now is dropped, so that the books are final.
void SendingSession::end_now() {
  peer_table_.look();
  phase_ = Phase::closing;
  waits_for_absent_.stop();
  socket_->close(std::chrono::nanoseconds(0));
}

void SendingSession::give_up() {
  gave_up_ = true;
  if (gathers() && wait_.met()) {
    verdict_.fail(ExitCode::failed, wait_.cause("only " + gathered()), wait_.advice());
    return end_now();
  }
  verdict_.fail(wait_.met() ? ExitCode::peer_lost : ExitCode::failed, wait_.cause(),
                wait_.advice());
  end_now();
}

void SendingSession::interrupt() {
  const bool in_stream = phase_ == Phase::sending && !interrupted_;
  interrupted_ = true;
  if (in_stream) {
    close(std::min<std::chrono::nanoseconds>(arguments_.linger.value_or(linger_interrupted),
                                             linger_interrupted));
  } else {
    end_now();  // Nothing was sent yet, or it was asked for twice.
  }
}

// This side's limit was looked at as the message was made: it is theirs. What goes to all has to be
// taken by each of them.
void SendingSession::fail_for_defect() {
  std::uint64_t most = 0;
  for (const auto& [id, takes] : up_) {
    const bool least = arguments_.to_all && most != 0;
    most = least ? std::min(most, takes) : std::max(most, takes);
  }
  if (!source_->too_big() || most == 0)
    return verdict_.fail(ExitCode::failed, source_->defect(), {});
  verdict_.fail(
      ExitCode::failed,
      fmt::format("{}, the {} takes up to {}", source_->defect(), peer_noun_, binary_bytes(most)),
      advice_for_size);
}

void SendingSession::fail_for_doubt(const Books& books) {
  if (books.dropped() + books.unsettled() == 0) return;
  std::string cause;
  if (books.dropped() != 0) {
    cause = fmt::format("{} dropped ({})", counted(books.dropped(), "message"),
                        drop_reasons(books.dropped_by));
  }
  if (books.unsettled() != 0) {
    cause += fmt::format("{}{} not acknowledged", cause.empty() ? "" : ", ",
                         counted(books.unsettled(), "message"));
  }
  add_doubt(cause, "they may not have arrived");
}

void SendingSession::add_doubt(const std::string& cause, const std::string& advice) {
  if (verdict_.error.empty()) {
    verdict_.fail(ExitCode::peer_lost, cause, advice);
  } else {
    verdict_.error += "; " + cause;
  }
}

void SendingSession::judge() {
  books_ = socket_->books();
  // Nobody had set a linger time that could expire.
  const auto dropped_by = [this](DropReason reason) -> std::uint64_t& {
    return books_.dropped_by[static_cast<std::size_t>(reason)];
  };
  if (gave_up_) {
    dropped_by(DropReason::not_sent) += std::exchange(dropped_by(DropReason::linger_expired), 0);
  }
  if (interrupted_) {
    verdict_.code = ExitCode::interrupted;
  } else {
    judge(books_);
  }
}

ProgressSample SendingSession::sample() {
  held_up_ = blocked_ && source_->messages() == sampled_messages_;
  sampled_messages_ = source_->messages();
  ProgressSample result{source_->messages(), source_->bytes(), source_->fraction(), waits_for()};
  // Done is what has arrived.
  if (result.fraction) *result.fraction *= acknowledged_share(socket_->books());
  return result;
}

std::string SendingSession::gathered() const {
  return fmt::format("{} of {}", present(), counted(arguments_.wait_for, peer_noun_));
}

std::string SendingSession::waits_for() const {
  if (gathers()) return gathered() + " (--wait-for)";
  if (phase_ != Phase::closing) return {};
  const std::string behind = peer_table_.behind();
  return fmt::format("waiting for acknowledgements{} (Ctrl-C ends it at once)",
                     behind.empty() ? "" : " of " + behind);
}

Summary SendingSession::summary() const {
  Summary result;
  result.command = command_;
  result.address = address_;
  result.code = verdict_.code;
  result.error = verdict_.error;
  result.messages = source_->messages();
  result.bytes = source_->bytes();
  result.seconds = seconds_of(connected_.total());
  result.books = books_;
  result.counters = socket_->counters();
  result.connections_lost = connections_lost_;
  result.resumes = arguments_.peer.resume_bytes_max != 0;
  result.per_peer = peer_table_.lines();
  result.peers_left_out = peer_table_.not_listed();
  result.met = wait_.met();
  complete(result);
  return result;
}

}  // namespace netio::cli
