#include "recv.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <netio/context.hpp>
#include <netio/pull.hpp>

#include "interrupt.hpp"
#include "output.hpp"
#include "peer_wait.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "session_options.hpp"
#include "summary.hpp"
#include "verifier.hpp"

namespace netio::cli {

namespace {

// For the last acknowledgements on their way out.
constexpr std::chrono::seconds linger{1};
// How often to look for the first bytes. A sender whose first message comes within this was sending
// since it was connected.
constexpr std::chrono::milliseconds look_every{100};
// So much is part of a message; on fabrics a little comes without any.
constexpr std::uint64_t begun_bytes = 64U << 10U;

std::string_view advice_for(const Verification& checked) {
  if (checked.unstamped_senders != 0) {
    return "the first message of a sender bears no checksum: it was started without --verify";
  }
  if (checked.gaps != 0) {
    return "numbers are skipped by a sender that has several receivers, or was joined in "
           "mid-stream: say --shared";
  }
  return {};
}

class RecvSession {
 public:
  explicit RecvSession(const RecvArguments& arguments);
  ExitCode run();

 private:
  void meet();
  void receive_each();
  void receive_pages();
  void take(const MessageView& message);
  void write_out();
  void on_up(const PeerInfo& peer);
  void on_down(const PeerInfo& peer, const Down& down);
  void note_turned_away(const PeerInfo& peer, const Down& down);
  void look();
  void close();
  void output_ended();
  void give_up();
  void interrupt();
  void fail(ExitCode code, std::string cause, std::string advice);
  void judge();
  ProgressSample sample();
  [[nodiscard]] Summary summary() const;

  const RecvArguments& arguments_;
  Report report_;
  Context context_;
  Pull pull_;
  Progress progress_;
  Timer look_timer_;
  PeerWait wait_;
  Interrupt interrupt_;
  std::optional<Output> output_;
  std::optional<Verifier> verifier_;

  bool closing_ = false;
  bool interrupted_ = false;
  std::string address_;
  std::set<std::uint64_t> up_;  // ids of connected senders
  SenderCounts senders_;
  std::string last_loss_;
  std::uint64_t turned_away_ = 0;  // one after the other, for the reason
  std::string turned_away_for_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t sampled_messages_ = 0;
  std::uint64_t sampled_arrived_ = 0;
  std::uint64_t sampled_bytes_ = 0;
  std::chrono::nanoseconds up_at_{0};   // the first sender
  std::chrono::nanoseconds looked_{0};  // nothing had come by then
  std::chrono::nanoseconds begun_{0};
  std::chrono::nanoseconds last_{0};  // message
  ExitCode code_ = ExitCode::done;
  std::string error_;
  std::string advice_;
};

RecvSession::RecvSession(const RecvArguments& arguments)
    : arguments_(arguments),
      report_(arguments.report, arguments.out == "-"),
      context_(context_options(arguments.peer, Role::receiver)),
      pull_(context_, socket_options(arguments.peer, Mode::buffered)),
      progress_(context_.loop(), "netio recv", arguments.report.quiet, [this] { return sample(); }),
      look_timer_(context_.loop(), [this] { look(); }),
      wait_(context_.loop(), arguments.peer, [this] { give_up(); }),
      interrupt_(context_.loop(), [this] { interrupt(); }),
      address_(arguments.peer.address) {
  if (arguments.verify) verifier_.emplace(arguments.shared);
  if (arguments.count) {
    receive_each();
  } else {
    receive_pages();
  }
  pull_.on_up([this](const PeerInfo& peer) { on_up(peer); });
  pull_.on_down([this](const PeerInfo& peer, const Down& down) { on_down(peer, down); });
  pull_.on_closed([this](const Books&) { context_.stop(); });
}

void RecvSession::meet() {
  if (arguments_.peer.binds) {
    address_ = pull_.bind(arguments_.peer.address);
  } else {
    pull_.connect(arguments_.peer.address);
  }
  // Only now: an address that cannot be had leaves no file behind.
  if (!arguments_.out.empty()) output_.emplace(arguments_.out);
  if (arguments_.peer.binds) progress_.note("listening on " + address_);
  if (arguments_.out == "-" && ::isatty(STDOUT_FILENO) == 1) progress_.stay_off_terminal();
  wait_.begin();
}

ExitCode RecvSession::run() {
  meet();
  context_.run();
  progress_.finish();
  if (output_ && senders_.came != 0) output_->finish();
  judge();
  if (!error_.empty()) progress_.error(error_, advice_);
  const Summary result = summary();
  report_.publish(to_text(result), [&result] { return to_json(result); });
  return code_;
}

// The last one may lie in the middle of a page, whose rest is then neither delivered nor
// acknowledged.
void RecvSession::receive_each() {
  pull_.on_message([this](const MessageView& message) {
    if (closing_) return;
    take(message);
    write_out();
    if (messages_ == arguments_.count) close();
  });
}

void RecvSession::receive_pages() {
  pull_.on_batch([this](const Batch& batch) {
    if (closing_) return;
    for (const MessageView message : batch) take(message);
    write_out();
  });
}

void RecvSession::take(const MessageView& message) {
  last_ = context_.loop().now();
  if (messages_++ == 0) {
    const bool seen_coming = !look_timer_.running() || looked_ == up_at_;
    begun_ = seen_coming ? looked_ : last_;
    look_timer_.stop();
  }
  bytes_ += message.size();
  if (verifier_) verifier_->check(pull_.sender_id(), message.bytes());
  if (output_) output_->append(message.bytes());
}

// A large message begins long before it is here.
void RecvSession::look() {
  if (pull_.counters().bytes_arrived >= begun_bytes) {
    look_timer_.stop();
  } else {
    looked_ = context_.loop().now();
  }
}

// With what has come of messages that are not whole yet, while none is delivered.
ProgressSample RecvSession::sample() {
  const std::uint64_t arrived = pull_.counters().bytes_arrived;
  if (std::exchange(sampled_messages_, messages_) != messages_) sampled_arrived_ = arrived;
  const std::uint64_t begun = arrived - sampled_arrived_;
  sampled_bytes_ = std::max(sampled_bytes_, bytes_ + (begun < begun_bytes ? 0 : begun));
  return {messages_, sampled_bytes_, std::nullopt, up_.empty() ? "waiting for a sender" : ""};
}

// What a call-back returns for is acknowledged to the sender: so it is written first.
void RecvSession::write_out() {
  if (!output_) return;
  output_->flush();
  if (output_->state() != Output::State::open) output_ended();
}

void RecvSession::on_up(const PeerInfo& peer) {
  up_.insert(peer.id);
  wait_.up();
  // The library knows a sender that returns by its session; its books go on where they were.
  const std::uint64_t taken_before = peer.books.delivered + peer.books.missed;
  if (verifier_) verifier_->expect(peer.id, taken_before);
  if (taken_before != 0 && senders_.lost != 0) {
    --senders_.lost;
    progress_.note(fmt::format("sender {} came back", peer.address));
    return;
  }
  if (senders_.came++ != 0) return;
  up_at_ = looked_ = context_.loop().now();
  look_timer_.start_periodic(look_every);
  progress_.start();
}

void RecvSession::on_down(const PeerInfo& peer, const Down& down) {
  if (down.reason == DownReason::closed_here || closing_) return;
  if (verifier_) verifier_->forget(peer.id);
  up_.erase(peer.id);
  if (!peer.was_up) {
    if (!peer.dialed) note_turned_away(peer, down);
  } else if (down.reason == DownReason::closed_by_peer) {
    ++senders_.ended;
  } else {
    ++senders_.lost;
    last_loss_ = fmt::format("{}: {}", peer.address, why(peer, down));
    progress_.note("lost sender " + last_loss_);
  }
  if (!up_.empty()) return;
  if (senders_.came >= arguments_.senders_min && senders_.came > 0 && !arguments_.keep) {
    close();
  } else {
    wait_.down(peer, down, pull_.peers_connected());
  }
}

// Of those that come again and again for the same reason the 1st, the 10th, the 100th ...
void RecvSession::note_turned_away(const PeerInfo& peer, const Down& down) {
  const std::string reason = why(peer, down);
  if (std::exchange(turned_away_for_, reason) != reason) turned_away_ = 0;
  ++turned_away_;
  std::uint64_t noted = 1;
  while (noted < turned_away_) noted *= 10;
  if (turned_away_ != noted) return;
  progress_.note(fmt::format("turned away {}: {}{}", peer.address, reason,
                             noted == 1 ? "" : fmt::format(" ({} of them)", grouped(noted))));
}

void RecvSession::close() {
  if (std::exchange(closing_, true)) return;
  pull_.close(linger);
}

// What could not be written is not acknowledged: the socket is cut, not closed. A reader that left
// has what it wanted; what was on its way to it counts as taken, as what is left in the pipe does.
void RecvSession::output_ended() {
  if (output_->state() == Output::State::reader_gone) return close();
  closing_ = true;
  pull_.pause();
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
      fail(ExitCode::failed, std::move(cause), {});
    }
  }
  context_.stop();
}

void RecvSession::give_up() {
  fail(wait_.met() ? ExitCode::peer_lost : ExitCode::failed, wait_.cause(), wait_.advice());
  context_.stop();
}

void RecvSession::interrupt() {
  const bool connected = !up_.empty() && !interrupted_ && !closing_;
  interrupted_ = true;
  if (connected) {
    close();
  } else {
    context_.stop();
  }
}

void RecvSession::fail(ExitCode code, std::string cause, std::string advice) {
  if (!error_.empty()) return;
  code_ = code;
  error_ = std::move(cause);
  advice_ = std::move(advice);
}

void RecvSession::judge() {
  if (verifier_ && !verifier_->result().passed()) {
    const Verification& checked = verifier_->result();
    fail(ExitCode::failed,
         fmt::format("verification failed: {} corrupt, {} missing, {} repeated",
                     grouped(checked.corrupt), grouped(checked.missing), grouped(checked.repeated)),
         std::string(advice_for(checked)));
  }
  if (senders_.lost != 0) {
    fail(ExitCode::peer_lost,
         fmt::format("{} of {} lost in mid-stream, the last was {}", grouped(senders_.lost),
                     counted(senders_.came, "sender"), last_loss_),
         "what it had sent and is not in the summary is gone");
  } else if (const std::uint64_t missed = pull_.books().missed; missed != 0) {
    fail(ExitCode::peer_lost,
         fmt::format("{} lost while a sender was disconnected", counted(missed, "message")), {});
  }
  if (interrupted_) code_ = ExitCode::interrupted;
}

Summary RecvSession::summary() const {
  Summary result;
  result.command = "recv";
  result.address = address_;
  result.code = code_;
  result.error = error_;
  result.messages = messages_;
  result.bytes = bytes_;
  result.seconds = std::chrono::duration<double>(last_ - begun_).count();
  result.timed = messages_ != 1 || begun_ != last_ || begun_ == up_at_;
  result.books = pull_.books();
  result.counters = pull_.counters();
  result.receiving = true;
  result.senders = senders_;
  if (output_) {
    result.output =
        WrittenOutput{output_->name(), output_->messages_written(), output_->bytes_written()};
  }
  if (verifier_) result.verification = verifier_->result();
  return result;
}

}  // namespace

ExitCode run_recv(const RecvArguments& arguments) { return RecvSession(arguments).run(); }

}  // namespace netio::cli
