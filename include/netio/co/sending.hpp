// The sending half of a socket for coroutines. A coroutine whose message was not taken waits in a
// line, which is served in order when the socket is writable. Any number of coroutines may send.
#pragma once

#include <cstddef>

#include <netio/co/waiter.hpp>
#include <netio/sending.hpp>

namespace netio::detail {

class SendLine;

// A message that waits. It is tried again until the answer is neither again nor not_connected.
class SendWaiter : public Waiter {
 public:
  // Those behind it may go on: the call that the line waits for may be meant for this one.
  ~SendWaiter() override {
    if (next == nullptr) return;
    SendWaiter* const before = previous;
    leave();
    before->follower_left();
  }
  virtual Status attempt() noexcept = 0;
  // The last attempt has answered.
  virtual void answered() noexcept { resume(); }
  [[nodiscard]] virtual bool is_to_wait() const noexcept {
    return status == Status::again || status == Status::not_connected;
  }
  // The one behind it in the line was destroyed.
  virtual void follower_left() noexcept {}
  void leave() noexcept {
    if (next == nullptr) return;
    next->previous = previous;
    previous->next = next;
    next = previous = nullptr;
  }

  SendWaiter* next = nullptr;  // in the line; null outside
  SendWaiter* previous = nullptr;
  Status status = Status::again;
};

class SendLine {
 public:
  explicit SendLine(Loop& loop) noexcept : loop_(loop), head_(*this) {
    head_.next = head_.previous = &head_;
  }
  ~SendLine() {
    if (gone_ != nullptr) *gone_ = true;
    answer_all_later(Status::closed);
    head_.next = nullptr;
  }
  SendLine(const SendLine&) = delete;
  SendLine& operator=(const SendLine&) = delete;

  // If the line is not empty, a new message has to wait behind it.
  [[nodiscard]] bool empty() const noexcept { return head_.next == &head_; }
  void enter(SendWaiter& waiter) noexcept {
    waiter.next = &head_;
    waiter.previous = head_.previous;
    head_.previous->next = &waiter;
    head_.previous = &waiter;
  }
  void serve() noexcept {
    const GoneWatch watch(gone_);
    while (!watch.gone() && head_.next != &head_) {
      SendWaiter& first = *head_.next;
      first.status = first.attempt();
      if (first.is_to_wait()) return;
      first.leave();
      first.answered();
    }
  }
  // The same, where one that has to wait does not hold up those behind it.
  void serve_each() noexcept {
    std::size_t left = 0;
    for (SendWaiter* next = head_.next; next != &head_; next = next->next) ++left;
    const GoneWatch watch(gone_);
    for (; left != 0 && !watch.gone() && !empty(); --left) {
      SendWaiter& first = *head_.next;
      first.leave();
      first.status = first.attempt();
      if (first.is_to_wait()) {
        enter(first);
      } else {
        first.answered();
      }
    }
  }
  // Nothing of their messages was taken.
  void answer_all_later(Status status) noexcept {
    while (head_.next != &head_) {
      SendWaiter& first = *head_.next;
      first.leave();
      first.status = status;
      loop_.defer(first);
    }
  }

 private:
  class Head final : public SendWaiter {
   public:
    explicit Head(SendLine& line) noexcept : line_(line) {}
    Status attempt() noexcept override { return Status::invalid; }
    void follower_left() noexcept override {
      if (next != this) line_.loop_.defer(*this);
    }
    void run_deferred() noexcept override { line_.serve(); }

   private:
    SendLine& line_;
  };

  Loop& loop_;
  Head head_;
  bool* gone_ = nullptr;
};

// Of a message to all: keeps what became of it for the coroutine.
template <class Send>
class AttemptToAll {
 public:
  explicit AttemptToAll(Send send) noexcept : send_(send) {}
  Status operator()() noexcept {
    answer_ = send_();
    return answer_.status;
  }
  // `status` is the last one, of an attempt or of the line.
  [[nodiscard]] ToAll answer(Status status) const noexcept {
    return {status, answer_.peers, answer_.away};
  }

 private:
  Send send_;
  ToAll answer_;
};

// What co_await send(...) waits in. `Attempt` makes one call of the socket.
template <class Attempt>
class SendAwaiter final : public SendWaiter {
 public:
  SendAwaiter(SendLine& line, Attempt attempt) noexcept : line_(line), attempt_(attempt) {}
  [[nodiscard]] bool await_ready() noexcept {
    if (!line_.empty()) [[unlikely]]
      return false;
    status = attempt_();
    return !is_to_wait();
  }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    set_waiting(waiting);
    line_.enter(*this);
  }
  auto await_resume() const noexcept {
    if constexpr (requires { attempt_.answer(status); }) {
      return attempt_.answer(status);
    } else {
      return status;
    }
  }

  Status attempt() noexcept override { return attempt_(); }

 private:
  SendLine& line_;
  Attempt attempt_;
};

}  // namespace netio::detail
