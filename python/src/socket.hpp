// A socket of the library with what Python needs beside it: what was received and not taken, events
// that nobody has asked for, and futures that wait. SocketState lives until its context has no more
// use for it; SocketBase is the object of Python, which may be let go of on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>

#include <netio/netio.hpp>

#include "context.hpp"
#include "inbox.hpp"
#include "waiters.hpp"

namespace netio::python {

// What may be waited for.
enum class Kind : std::uint8_t { readable, writable, event, closed, count_ };

class SocketState {
 public:
  explicit SocketState(ContextState& context) : context_(context) { context.add(*this); }
  virtual ~SocketState() { context_.remove(*this); }
  SocketState(const SocketState&) = delete;
  SocketState& operator=(const SocketState&) = delete;

  // The socket; null at its end.
  [[nodiscard]] virtual Socket* socket() noexcept = 0;
  // Whether that is still to come, and whether the socket was closed and that is done.
  [[nodiscard]] virtual bool alive() noexcept { return socket() != nullptr; }
  [[nodiscard]] virtual bool ended() noexcept {
    Socket* const found = socket();
    return found == nullptr || found->closed();
  }
  // Begins to close.
  virtual void close(std::chrono::nanoseconds linger) { socket()->close(linger); }
  // Destroys the socket of the library, and remembers its books.
  virtual void end() = 0;
  // Sending, as far as the pattern has it, to this peer (PeerInfo::id) or, if that is 0, as the
  // pattern chooses:
  virtual Status send(std::uint64_t, std::span<const std::byte>, std::uint64_t) {
    return Status::invalid;
  }
  virtual Status send(std::uint64_t, Message&&) { return Status::invalid; }
  virtual Status send(KeptBatch&&) { return Status::invalid; }
  virtual Status send_segments(std::uint64_t, std::span<const Segment>, std::uint64_t) {
    return Status::invalid;
  }
  virtual ToAll send_to_all(std::span<const std::byte>, std::uint64_t) {
    return {Status::invalid, 0, 0};
  }
  virtual Status lend(std::uint64_t, std::span<const std::byte>, std::uint64_t, std::uint64_t) {
    return Status::invalid;
  }
  virtual Status lend_segments(std::span<const Segment>, std::uint64_t, std::uint64_t) {
    return Status::invalid;
  }
  virtual Message allocate(std::size_t, Status& status, std::uint64_t) {
    status = Status::invalid;
    return {};
  }
  virtual void flush() {}
  virtual void pause(bool paused) { inbox.pause(paused); }
  virtual Status pause_peer(std::uint64_t, bool) { return Status::invalid; }
  // What else is to be told after a turn; and what of Python is to be let go of at the end.
  virtual void tell_more() {}
  virtual void let_go() noexcept {}

  // Something happened: it is told after this turn. Owner thread, without the lock.
  void happened(Kind kind) noexcept;
  // Tells again with the next turn, which comes at once. Owner thread, with the lock.
  void tell_again();
  // Whether it happened since it was last asked.
  [[nodiscard]] bool take(Kind kind) noexcept {
    const bool happened = (happened_ & bit(kind)) != 0;
    happened_ &= ~bit(kind);
    return happened;
  }
  // Wakes those who wait for what has happened. The object of Python if it has call-backs.
  nb::object tell();
  void wake_all() noexcept;
  // With the socket all loans have ended.
  void end_loans();

  // An event, as a function that makes an object of Python of it. The latest events_max are kept.
  using Event = std::function<nb::object()>;
  void record(Event event) noexcept;

  // What every pattern notes of connections: of one that came up, of one that ended or did not come
  // up, and of a peer that does not work with this side.
  void came(const PeerInfo& peer) noexcept {
    if (failed_at_.empty() || failed_at_ == peer.address) last_failure.clear();
  }
  void went(const PeerInfo& peer, const Down& down) noexcept {
    if (!peer.was_up) failed(down.detail, peer.dialed ? peer.address : std::string_view());
  }
  void failed(std::string_view why, std::string_view at = {}) noexcept;

  [[nodiscard]] ContextState& context() noexcept { return context_; }

  Inbox inbox;
  std::array<Waiters, static_cast<std::size_t>(Kind::count_)> waiters;
  std::deque<Event> events;
  bool closing = false;       // close() was called
  bool keeps_events = false;  // somebody asks for them
  // Why the latest connection that did not come up failed; empty if its peer came since.
  std::string last_failure;
  nb::object called_back;  // a weak reference to the object of Python, if that has call-backs
  // Loans that have ended and are not told; and those that have not.
  std::vector<std::uint64_t> released;
  nb::dict loans;
  std::uint64_t last_token = 0;
  // Once the socket has ended:
  Books last_books{};
  Counters last_counters{};

 private:
  static constexpr unsigned bit(Kind kind) noexcept { return 1U << static_cast<unsigned>(kind); }
  static constexpr std::size_t events_max = 1024;

  ContextState& context_;
  void end_loan(nb::handle token);

  std::string failed_at_;  // what this side dialed then; empty if the connection was from outside
  unsigned happened_ = 0;  // and was not taken
  unsigned untold_ = 0;    // and those who wait were not woken
  bool telling_ = false;
};

// The object of Python.
class SocketBase {
 public:
  explicit SocketBase(nb::object context)
      : context_(std::move(context)), state_of_(nb::cast<ContextState*>(context_)) {}
  ~SocketBase();
  SocketBase(const SocketBase&) = delete;
  SocketBase& operator=(const SocketBase&) = delete;

  void set(std::unique_ptr<SocketState> state) { state_ = std::move(state); }
  // The state, on the right thread. Throws Error otherwise, and for an object that was not made.
  SocketState& state(const char* operation);
  // The same with its socket. Throws ClosedError if it has ended.
  Socket& socket(const char* operation);
  // For calls for each message: null if the socket has ended. Throws as state().
  SocketState* open_state(const char* operation);
  // Those who wait for this; null if there are none any more. Any thread, with the lock.
  [[nodiscard]] Waiters* waiters(Kind kind) noexcept {
    return state_ ? &state_->waiters[static_cast<std::size_t>(kind)] : nullptr;
  }
  // The state on any thread; null if there is none.
  [[nodiscard]] SocketState* state_anywhere() noexcept { return state_.get(); }
  [[nodiscard]] nb::handle context() const noexcept { return context_; }
  [[nodiscard]] ContextState& context_state() const noexcept { return *state_of_; }

 private:
  nb::object context_;
  ContextState* state_of_;
  std::unique_ptr<SocketState> state_;
};

void bind_sockets(nb::module_& module);
void bind_sending(nb::class_<SocketBase>& type);
void bind_publishing(nb::class_<SocketBase>& type);
void bind_receiving(nb::module_& module, nb::class_<SocketBase>& type);

}  // namespace netio::python
