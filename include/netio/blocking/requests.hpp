// Request and Reply that wait, on one thread, which turns the loop: one request at a time is asked,
// and some that came are kept until they are received.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <netio/answer.hpp>
#include <netio/blocking/turned.hpp>
#include <netio/reply.hpp>
#include <netio/request.hpp>

namespace netio::blocking {

// A netio::Request whose ask() waits for the answer. One request at a time.
class Request : public TurnedSocket<netio::Request> {
 public:
  // Throws Error for options that make no sense.
  explicit Request(Context& context, const RequestOptions& asking = {},
                   const SocketOptions& options = {})
      : TurnedSocket(context, asking, options) {
    on_reply([this](std::uint64_t id, const MessageView& reply) {
      if (id != id_) return;
      answer_.message = reply.keep();
      end(Outcome::answered);
    });
    on_failed([this](std::uint64_t id, Outcome outcome) {
      if (id == id_) end(outcome);
    });
  }

  // Asks, and waits for the end of the request: see Answer. If no peer has room, this waits for
  // that first, also for the first peer to connect. If Ask::peer names a peer that is not
  // connected, this answers not_connected at once. Inside a call-back of the loop it answers again,
  // and asks nothing.
  [[nodiscard]] Answer ask(std::span<const std::byte> request, const Ask& how) {
    return ask_by(how, [&](const Ask& now) { return send(request, id_, now); });
  }
  // The same with a time limit: negative is for ever.
  [[nodiscard]] Answer ask(std::span<const std::byte> request,
                           std::chrono::nanoseconds within = for_ever) {
    return ask(request, limited(within));
  }
  // The same for a text:
  [[nodiscard]] Answer ask(std::string_view text, const Ask& how) {
    return ask(std::as_bytes(std::span(text)), how);
  }
  [[nodiscard]] Answer ask(std::string_view text, std::chrono::nanoseconds within = for_ever) {
    return ask(std::as_bytes(std::span(text)), within);
  }
  // Two texts in braces would be one text, from the first to the second: see ask_segments().
  template <class... How>
  void ask(std::initializer_list<const char*> texts, How... how) = delete;
  // The same for several segments:
  [[nodiscard]] Answer ask_segments(std::span<const Segment> segments, const Ask& how = {}) {
    return ask_by(how, [&](const Ask& now) { return send_segments(segments, id_, now); });
  }
  [[nodiscard]] Answer ask_segments(std::initializer_list<Segment> segments, const Ask& how = {}) {
    return ask_segments(std::span(segments.begin(), segments.size()), how);
  }
  // The same for a message that was kept or allocated. It is empty afterwards if the request was
  // sent, and untouched otherwise:
  [[nodiscard]] Answer ask(Message&& request, const Ask& how) {
    return ask_by(how, [&](const Ask& now) { return send(std::move(request), id_, now); });
  }
  [[nodiscard]] Answer ask(Message&& request, std::chrono::nanoseconds within = for_ever) {
    return ask(std::move(request), limited(within));
  }

 private:
  using netio::Request::cancel;
  using netio::Request::on_failed;
  using netio::Request::on_reply;
  using netio::Request::on_writable;
  using netio::Request::send;
  using netio::Request::send_segments;
  using netio::Request::send_to_all;

  // Of Ask, 0 is for ever, and here it is the shortest.
  static Ask limited(std::chrono::nanoseconds within) noexcept {
    using std::chrono::nanoseconds;
    return {.within = within.count() < 0 ? nanoseconds(0) : std::max(within, nanoseconds(1))};
  }
  template <class Send>
  Answer ask_by(Ask how, Send&& send_now) {
    id_ = 0;
    ended_ = false;
    answer_ = {Status::again, Outcome::not_executed, {}};
    if (loop().in_turn()) return std::move(answer_);
    const bool limited = how.within.count() > 0;
    const std::chrono::nanoseconds now = loop().now();
    const auto until = now + std::min(how.within, std::chrono::nanoseconds::max() - now);
    Status& status = answer_.status;
    const auto taken = [&] {
      status = send_now(how);
      return status != Status::again && (status != Status::not_connected || how.peer != 0);
    };
    if (!taken()) {
      turn_until_taken(limited ? how.within : for_ever, status, [&] {
        if (limited) how.within = std::max(until - loop().now(), std::chrono::nanoseconds(1));
        return taken();
      });
      // A peer that was named, and has gone since, is no reason to have waited in vain.
      if (status == Status::again || (status == Status::not_connected && how.peer == 0)) {
        status = Status::again;
        answer_.outcome = Outcome::timed_out;
      }
    }
    if (status == Status::ok) {
      turn_until(for_ever, [this] { return ended_ || closed(); });
      if (!ended_) status = Status::closed;
      id_ = 0;
    }
    if (status == Status::closed) answer_.outcome = Outcome::cancelled;
    return std::move(answer_);
  }
  void end(Outcome outcome) noexcept {
    answer_.outcome = outcome;
    ended_ = true;
  }

  std::uint64_t id_ = 0;  // of the request that is waited for
  Answer answer_;
  bool ended_ = false;
};

// What receive() of a Reply gives. True if it is a request.
struct [[nodiscard]] Asked {
  // ok: `message` and `to`. again: the time is over. closed: the socket was closed.
  Status status = Status::again;
  Message message{};  // the request, kept: for as long as you like, on any thread
  ReplyTo to{};       // the right to answer it

  // Whether it is a request.
  explicit operator bool() const noexcept { return status == Status::ok; }
};

// A netio::Reply whose receive() and answer() wait.
class Reply : public TurnedSocket<netio::Reply> {
 public:
  // Throws Error for options that make no sense.
  explicit Reply(Context& context, const ReplyOptions& replying = {},
                 const SocketOptions& options = {})
      : TurnedSocket(context, replying, options) {
    asked_.reserve(asked_max);  // there may be no memory when they come
    on_request([this](const MessageView& request, ReplyTo to) {
      asked_.push_back({Status::ok, request.keep(), std::move(to)});
      if (asked_.size() == asked_max) pause();
    });
  }

  // Waits for the next request, or the end, at most so long. It is not told when a requester goes.
  // A request that nobody waits for any more is left out.
  [[nodiscard]] Asked receive(std::chrono::nanoseconds timeout = for_ever) {
    Asked asked;
    turn_until(timeout, [&] { return take_next(asked) || closed(); });
    if (!asked && closed()) asked.status = Status::closed;
    return asked;
  }

  // Answers, as ReplyTo::send(); again only after the time limit. `to` is empty afterwards if the
  // answer is ok, and untouched otherwise.
  [[nodiscard]] Status answer(ReplyTo&& to, std::span<const std::byte> bytes,
                              std::chrono::nanoseconds timeout = for_ever) {
    return answer_by(to, timeout, [&] { return to.send(bytes); });
  }
  // The same for a text.
  [[nodiscard]] Status answer(ReplyTo&& to, std::string_view text,
                              std::chrono::nanoseconds timeout = for_ever) {
    return answer(std::move(to), std::as_bytes(std::span(text)), timeout);
  }
  // Two texts in braces would be one text, from the first to the second: see answer_segments().
  template <class... Rest>
  void answer(ReplyTo&& to, std::initializer_list<const char*> texts, Rest... rest) = delete;
  // The same for several segments:
  [[nodiscard]] Status answer_segments(ReplyTo&& to, std::span<const Segment> segments,
                                       std::chrono::nanoseconds timeout = for_ever) {
    return answer_by(to, timeout, [&] { return to.send_segments(segments); });
  }
  [[nodiscard]] Status answer_segments(ReplyTo&& to, std::initializer_list<Segment> segments,
                                       std::chrono::nanoseconds timeout = for_ever) {
    return answer_segments(std::move(to), std::span(segments.begin(), segments.size()), timeout);
  }
  // The same for a message that was kept or allocated. It is empty afterwards if the answer is ok,
  // and untouched otherwise.
  [[nodiscard]] Status answer(ReplyTo&& to, Message&& message,
                              std::chrono::nanoseconds timeout = for_ever) {
    return answer_by(to, timeout, [&] { return to.send(std::move(message)); });
  }

 private:
  // Requests that were not received so far. With so many no more are taken from the wire.
  static constexpr std::size_t asked_max = 64;

  using netio::Reply::on_request;
  using netio::Reply::on_writable;
  using netio::Reply::pause;
  using netio::Reply::resume;
  using netio::Reply::sender_id;

  bool take_next(Asked& asked) noexcept {
    while (next_ != asked_.size()) {
      asked = std::move(asked_[next_++]);
      if (asked.to.wanted()) return true;
      asked = {};
    }
    asked_.clear();
    next_ = 0;
    if (paused()) resume();
    return false;
  }
  template <class Send>
  Status answer_by(const ReplyTo& to, std::chrono::nanoseconds timeout, Send&& send_now) {
    Status status = send_now();
    if (status != Status::again) return status;
    turn_until_taken(timeout, status, [&] { return (status = send_now()) != Status::again; });
    return status == Status::again && !to.wanted() ? Status::not_connected : status;
  }

  std::vector<Asked> asked_;
  std::size_t next_ = 0;  // of them
};

}  // namespace netio::blocking
