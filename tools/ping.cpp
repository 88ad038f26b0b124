#include "ping.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "pair_session.hpp"
#include "round_trips.hpp"
#include "stamp.hpp"
#include "units.hpp"

namespace netio::cli {

namespace {

using Clock = std::chrono::steady_clock;  // the loop's time stands still within a turn

// One message is under way at a time. The next leaves an interval after the last did, or when that
// is answered or given up, whichever is later.
class PingSession final : public PairSession {
 public:
  explicit PingSession(const PingArguments& arguments);

 private:
  void take(const MessageView& message) override;
  void on_writable() override;
  void peer_up(const PeerInfo& peer) override;
  void peer_down() override;
  void time_is_up() override;
  [[nodiscard]] ProgressSample sample() override;
  void judge() override;
  void publish(Report& report) override;

  void begin_trip();
  void send();
  void end_trip();
  void no_answer(const std::string& why);
  // A line of the result. Without a pause between pings, what is worth a line is a note.
  void line(const std::string& text);
  [[nodiscard]] bool paced() const noexcept { return asked_.interval.count() != 0; }

  const PingArguments& asked_;
  std::vector<std::byte> message_;
  const std::uint64_t before_first_;  // numbers go on from here, so that nobody else's fit
  RoundTrips trips_;
  std::string echo_;                  // the address of who is up
  std::uint64_t echo_bytes_max_ = 0;  // the largest message it takes
  bool blocked_ = false;              // the message waits for on_writable
  bool last_ = false;                 // no more after the one that is under way
  Clock::time_point left_;
  Timer next_;
  Timer answer_overdue_;
};

PingSession::PingSession(const PingArguments& arguments)
    : PairSession(arguments, "ping"),
      asked_(arguments),
      message_(arguments.message_bytes),
      before_first_(std::random_device()() * (std::uint64_t{1} << 32U)),
      next_(context_.loop(), [this] { begin_trip(); }),
      answer_overdue_(context_.loop(), [this] {
        no_answer("within " + time_text(static_cast<std::uint64_t>(asked_.timeout.count())));
      }) {
  fill(message_, 0);
}

void PingSession::peer_up(const PeerInfo& peer) {
  echo_ = peer.address;
  echo_bytes_max_ = peer.message_bytes_max;
  if (peers_.came > 1) {
    progress_.note("connected to " + echo_);
  } else if (!paced()) {
    progress_.start();
  }
  next_.start_once(std::chrono::nanoseconds(0));
}

void PingSession::begin_trip() {
  if (closing_) return;
  stamp(message_, before_first_ + ++trips_.sent);
  trips_.pending = true;
  answer_overdue_.start_once(asked_.timeout);
  left_ = Clock::now();
  send();
}

void PingSession::send() {
  const Status status = pair_.send(message_);
  blocked_ = status == Status::again;
  if (status == Status::ok || blocked_) return;
  --trips_.sent;
  trips_.pending = false;
  const bool too_big = status == Status::too_big;
  verdict_.fail(
      ExitCode::failed,
      too_big ? fmt::format("{} are too much for {}, which takes up to {}",
                            counted(message_.size(), "byte"), echo_, binary_bytes(echo_bytes_max_))
              : fmt::format("cannot send: {}", to_string(status)),
      too_big ? advice_for_size : "");
  close();
}

void PingSession::on_writable() {
  if (blocked_ && trips_.pending) send();
}

void PingSession::take(const MessageView& message) {
  const Clock::duration time = Clock::now() - left_;
  if (trips_.pending && std::ranges::equal(message.bytes(), message_)) {
    const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
    trips_.add(ns);
    if (paced()) {
      line(fmt::format("{} from {}: number {}, {}", counted(message.size(), "byte"), echo_,
                       grouped(trips_.sent), time_text(ns)));
    }
    return end_trip();
  }
  std::uint64_t number = 0;
  const std::uint64_t given_up = trips_.sent - (trips_.pending ? 1 : 0);
  if (message.size() == message_.size() && read_stamp(message.bytes(), number) &&
      number - before_first_ - 1 < given_up) {
    ++trips_.late;
    return line(fmt::format("the answer to {} came late", grouped(number - before_first_)));
  }
  verdict_.fail(
      ExitCode::failed,
      fmt::format("{} answers {} that were not sent to it", echo_, counted(message.size(), "byte")),
      "it is no echo: start netio echo there");
  close();
}

void PingSession::no_answer(const std::string& why) {
  line(fmt::format("no answer to {} {}", grouped(trips_.sent), why));
  end_trip();
}

void PingSession::end_trip() {
  trips_.pending = false;
  answer_overdue_.stop();
  if (last_ || trips_.sent == asked_.count) return close();
  if (!up_ || closing_) return;
  const auto wait = asked_.interval - (Clock::now() - left_);
  if (wait.count() > 0) {
    next_.start_once(wait);
  } else {
    begin_trip();
  }
}

void PingSession::peer_down() {
  next_.stop();
  if (trips_.pending) no_answer("before the connection ended");
}

void PingSession::time_is_up() {
  last_ = true;
  if (!trips_.pending) close();
}

void PingSession::line(const std::string& text) {
  if (!paced()) return progress_.note(text);
  try {
    if (!report_.line(text)) close();  // A reader that left has what it wanted.
  } catch (const Failure& failure) {
    verdict_.fail(failure.code(), failure.what(), failure.advice());
    close();
  }
}

ProgressSample PingSession::sample() {
  const std::uint64_t done = trips_.answered + trips_.lost();
  ProgressSample result{trips_.answered, trips_.answered * message_.size(), std::nullopt};
  if (asked_.count) {
    result.fraction = static_cast<double>(done) / static_cast<double>(*asked_.count);
  }
  if (!up_) result.waits_for = "waiting for the echo to come back";
  return result;
}

void PingSession::judge() {
  if (trips_.lost() != 0) {
    verdict_.fail(ExitCode::failed, fmt::format("no answer to {}", counted(trips_.lost(), "ping")),
                  {});
  }
}

void PingSession::publish(Report& report) {
  trips_.address = address_;
  trips_.code = verdict_.code;
  trips_.error = verdict_.error;
  trips_.message_bytes = message_.size();
  trips_.seconds = seconds_of(connected_.total());
  report.publish(to_text(trips_), [this] { return to_json(trips_); });
}

}  // namespace

ExitCode run_ping(const PingArguments& arguments) { return PingSession(arguments).run(); }

}  // namespace netio::cli
