#include "request.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <netio/request.hpp>

#include "call_books.hpp"
#include "call_session.hpp"
#include "input.hpp"
#include "output.hpp"
#include "payload.hpp"
#include "round_trips.hpp"
#include "session_options.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using Clock = std::chrono::steady_clock;  // the loop's time stands still within a turn

// A request that nobody has answered when its replier was away for so long is in doubt. Without
// this it would end only with --within, and as timed out, which says less.
constexpr std::chrono::seconds away_within{2};
// A requester that binds says after this time that nobody has connected.
constexpr std::chrono::seconds alone_after{2};
// Asked in one turn of the loop at most.
constexpr int asked_per_turn = 1024;

// Takes the one message that an input has.
class KeepingOutlet final : public Outlet {
 public:
  Status send(std::span<const std::byte> message) noexcept override {
    try {
      kept.assign(message.begin(), message.end());
    } catch (const std::bad_alloc&) {
      return Status::again;
    }
    return Status::ok;
  }
  Status lend(std::span<const std::byte> message, std::uint64_t) noexcept override {
    return send(message);
  }
  void on_released(std::function<void(std::uint64_t)>) override {}

  std::vector<std::byte> kept;
};

SocketOptions options_of(const RequestArguments& arguments) {
  SocketOptions options = socket_options(arguments.peer, arguments.mode);
  // A replier that is stopped takes the connection and says nothing: that is to be told before the
  // time to wait for it is over.
  if (const auto limit = arguments.peer.connect_timeout; limit && !arguments.peer.binds) {
    constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(1);
    options.handshake_within = std::clamp(*limit / 4 * 3, least, options.handshake_within);
  }
  if (options.resume_bytes_max == 0) {
    options.resume_within = away_within;
    if (arguments.peer.connect_timeout) {
      options.resume_within = std::min(options.resume_within, *arguments.peer.connect_timeout);
    }
  }
  return options;
}

RequestOptions asking_of(const RequestArguments& arguments) {
  RequestOptions options =
      arguments.peer.channel ? arguments.peer.channel->request : RequestOptions{};
  options.pending_max =
      std::max(options.pending_max, static_cast<std::size_t>(arguments.concurrent));
  return options;
}

class RequestSession final : public CallSession {
 public:
  explicit RequestSession(const RequestArguments& arguments);

 private:
  void prepare() override;
  void peer_up() override { ask_on(); }
  void time_is_up() override;
  void gave_up() override { time_is_up(); }
  [[nodiscard]] ProgressSample sample() override;
  void judge() override;
  void complete(Summary& summary) const override;
  [[nodiscard]] bool to_be_told(const Summary& summary) const override;

  void note_alone();
  void read_input();
  void ask_on();
  void fail_to_ask(Status status);
  void answered(std::uint64_t id, const MessageView& answer);
  void write_out(std::span<const std::byte> answer);
  [[nodiscard]] bool all_asked() const noexcept;
  [[nodiscard]] std::string advice_after_time() const;

  const RequestArguments& asked_;
  const Ask ask_;
  KeepingOutlet input_;  // the request
  Request request_;
  std::unique_ptr<MessageSource> source_;
  std::optional<Output> output_;
  Timer turn_;
  Timer alone_;                                                // says that nobody is there
  std::unordered_map<std::uint64_t, Clock::time_point> left_;  // of what is under way
  RoundTrips trips_;
  Payload payload_;
  std::uint64_t bytes_ = 0;   // of answers
  std::uint64_t differ_ = 0;  // from the request
  bool ready_ = false;        // the request is known
  bool blocked_ = false;      // on_writable goes on
  bool last_ = false;         // no more after those that are under way
};

RequestSession::RequestSession(const RequestArguments& arguments)
    : CallSession(arguments, "request", "replier", arguments.out == "-"),
      asked_(arguments),
      ask_{.within = arguments.within, .peer = 0, .idempotent = arguments.idempotent},
      request_(context_, asking_of(arguments), options_of(arguments)),
      turn_(context_.loop(), [this] { ready_ ? ask_on() : read_input(); }),
      alone_(context_.loop(), [this] { note_alone(); }) {
  request_.on_reply([this](std::uint64_t id, const MessageView& answer) { answered(id, answer); });
  request_.on_failed([this](std::uint64_t id, Outcome) {
    left_.erase(id);
    ask_on();
  });
  request_.on_writable([this] {
    blocked_ = false;
    ask_on();
  });
  use(request_);
}

void RequestSession::prepare() {
  if (asked_.peer.binds) alone_.start_once(alone_after);
  if (asked_.text) {
    const auto bytes = std::as_bytes(std::span<const char>(*asked_.text));
    input_.kept.assign(bytes.begin(), bytes.end());
    ready_ = true;
  } else {
    if (asked_.input == "-" && ::isatty(STDIN_FILENO) == 1) {
      progress_.note("reading the request from the terminal until Ctrl-D (or give --text)");
      progress_.stay_off_terminal();
    }
    source_ = open_input({asked_.input, {}, asked_.peer.message_bytes_max, false}, context_.loop(),
                         input_, [this] { read_input(); });
    turn_.start_once(std::chrono::nanoseconds(0));
  }
  if (asked_.out.empty()) return;
  output_.emplace(asked_.out);
  if (asked_.out == "-" && ::isatty(STDOUT_FILENO) == 1) progress_.stay_off_terminal();
}

void RequestSession::note_alone() {
  if (wait_.met() || closing_) return;
  progress_.note(asked_.peer.connect_timeout
                     ? "no replier has connected yet"
                     : "no replier has connected yet: waiting for one until Ctrl-C "
                       "(--connect-timeout gives up)");
}

// The whole of it is one request.
void RequestSession::read_input() {
  if (ready_ || closing_) return;
  constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  Turn turn = Turn::end;
  try {
    turn = source_->send_some(input_, {all, all});
  } catch (const Failure& failure) {
    verdict_.fail(failure.code(), failure.what(), failure.advice());
    return close();
  } catch (const std::bad_alloc&) {
    turn = Turn::blocked;
  }
  if (turn == Turn::more) return turn_.start_once(std::chrono::nanoseconds(0));
  if (turn == Turn::waiting) return;
  if (turn == Turn::blocked || !source_->defect().empty()) {
    verdict_.fail(ExitCode::failed, turn == Turn::blocked ? "out of memory" : source_->defect(),
                  {});
    return close();
  }
  ready_ = true;
  ask_on();
}

bool RequestSession::all_asked() const noexcept {
  return last_ || (asked_.count && request_.requests().asked == *asked_.count);
}

void RequestSession::ask_on() {
  if (closing_ || (!ready_ && !last_)) return;
  for (int n = 0; !blocked_ && !all_asked(); ++n) {
    if (request_.requests().under_way >= asked_.concurrent) return;
    if (n == asked_per_turn) return turn_.start_once(std::chrono::nanoseconds(0));
    std::uint64_t id = 0;
    const Clock::time_point now = Clock::now();
    const Status status = request_.send(input_.kept, id, ask_);
    if (status == Status::ok) {
      left_.emplace(id, now);
    } else if (status == Status::again || status == Status::not_connected) {
      blocked_ = true;
    } else {
      return fail_to_ask(status);
    }
  }
  if (all_asked() && request_.requests().under_way == 0) close();
}

void RequestSession::fail_to_ask(Status status) {
  std::uint64_t most = 0;
  for (const auto& [id, takes] : up_) most = std::max(most, takes);
  if (status == Status::too_big && most != 0) {
    verdict_.fail(ExitCode::failed,
                  fmt::format("a request of {} is too much for the replier, which takes up to {}",
                              counted(input_.kept.size(), "byte"), binary_bytes(most)),
                  advice_for_size);
  } else {
    verdict_.fail(ExitCode::failed, fmt::format("cannot ask: {}", to_string(status)), {});
  }
  last_ = true;
  if (request_.requests().under_way == 0) close();
}

void RequestSession::answered(std::uint64_t id, const MessageView& answer) {
  if (const auto left = left_.find(id); left != left_.end()) {
    const std::chrono::nanoseconds time = Clock::now() - left->second;
    trips_.add(static_cast<std::uint64_t>(time.count()));
    left_.erase(left);
  }
  const std::span<const std::byte> bytes = payload_.of(answer);
  bytes_ += bytes.size();
  if (asked_.verify && !std::ranges::equal(bytes, input_.kept)) ++differ_;
  if (output_ && !closing_) write_out(bytes);
  ask_on();
}

// A reader that left has what it wanted.
void RequestSession::write_out(std::span<const std::byte> answer) {
  output_->append(answer);
  output_->flush();
  switch (output_->state()) {
    case Output::State::open:
      return;
    case Output::State::reader_gone:
      break;
    case Output::State::interrupted:
      interrupted_ = true;
      break;
    case Output::State::failed:
      verdict_.fail(ExitCode::failed,
                    fmt::format("cannot write to {}: {}", output_->name(), output_->error()), {});
  }
  close();
}

void RequestSession::time_is_up() {
  last_ = true;
  ask_on();
}

ProgressSample RequestSession::sample() {
  const RequestBooks books = request_.requests();
  ProgressSample result{trips_.answered, bytes_, std::nullopt};
  if (asked_.count && *asked_.count > 1) {
    result.fraction =
        static_cast<double>(books.asked - books.under_way) / static_cast<double>(*asked_.count);
  }
  if (!ready_) {
    result.waits_for = "waiting for the request";
  } else if (up_.empty()) {
    result.waits_for = "waiting for a replier to come back";
  } else if (asked_.count == 1 && trips_.answered == 0) {
    result.waits_for = "waiting for the answer";
  }
  result.noun = "answer";
  return result;
}

void RequestSession::judge() {
  const RequestBooks books = request_.requests();
  const std::uint64_t lost = books.of(Outcome::in_doubt) + books.of(Outcome::not_executed);
  const std::uint64_t missing = books.asked - books.of(Outcome::answered);
  if (differ_ != 0) {
    verdict_.fail(ExitCode::failed,
                  fmt::format("verification failed: {} from the request",
                              differ_ == 1 ? "1 answer differs"
                                           : fmt::format("{} answers differ", grouped(differ_))),
                  "with --verify the other side has to be netio reply without --text");
  }
  if (missing == 0) return;
  std::string cause =
      fmt::format("{} {} not answered", counted(missing, "request"), missing == 1 ? "was" : "were");
  if (books.of(Outcome::not_answered) != missing) cause += ": " + ends_text(books, false);
  if (!verdict_.error.empty()) {
    verdict_.error += "; " + cause;
  } else if (lost != 0) {
    verdict_.fail(
        ExitCode::peer_lost, cause,
        books.of(Outcome::in_doubt) != 0
            ? "the replier was lost: what is in doubt may have been executed"
            : "the replier was lost before it had received this: it is safe to ask again");
  } else if (books.of(Outcome::timed_out) != 0) {
    verdict_.fail(ExitCode::failed, cause, advice_after_time());
  } else {
    std::string advice;
    if (books.of(Outcome::not_answered) != 0) {
      advice = missing == 1 ? "the replier received it and gave it up: look there"
                            : "the replier received them and gave them up: look there";
    }
    verdict_.fail(ExitCode::failed, cause, std::move(advice));
  }
}

std::string RequestSession::advice_after_time() const {
  if (peers_lost() != 0) {
    return up_.empty() ? "the replier was lost, and did not come back within --within"
                       : "a replier was lost: what timed out may have been executed";
  }
  if (up_.empty()) return "the replier has ended, and none came back within --within";
  return "the replier is connected: is it busy, or stopped? --within waits longer";
}

void RequestSession::complete(Summary& summary) const {
  summary.kind = Summary::Kind::asked;
  summary.mode = asked_.mode == Mode::buffered ? "buffered" : "unbuffered";
  summary.messages = trips_.answered;
  summary.bytes = bytes_;
  summary.request_bytes = input_.kept.size();
  summary.asked = request_.requests();
  summary.trips = trips_;
  if (asked_.verify) summary.differ = differ_;
  if (output_) {
    summary.output =
        WrittenOutput{output_->name(), output_->messages_written(), output_->bytes_written()};
  }
}

// The answer to one request is what was asked for, and its error says why there is none.
bool RequestSession::to_be_told(const Summary& summary) const {
  return asked_.count != 1 && summary.to_be_told();
}

}  // namespace

ExitCode run_request(const RequestArguments& arguments) { return RequestSession(arguments).run(); }

}  // namespace netio::cli
