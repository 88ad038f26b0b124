#include "send.hpp"

#include <utility>

#include <fmt/format.h>

#include <netio/push.hpp>

#include "attempt_notes.hpp"
#include "peer_name.hpp"
#include "sending_session.hpp"
#include "session_options.hpp"

namespace netio::cli {

namespace {

class SendSession final : public SendingSession {
 public:
  explicit SendSession(const SendArguments& arguments)
      : SendingSession(arguments, "send", "receiver"),
        push_(context_, socket_options(arguments.peer, arguments.mode)),
        outlet_(push_, arguments.head_bytes),
        to_all_(push_) {
    push_.on_writable([this] { on_writable(); });
    arguments.to_all ? use(push_, to_all_) : use(push_, outlet_);
  }

 private:
  void peer_up(const PeerInfo& peer) override;
  void peer_down(const PeerInfo& peer, const Down& down) override;
  void judge(const Books& books) override;
  [[nodiscard]] std::string waits_for() const override;
  void complete(Summary& summary) const override;

  Push push_;
  PushOutlet outlet_;
  ToAllOutlet to_all_;
  AttemptNotes attempts_;
};

void SendSession::peer_up(const PeerInfo& peer) {
  attempts_.clear();
  const std::string number = gathers() ? ": " + gathered() : "";
  if (phase_ != Phase::waiting || gathers()) {
    progress_.note(fmt::format("connected to {}{}", named(peer), number));
  }
  if (present() >= arguments_.wait_for) begin();
}

void SendSession::peer_down(const PeerInfo& peer, const Down& down) {
  if (peer.was_up && ended_in_order(down)) {
    if (phase_ != Phase::closing) progress_.note(fmt::format("receiver {} has ended", named(peer)));
  } else if (peer.was_up) {
    progress_.note(fmt::format("lost {}: {}", named(peer), why(peer, down)));
  } else if (peer.retrying && attempts_.is_new(peer, down)) {
    progress_.note(fmt::format("waiting for {}: {}", named(peer), why(peer, down)));
  } else if (peer.dialed && !peer.retrying && gathers() && present() != 0) {
    progress_.note(fmt::format("{} cannot be used: {}", named(peer), why(peer, down)));
  }
  wait_.down(peer, down, push_.peers_connected());
}

void SendSession::judge(const Books& books) {
  fail_for_doubt(books);
  const ToAllOutlet::Reach& reach = to_all_.reach();
  if (reach.receivers_max == 0 || reach.receivers_min >= arguments_.wait_for) return;
  add_doubt(fmt::format("some messages went to {} of the {} that were waited for",
                        reach.receivers_min, counted(arguments_.wait_for, "receiver")),
            "the others had ended, or were lost, before");
}

std::string SendSession::waits_for() const {
  if (gathers()) return SendingSession::waits_for();
  if (up_.empty()) return "waiting for a receiver to come back";
  const std::string behind = peer_table_.behind();
  if (phase_ == Phase::sending && held_up_ && !behind.empty()) return "held up by " + behind;
  return SendingSession::waits_for();
}

void SendSession::complete(Summary& summary) const {
  summary.mode = arguments_.mode == Mode::buffered ? "buffered" : "unbuffered";
  if (arguments_.to_all) summary.to_all = to_all_.reach();
}

}  // namespace

ExitCode run_send(const SendArguments& arguments) { return SendSession(arguments).run(); }

}  // namespace netio::cli
