#include "echo.hpp"

#include <utility>

#include <fmt/format.h>

#include "pair_session.hpp"
#include "peer_name.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

class EchoSession final : public PairSession {
 public:
  explicit EchoSession(const PairArguments& arguments) : PairSession(arguments, "echo") {}

 private:
  void take(const MessageView& message) override;
  void on_writable() override;
  void peer_up(const PeerInfo& peer) override;
  void peer_down() override;
  [[nodiscard]] ProgressSample sample() override { return {messages_, bytes_, std::nullopt}; }
  void judge() override;
  void publish(Report& report) override;

  void sent_back(Status status, std::size_t bytes);

  Message held_;  // Its peer has no room for it: nothing more is read until then.
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t refused_ = 0;
  Status why_refused_ = Status::ok;
};

void EchoSession::take(const MessageView& message) {
  const Status status = pair_.send(message.bytes(), message.tag());
  if (status != Status::again) return sent_back(status, message.size());
  held_ = message.keep();
  pair_.pause();
}

void EchoSession::on_writable() {
  if (!pair_.paused()) return;
  const std::size_t bytes = held_.size();
  const Status status = pair_.send(std::move(held_));
  if (status == Status::again) return;
  held_ = {};
  pair_.resume();
  sent_back(status, bytes);
}

void EchoSession::sent_back(Status status, std::size_t bytes) {
  if (status != Status::ok) {
    why_refused_ = status;
    if (refused_++ == 0) {
      progress_.note(
          fmt::format("{} not sent back: {}", counted(bytes, "byte"), to_string(status)));
    }
    return;
  }
  bytes_ += bytes;
  if (++messages_ == arguments_.count) close();
}

void EchoSession::peer_up(const PeerInfo& peer) {
  progress_.note(named(peer) + " is here");
  if (peers_.came == 1) progress_.start();
}

void EchoSession::peer_down() {
  held_ = {};
  pair_.resume();
}

void EchoSession::judge() {
  if (refused_ == 0) return;
  verdict_.fail(ExitCode::failed,
                fmt::format("{} not sent back, the last of them: {}", counted(refused_, "message"),
                            to_string(why_refused_)),
                {});
}

void EchoSession::publish(Report& report) {
  Summary result;
  result.kind = Summary::Kind::echoed;
  result.command = "echo";
  result.address = address_;
  result.code = verdict_.code;
  result.error = verdict_.error;
  result.messages = messages_;
  result.bytes = bytes_;
  result.seconds = seconds_of(connected_.total());
  result.books = pair_.books();
  result.counters = pair_.counters();
  result.peers = peers_;
  report.publish(to_text(result), [&result] { return to_json(result); });
}

}  // namespace

ExitCode run_echo(const PairArguments& arguments) { return EchoSession(arguments).run(); }

}  // namespace netio::cli
