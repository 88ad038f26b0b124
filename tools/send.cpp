#include "send.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <netio/context.hpp>
#include <netio/push.hpp>

#include "connected_time.hpp"
#include "input.hpp"
#include "interrupt.hpp"
#include "load.hpp"
#include "pace.hpp"
#include "peer_wait.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "session_options.hpp"
#include "source.hpp"
#include "summary.hpp"

namespace netio::cli {

namespace {

// "While it is connected", in a form that can be added to the clock.
constexpr std::chrono::hours linger_unlimited{24 * 365};
// After Ctrl-C: what was taken may still be delivered, but somebody is waiting for the prompt.
constexpr std::chrono::seconds linger_interrupted{1};

class SendSession {
 public:
  explicit SendSession(const SendArguments& arguments);
  ExitCode run();

 private:
  enum class Phase : std::uint8_t { waiting, sending, closing, closed };

  void meet();
  void make_source();
  void pump();
  void on_up(const PeerInfo& peer);
  void on_down(const PeerInfo& peer, const Down& down);
  void close(std::chrono::nanoseconds linger);
  void on_closed();
  void end_now();
  void give_up();
  void interrupt();
  void fail(ExitCode code, std::string cause, std::string advice);
  void fail_for_defect();
  void judge(Books books);
  [[nodiscard]] ProgressSample sample() const;
  [[nodiscard]] std::string_view waits_for() const;
  [[nodiscard]] Summary summary() const;

  const SendArguments& arguments_;
  Report report_;
  Context context_;
  std::unique_ptr<MessageSource> source_;  // Before the socket, which reads what it was lent.
  Push push_;
  Progress progress_;
  PeerWait wait_;
  Pace pace_;
  Timer turn_;        // The next pump().
  Timer time_is_up_;  // --seconds
  Interrupt interrupt_;

  Phase phase_ = Phase::waiting;
  bool blocked_ = false;  // The socket will say when.
  bool interrupted_ = false;
  bool gave_up_ = false;  // no receiver came, or came back
  std::string address_;
  std::map<std::uint64_t, std::uint64_t> up_;  // connected peers: id, the largest message it takes
  bool attempt_noted_ = false;
  ConnectedTime connected_;
  Books books_;
  ExitCode code_ = ExitCode::done;
  std::string error_;
  std::string advice_;
};

SendSession::SendSession(const SendArguments& arguments)
    : arguments_(arguments),
      report_(arguments.report, false),
      context_(context_options(arguments.peer, Role::sender)),
      push_(context_, socket_options(arguments.peer, arguments.mode)),
      progress_(context_.loop(), "netio send", arguments.report.quiet, [this] { return sample(); }),
      wait_(context_.loop(), arguments.peer, [this] { give_up(); }),
      pace_(arguments.rate),
      turn_(context_.loop(), [this] { pump(); }),
      time_is_up_(context_.loop(), [this] { close(arguments_.linger.value_or(linger_unlimited)); }),
      interrupt_(context_.loop(), [this] { interrupt(); }),
      address_(arguments.peer.address) {
  push_.on_up([this](const PeerInfo& peer) { on_up(peer); });
  push_.on_down([this](const PeerInfo& peer, const Down& down) { on_down(peer, down); });
  push_.on_writable([this] {
    blocked_ = false;
    pump();
  });
  push_.on_closed([this](const Books&) { on_closed(); });
}

void SendSession::make_source() {
  const auto on_ready = [this] { pump(); };
  const bool unbuffered = arguments_.mode == Mode::unbuffered;
  if (arguments_.load) {
    source_ = make_load(*arguments_.load, unbuffered, push_, on_ready,
                        [this] { progress_.note("preparing the load ..."); });
  } else {
    if (arguments_.input == "-" && ::isatty(STDIN_FILENO) == 1) {
      progress_.note("reading from the terminal until Ctrl-D (generated load: --size)");
    } else if (arguments_.input == "-" && arguments_.rate) {
      progress_.note("sending standard input (generated load: --size)");
    }
    source_ = open_input(
        {arguments_.input, arguments_.frame, arguments_.peer.message_bytes_max, unbuffered},
        context_.loop(), push_, on_ready);
  }
}

// What takes time comes first: whoever is met waits for no greeting.
void SendSession::meet() {
  make_source();
  if (arguments_.peer.binds) {
    address_ = push_.bind(arguments_.peer.address);
    progress_.note("listening on " + address_);
  } else {
    push_.connect(arguments_.peer.address);
  }
  wait_.begin();
}

ExitCode SendSession::run() {
  meet();
  context_.run();
  progress_.finish();
  judge(push_.books());
  if (!error_.empty()) progress_.error(error_, advice_);
  const Summary result = summary();
  report_.publish(to_text(result), [&result] { return to_json(result); });
  return code_;
}

void SendSession::pump() {
  if (phase_ != Phase::sending || blocked_) return;
  const std::chrono::nanoseconds now = context_.loop().now();
  const Allowance due = pace_.due(now, source_->messages(), source_->bytes());
  if (due.messages == 0 || due.bytes == 0) {
    turn_.start_once(pace_.wait(now, source_->messages(), source_->bytes()));
    return;
  }
  Turn turn = Turn::end;
  try {
    turn = source_->send_some(push_, due);
  } catch (const Failure& failure) {
    fail(failure.code(), failure.what(), failure.advice());
  } catch (const std::bad_alloc&) {
    fail(ExitCode::failed, "out of memory for the next record of the input",
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

void SendSession::on_up(const PeerInfo& peer) {
  up_[peer.id] = peer.message_bytes_max;
  connected_.up(context_.loop().now());
  wait_.up();
  attempt_noted_ = false;
  if (phase_ != Phase::waiting) {
    progress_.note(fmt::format("connected to {}", peer.address));
    return;
  }
  phase_ = Phase::sending;
  pace_.start(context_.loop().now());
  progress_.start();
  if (arguments_.seconds) time_is_up_.start_once(*arguments_.seconds);
  // Not from here: the call-back of one event is no place for the work of another.
  turn_.start_once(std::chrono::nanoseconds(0));
}

void SendSession::on_down(const PeerInfo& peer, const Down& down) {
  up_.erase(peer.id);
  if (up_.empty()) connected_.down(context_.loop().now());
  const bool in_order =
      down.reason == DownReason::closed_by_peer || down.reason == DownReason::closed_here;
  if (peer.was_up && in_order) {
    if (phase_ != Phase::closing)
      progress_.note(fmt::format("receiver {} has ended", peer.address));
  } else if (peer.was_up) {
    progress_.note(fmt::format("lost {}: {}", peer.address, why(peer, down)));
  } else if (peer.retrying && !std::exchange(attempt_noted_, true)) {
    progress_.note(fmt::format("waiting for {}: {}", peer.address, why(peer, down)));
  }
  wait_.down(peer, down, push_.peers_connected());
}

void SendSession::close(std::chrono::nanoseconds linger) {
  if (phase_ == Phase::closing || phase_ == Phase::closed) return;
  phase_ = Phase::closing;
  turn_.stop();
  time_is_up_.stop();
  push_.close(linger);
  wait_.closing(push_.peers_connected());
}

void SendSession::on_closed() {
  phase_ = Phase::closed;
  connected_.down(context_.loop().now());
  context_.stop();
}

// What is not on the wire by now is dropped, so that the books are final.
void SendSession::end_now() {
  phase_ = Phase::closing;
  push_.close(std::chrono::nanoseconds(0));
}

void SendSession::give_up() {
  gave_up_ = true;
  fail(wait_.met() ? ExitCode::peer_lost : ExitCode::failed, wait_.cause(), wait_.advice());
  end_now();
}

void SendSession::interrupt() {
  const bool in_stream = phase_ == Phase::sending && !interrupted_;
  interrupted_ = true;
  if (in_stream) {
    close(std::min<std::chrono::nanoseconds>(arguments_.linger.value_or(linger_interrupted),
                                             linger_interrupted));
  } else {
    end_now();  // Nothing was sent yet, or it was asked for twice.
  }
}

void SendSession::fail(ExitCode code, std::string cause, std::string advice) {
  if (!error_.empty()) return;  // The first cause is the one that counts.
  code_ = code;
  error_ = std::move(cause);
  advice_ = std::move(advice);
}

// This side's limit was looked at as the message was made: it is theirs.
void SendSession::fail_for_defect() {
  std::uint64_t most = 0;
  for (const auto& [id, takes] : up_) most = std::max(most, takes);
  if (!source_->too_big() || most == 0) return fail(ExitCode::failed, source_->defect(), {});
  fail(ExitCode::failed,
       fmt::format("{}, the receiver takes up to {}", source_->defect(), binary_bytes(most)),
       "raise its --message-max");
}

void SendSession::judge(Books books) {
  // Nobody had set a linger time that could expire.
  const auto dropped_by = [&books](DropReason reason) -> std::uint64_t& {
    return books.dropped_by[static_cast<std::size_t>(reason)];
  };
  if (gave_up_) {
    dropped_by(DropReason::not_sent) += std::exchange(dropped_by(DropReason::linger_expired), 0);
  }
  books_ = books;
  if (interrupted_) {
    code_ = ExitCode::interrupted;
    return;
  }
  if (books.dropped() + books.unacknowledged == 0) return;
  std::string cause;
  if (books.dropped() != 0) {
    cause =
        fmt::format("{} dropped ({})", counted(books.dropped(), "message"), drop_reasons(books));
  }
  if (books.unacknowledged != 0) {
    cause += fmt::format("{}{} not acknowledged", cause.empty() ? "" : ", ",
                         counted(books.unacknowledged, "message"));
  }
  if (error_.empty()) {
    fail(ExitCode::peer_lost, cause, "they may not have arrived");
  } else {
    error_ += "; " + cause;
  }
}

ProgressSample SendSession::sample() const {
  ProgressSample result{source_->messages(), source_->bytes(), source_->fraction(), waits_for()};
  // Done is what has arrived.
  if (result.fraction) *result.fraction *= acknowledged_share(push_.books());
  return result;
}

std::string_view SendSession::waits_for() const {
  if (up_.empty()) return "waiting for a receiver to come back";
  if (phase_ == Phase::closing) return "waiting for acknowledgements (Ctrl-C ends it at once)";
  return {};
}

Summary SendSession::summary() const {
  Summary result;
  result.command = "send";
  result.address = address_;
  result.mode = arguments_.mode == Mode::buffered ? "buffered" : "unbuffered";
  result.code = code_;
  result.error = error_;
  result.messages = source_->messages();
  result.bytes = source_->bytes();
  result.seconds = std::chrono::duration<double>(connected_.total()).count();
  result.books = books_;
  result.counters = push_.counters();
  return result;
}

}  // namespace

ExitCode run_send(const SendArguments& arguments) { return SendSession(arguments).run(); }

}  // namespace netio::cli
