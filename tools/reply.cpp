#include "reply.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <netio/reply.hpp>

#include "call_session.hpp"
#include "session_options.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

class ReplySession final : public CallSession {
 public:
  explicit ReplySession(const ReplyArguments& arguments);

 private:
  void take(const MessageView& request, ReplyTo to);
  [[nodiscard]] bool ends_with_peer() const override { return true; }
  [[nodiscard]] ProgressSample sample() override;
  void judge() override;
  void complete(Summary& summary) const override;

  const ReplyArguments& asked_;
  Reply reply_;
  std::vector<Segment> segments_;  // of the answer at hand
  std::uint64_t answers_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t refused_ = 0;
  Status why_refused_ = Status::ok;
};

ReplySession::ReplySession(const ReplyArguments& arguments)
    : CallSession(arguments, "reply", "requester", false),
      asked_(arguments),
      reply_(context_, arguments.peer.channel ? arguments.peer.channel->reply : ReplyOptions{},
             socket_options(arguments.peer, arguments.mode)) {
  reply_.on_request(
      [this](const MessageView& request, ReplyTo to) { take(request, std::move(to)); });
  use(reply_);
}

void ReplySession::take(const MessageView& request, ReplyTo to) {
  if (closing_) return;  // and the requester is told that it has no answer
  segments_.clear();
  std::size_t bytes = 0;
  if (asked_.text) {
    segments_.emplace_back(std::string_view(*asked_.text));
    bytes = asked_.text->size();
  } else {
    for (const std::span<const std::byte> segment : request.segments()) {
      segments_.emplace_back(segment);
      bytes += segment.size();
    }
  }
  const Status status =
      segments_.size() == 1 ? to.send(segments_.front().bytes()) : to.send_segments(segments_);
  if (status == Status::ok) {
    bytes_ += bytes;
    if (++answers_ == asked_.count) close();
  } else if (status != Status::not_connected) {  // nobody waits for it: the books count that
    why_refused_ = status;
    if (refused_++ == 0) {
      progress_.note(fmt::format(
          "an answer of {} was not sent: {}{}", counted(bytes, "byte"), to_string(status),
          status == Status::too_big ? " (for the requester's --message-max, or the one here)"
                                    : ""));
    }
  }
}

ProgressSample ReplySession::sample() {
  ProgressSample result{answers_, bytes_, std::nullopt};
  if (asked_.count) {
    result.fraction = static_cast<double>(answers_) / static_cast<double>(*asked_.count);
  }
  if (up_.empty()) result.waits_for = "waiting for a requester";
  result.noun = "answer";
  return result;
}

void ReplySession::judge() {
  if (refused_ == 0) return;
  verdict_.fail(ExitCode::failed,
                fmt::format("{} not sent, the last of them: {}", counted(refused_, "answer"),
                            to_string(why_refused_)),
                why_refused_ == Status::too_big ? "raise --message-max on both sides" : "");
}

void ReplySession::complete(Summary& summary) const {
  summary.kind = Summary::Kind::replied;
  summary.mode = asked_.mode == Mode::buffered ? "buffered" : "unbuffered";
  summary.messages = answers_;
  summary.bytes = bytes_;
  summary.replied = reply_.requests();
}

}  // namespace

ExitCode run_reply(const ReplyArguments& arguments) { return ReplySession(arguments).run(); }

}  // namespace netio::cli
