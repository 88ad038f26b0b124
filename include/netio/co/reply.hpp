// Reply for coroutines: one reader, resumed inside the socket's call-back with the request in
// place. Invariant: the socket is paused whenever no reader waits, so requesters are held back.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include <netio/co/gate.hpp>
#include <netio/co/socket.hpp>
#include <netio/reply.hpp>

namespace netio::co {

// What receive() of a Reply gives. True if it is a request.
struct [[nodiscard]] Asked {
  // ok: `message` and `to` are set. closed: this socket was closed, and nothing more will come.
  Status status = Status::closed;
  // The request, where it lies: valid until this coroutine waits again, for whatever. keep() it to
  // have it longer. Null if there is none.
  const MessageView* message = nullptr;
  ReplyTo to{};  // the right to answer it, for as long as you like

  // Whether it is a request, and the request:
  explicit operator bool() const noexcept { return message != nullptr; }
  const MessageView& operator*() const noexcept { return *message; }
  const MessageView* operator->() const noexcept { return message; }
};

}  // namespace netio::co

namespace netio::detail {

class AskedGate : public Gate<Reply, co::Asked> {
 public:
  // An answer may be taken while the requester is away.
  static constexpr bool line_needs_peers = false;

  AskedGate(Loop& loop, Reply& socket) : Gate(loop, socket, "receive a request") {
    socket.on_request([this](const MessageView& request, ReplyTo to) {
      deliver({Status::ok, &request, std::move(to)});
    });
  }
  // Requesters come and go; on_down tells.
  void peer_went(const Down& /*down*/) noexcept {}
};

template <>
struct GateOf<Reply> {
  using Type = AskedGate;
};

// What co_await answer(...) waits in. It waits for room only: nobody comes back for an answer that
// is not wanted.
template <class Attempt>
class AnswerAwaiter final : public SendWaiter {
 public:
  AnswerAwaiter(SendLine& line, Attempt attempt) noexcept : line_(line), attempt_(attempt) {}
  [[nodiscard]] bool await_ready() noexcept {
    status = attempt_();
    return !is_to_wait();
  }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    set_waiting(waiting);
    line_.enter(*this);
  }
  [[nodiscard]] Status await_resume() const noexcept { return status; }
  [[nodiscard]] bool is_to_wait() const noexcept override { return status == Status::again; }
  Status attempt() noexcept override { return attempt_(); }

 private:
  SendLine& line_;
  Attempt attempt_;
};

}  // namespace netio::detail

namespace netio::co {

// A netio::Reply whose requests and answers are awaited.
class Reply : public AwaitedSocket<netio::Reply> {
 public:
  // Throws Error for options that make no sense.
  explicit Reply(Context& context, const ReplyOptions& replying = {},
                 const SocketOptions& options = {})
      : AwaitedSocket(context, replying, options) {
    netio::Reply::on_writable([this] { line().serve_each(); });
  }

  // Waits for the next request, or for the end: see Asked. It is not told when a requester goes.
  // One coroutine may wait at a time; a second one gets an Error, thrown from its co_await.
  [[nodiscard]] auto receive() { return detail::AskedGate::Awaiter(gate()); }

  // Answers, as ReplyTo::send(). Where that answers again, this waits. `to` and the bytes must stay
  // as they are until the answer. `to` is empty afterwards if the answer is ok, and untouched
  // otherwise. Any number of coroutines may wait, and none of them for the requester of another.
  [[nodiscard]] auto answer(ReplyTo&& to, std::span<const std::byte> bytes) {
    return detail::AnswerAwaiter(line(), [&to, bytes] { return to.send(bytes); });
  }
  // The same for a text.
  [[nodiscard]] auto answer(ReplyTo&& to, std::string_view text) {
    return answer(std::move(to), std::as_bytes(std::span(text)));
  }
  // Two texts in braces would be one text, from the first to the second: see answer_segments().
  void answer(ReplyTo&& to, std::initializer_list<const char*> texts) = delete;
  // The same for several segments, which must stay as they are until the answer.
  [[nodiscard]] auto answer_segments(ReplyTo&& to, std::span<const Segment> segments) {
    return detail::AnswerAwaiter(line(), [&to, segments] { return to.send_segments(segments); });
  }
  // The same for a message that was kept or allocated. It must live until the answer. It is empty
  // afterwards if the answer is ok, and untouched otherwise.
  [[nodiscard]] auto answer(ReplyTo&& to, Message&& message) {
    return detail::AnswerAwaiter(line(), [&to, &message] { return to.send(std::move(message)); });
  }

 private:
  using netio::Reply::on_request;
  using netio::Reply::on_writable;
  using netio::Reply::pause;
  using netio::Reply::resume;
};

}  // namespace netio::co
