// The receiving half of a socket for coroutines: one reader, resumed inside the socket's call-back.
// Invariant: the socket is paused whenever no reader waits, so senders are held back.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <netio/co/waiter.hpp>
#include <netio/receiving.hpp>
#include <netio/socket.hpp>

namespace netio::co {

// What receive() gives. True if it is a message.
struct [[nodiscard]] Received {
  // ok: `message` is set. not_connected: a peer went, and `down` says why; all that it sent has
  // been received before, and other peers may go on. closed: this socket was closed, and nothing
  // more will come.
  Status status = Status::closed;
  // The message, where it lies: valid until this coroutine waits again, for whatever. keep() it to
  // have it longer. Null if there is no message. It is a pointer because copying a view that was
  // just written would cost more than everything else here.
  const MessageView* message = nullptr;
  const Down* down = nullptr;  // valid until this coroutine waits again

  // Whether it is a message, and the message:
  explicit operator bool() const noexcept { return message != nullptr; }
  const MessageView& operator*() const noexcept { return *message; }
  const MessageView* operator->() const noexcept { return message; }
};

}  // namespace netio::co

namespace netio::detail {

class ReadGate;

struct ReadWaiter final : Waiter {
  ReadGate* gate = nullptr;  // while it waits there
  const MessageView* message = nullptr;
  co::Received otherwise;  // without a message

  ReadWaiter() = default;
  inline ~ReadWaiter() override;
  inline void run_deferred() noexcept override;
};

class ReadGate {
 public:
  // Those that wait for room are told when the last peer goes.
  static constexpr bool line_needs_peers = true;

  ReadGate(Loop& loop, Receiving& socket) : loop_(loop), socket_(socket) {
    socket_.on_message([this](const MessageView& message) { deliver(message); });
    socket_.pause();
  }
  ~ReadGate() {
    if (gone_ != nullptr) *gone_ = true;
    close();
    if (reader_ != nullptr) reader_->gate = nullptr;
  }
  ReadGate(const ReadGate&) = delete;
  ReadGate& operator=(const ReadGate&) = delete;

  // Nothing more comes. The loop tells the coroutine that waits.
  void close() noexcept {
    closed_ = true;
    answer_later();
  }
  // Each peer that goes is told once, after the messages that it sent. If several go while no
  // coroutine waits, only the reason of the last one is kept.
  void peer_went(const Down& down) {
    last_down_ = down;
    ++downs_;
    answer_later();
  }

  // Fills in what is known already. Returns false if the coroutine has to wait.
  [[nodiscard]] bool answers_at_once(co::Received& received) {
    if (reader_ != nullptr) [[unlikely]]
      refuse_to_wait("receive a message");
    if (!closed_ && downs_ == 0) [[likely]]
      return false;
    received = what_happened();
    return true;
  }
  void wait(ReadWaiter& reader) noexcept {
    reader_ = &reader;
    reader.gate = this;
    if (!paused_) [[likely]]
      return;
    paused_ = false;
    socket_.resume();
  }
  void leave() noexcept {
    reader_ = nullptr;
    hold();
  }
  [[nodiscard]] co::Received what_happened() noexcept {
    if (closed_) return {};
    --downs_;
    return {Status::not_connected, nullptr, &last_down_};
  }

 private:
  void deliver(const MessageView& message) noexcept {
    ReadWaiter& reader = *std::exchange(reader_, nullptr);
    reader.gate = nullptr;
    reader.message = &message;
    const GoneWatch watch(gone_);
    reader.resume();
    if (!watch.gone() && reader_ == nullptr) [[unlikely]]
      hold();
  }
  void hold() noexcept {
    if (std::exchange(paused_, true)) return;
    socket_.pause();
  }
  void answer_later() noexcept {
    if (reader_ == nullptr) return;
    loop_.defer(*reader_);
    hold();
  }

  Loop& loop_;
  Receiving& socket_;
  ReadWaiter* reader_ = nullptr;
  bool paused_ = true;
  bool closed_ = false;
  bool* gone_ = nullptr;
  std::uint64_t downs_ = 0;  // not told so far
  Down last_down_;
};

inline ReadWaiter::~ReadWaiter() {
  if (gate != nullptr) gate->leave();
}
// If the gate was destroyed between the event and this call, the answer is closed.
inline void ReadWaiter::run_deferred() noexcept {
  if (gate != nullptr) {
    otherwise = gate->what_happened();
    std::exchange(gate, nullptr)->leave();
  }
  resume();
}

// Of a socket that does not receive.
class NoGate {
 public:
  static constexpr bool line_needs_peers = true;

  template <class Socket>
  NoGate(Loop& /*loop*/, Socket& /*socket*/) noexcept {}
  void close() noexcept {}
  void peer_went(const Down& /*down*/) noexcept {}
};
// What a socket for coroutines waits at for what comes to it. Other sockets have others.
template <class Socket>
struct GateOf {
  using Type = std::conditional_t<std::is_base_of_v<Receiving, Socket>, ReadGate, NoGate>;
};

// What co_await receive() waits in.
class ReadAwaiter {
 public:
  explicit ReadAwaiter(ReadGate& gate) noexcept : gate_(gate) {}
  [[nodiscard]] bool await_ready() { return gate_.answers_at_once(waiter_.otherwise); }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    waiter_.set_waiting(waiting);
    gate_.wait(waiter_);
  }
  // Made from one word: a copy would have to wait for words that were just written one by one.
  [[nodiscard]] co::Received await_resume() const noexcept {
    if (waiter_.message != nullptr) [[likely]]
      return {Status::ok, waiter_.message, nullptr};
    return waiter_.otherwise;
  }

 private:
  ReadGate& gate_;
  ReadWaiter waiter_;
};

}  // namespace netio::detail
