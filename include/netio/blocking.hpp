// Sockets that wait: receive and send block for at most a time limit. Two forms: the calling thread
// turns the loop itself (Push, Pull, ...), or a loop in a thread of its own and a queue between
// (QueuedPush, QueuedPull). Both cost more than the event-driven form: docs/blocking.md says what.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netio/context.hpp>
#include <netio/export.hpp>
#include <netio/pair.hpp>
#include <netio/publish.hpp>
#include <netio/pull.hpp>
#include <netio/push.hpp>
#include <netio/status.hpp>
#include <netio/subscribe.hpp>

// Sockets whose calls block for at most a time limit.
namespace netio::blocking {

// A peer that went, or a connection that can never be made, and why: what on_down is told.
struct Gone {
  PeerInfo peer;  // as in on_down
  Down down;      // the reason, and a sentence
};

// For the library: what is told of a peer that there was no memory to remember.
[[nodiscard]] inline Gone gone_unnamed() {
  return {{}, {DownReason::resources, "a peer went, and there was no memory to remember which"}};
}

// What came. True if it is a message, which is the caller's.
struct [[nodiscard]] Received {
  // ok: `message`. again: the time is over. not_connected: a peer went (what it sent has been
  // received before), or a connection can never be made; of peers that went while nobody received,
  // the latest 1,024 are told, and those that there was no memory for as one. closed: the socket
  // was closed.
  Status status = Status::again;
  Message message{};                   // empty unless ok
  std::uint64_t sender = 0;            // ok: the id of the peer that sent it (PeerInfo::id)
  std::unique_ptr<const Gone> gone{};  // not_connected: which peer went, and why; else null

  // Whether it is a message.
  explicit operator bool() const noexcept { return status == Status::ok; }
};

// The time limit of those who have none.
inline constexpr std::chrono::nanoseconds for_ever{-1};

// A socket whose thread turns the loop while it waits; nothing happens on it, or on others of its
// context, in between: no reconnecting, no acknowledgement. Any one thread, the context's. Time
// limits: negative is for ever, 0 does one turn of what is ready. The call-backs of receiving and
// writing are its own (private here); the others are called from inside receive(), send(), close().
// Inside a call-back of the loop nothing waits: send() and receive() answer again, and close() only
// begins to close. A receive() under way answers closed when that is done.
template <class Base>
class TurnedSocket : public Base {
  static constexpr bool receives = std::is_base_of_v<Receiving, Base>;
  static constexpr bool sends = requires(Base & socket) { socket.flush(); };

 public:
  // Waits for the next message, or that a peer goes, or the end, at most so long: see Received.
  // Throws std::bad_alloc if there is no memory to say that a peer went; then the next call tries.
  [[nodiscard]] Received receive(std::chrono::nanoseconds timeout = for_ever) requires receives {
    if (all_taken() && Base::paused()) Base::resume();
    turn_until(timeout,
               [this] { return !all_taken() || !gone_.empty() || gone_untold_ || Base::closed(); });
    if (!all_taken()) return take_next();
    if (!gone_.empty()) {
      Received first = std::move(gone_.front());
      gone_.pop_front();
      return first;
    }
    Received nothing;
    if (gone_untold_) {
      nothing.gone = std::make_unique<const Gone>(gone_unnamed());
      nothing.status = Status::not_connected;
      gone_untold_ = false;
      return nothing;
    }
    if (Base::closed()) nothing.status = Status::closed;
    return nothing;
  }

  // As the socket's own; again and not_connected only after the time limit:
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] Status send(std::span<const std::byte> message, std::chrono::nanoseconds timeout,
                            Tag... tag) requires sends {
    Status status = Base::send(message, static_cast<std::uint64_t>(tag)...);
    if (status != Status::again && status != Status::not_connected) [[likely]]
      return status;
    // Asked again only when told to: a refusal is work for the loop, which then would not sleep.
    writable_ = false;
    turn_until(timeout, [&] {
      if (Base::closed()) status = Status::closed;
      if (!std::exchange(writable_, false)) return Base::closed();
      status = Base::send(message, static_cast<std::uint64_t>(tag)...);
      return status != Status::again && status != Status::not_connected;
    });
    return status;
  }

  // The same, of a text.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] Status send(std::string_view text, std::chrono::nanoseconds timeout,
                            Tag... tag) requires sends {
    return send(std::as_bytes(std::span(text)), timeout, tag...);
  }

  // Returns when every peer has acknowledged, or `linger` has passed (negative: for ever), with the
  // final books. Inside a call-back it returns at once, with the books so far.
  Books close(std::chrono::nanoseconds linger = std::chrono::seconds(5)) {
    Base::close(linger.count() < 0 ? std::chrono::nanoseconds::max() : linger);
    turn_until(for_ever, [this] { return Base::closed(); });
    return Base::books();
  }

 protected:
  template <class... Options>
  explicit TurnedSocket(Context& context, const Options&... options)
      : Base(context, options...), loop_(context.loop()) {
    if constexpr (sends) Base::on_writable([this] { writable_ = true; });
    if constexpr (receives) {
      // They have their places in advance: there may be no memory when they come.
      arrived_.reserve(arrived_max);
      Base::on_message([this](const MessageView& message) {
        arrived_.push_back({Status::ok, message.keep(), Base::sender_id()});
        arrived_bytes_ += message.size();
        if (arrived_.size() == arrived_max || arrived_bytes_ >= arrived_bytes_max) Base::pause();
      });
      Base::on_down([this](const PeerInfo& peer, const Down& down) {
        if (!peer.was_up && (!peer.dialed || peer.retrying)) return;
        try {
          gone_.push_back({.status = Status::not_connected,
                           .gone = std::make_unique<const Gone>(Gone{peer, down})});
          if (gone_.size() > gone_max) gone_.pop_front();
        } catch (const std::bad_alloc&) {
          gone_untold_ = true;
        }
      });
    }
  }
  ~TurnedSocket() = default;

 private:
  // Messages that were not received so far; and their bytes, about a page. With these, nothing more
  // is taken from the wire before all of them were received.
  static constexpr std::size_t arrived_max = 256;
  static constexpr std::size_t arrived_bytes_max = std::size_t{64} << 10U;
  // Of those that nobody received, the latest so many are kept.
  static constexpr std::size_t gone_max = 1024;

  [[nodiscard]] bool all_taken() const noexcept { return taken_ == arrived_.size(); }
  Received take_next() noexcept {
    Received next = std::move(arrived_[taken_++]);
    if (all_taken()) {
      arrived_.clear();
      arrived_bytes_ = taken_ = 0;
    }
    return next;
  }

  template <class Condition>
  void turn_until(std::chrono::nanoseconds timeout, Condition&& condition) {
    if (condition() || loop_.in_turn()) return;
    const std::chrono::nanoseconds now = loop_.now();
    const auto end = now + std::min(timeout, std::chrono::nanoseconds::max() - now);
    std::chrono::nanoseconds left = timeout;
    do {  // at least one turn, or who has but little time each time gets nowhere
      loop_.run_once(left);
      if (condition()) return;
      if (timeout.count() >= 0) left = end - loop_.now();
    } while (timeout.count() < 0 || left.count() > 0);
  }

  Loop& loop_;
  std::vector<Received> arrived_;
  std::size_t taken_ = 0;  // of them
  std::size_t arrived_bytes_ = 0;
  std::deque<Received> gone_;  // not told so far, at most gone_max
  bool gone_untold_ = false;   // and some that there was no memory for
  bool writable_ = false;      // since the last refusal
};

// A netio::Push whose send() waits.
class Push : public TurnedSocket<netio::Push> {
 public:
  // Throws Error for options that make no sense.
  explicit Push(Context& context, const SocketOptions& options = {})
      : TurnedSocket(context, options) {}

 private:
  using Sending::on_writable;
};

// A netio::Pull whose receive() waits.
class Pull : public TurnedSocket<netio::Pull> {
 public:
  // Throws Error for options that make no sense.
  explicit Pull(Context& context, const SocketOptions& options = {})
      : TurnedSocket(context, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
  using Socket::on_down;
};

// A netio::Pair whose send() and receive() wait.
class Pair : public TurnedSocket<netio::Pair> {
 public:
  // Throws Error for options that make no sense.
  explicit Pair(Context& context, const SocketOptions& options = {})
      : TurnedSocket(context, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
  using Sending::on_writable;
  using Socket::on_down;
};

// A netio::Publish whose send() waits. Each message needs a tag: send(message, timeout, tag).
class Publish : public TurnedSocket<netio::Publish> {
 public:
  // Throws Error for options that make no sense.
  explicit Publish(Context& context, const PublishOptions& publishing = {},
                   const SocketOptions& options = {})
      : TurnedSocket(context, publishing, options) {}

 private:
  using netio::Publish::on_writable;
};

// A netio::Subscribe whose receive() waits.
class Subscribe : public TurnedSocket<netio::Subscribe> {
 public:
  // Throws Error for options that make no sense.
  explicit Subscribe(Context& context, const SubscribeOptions& subscription = {},
                     const SocketOptions& options = {})
      : TurnedSocket(context, subscription, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
  using Socket::on_down;
};

// What can be chosen for a queued socket.
struct QueueOptions {
  ContextOptions context;  // of the context in its thread
  SocketOptions socket;    // of the socket there
  // Messages that may lie in the queue; when it is full, the peer is held back (Pull), or send()
  // waits (Push). 1 to 16,777,216.
  std::size_t messages_max = 4096;
};

// Whether this build has them: it was built with the queue (libreaderwriterqueue-dev).
[[nodiscard]] NETIO_API bool queued_sockets_built() noexcept;

// A Pull whose loop runs in a thread of its own; each message is kept and handed over through a
// lock-free queue. One thread, any, may use it. Throws Error if the context cannot be made, for a
// messages_max that cannot be, or where it was not built. The loop's thread takes no signals. Time
// limits are of the wall clock: setting it moves those under way. Peers that go while the queue is
// full are told of (not_connected) as one.
class NETIO_API QueuedPull {
 public:
  // Starts the thread.
  explicit QueuedPull(const QueueOptions& options = {});
  ~QueuedPull();  // what lies in the queue is lost
  QueuedPull(const QueuedPull&) = delete;
  QueuedPull& operator=(const QueuedPull&) = delete;

  // As Socket has them; they wait for the loop's thread:
  std::string bind(std::string_view address);
  void connect(std::string_view address);

  // Waits for the next message, or that a peer goes, at most so long: see Received. Throws
  // std::bad_alloc if there was no memory to remember which peer went, nor is now to say so.
  [[nodiscard]] Received receive(std::chrono::nanoseconds timeout = for_ever);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The other way: what is sent is copied into the queue, and the loop's thread sends it on.
class NETIO_API QueuedPush {
 public:
  // Starts the thread.
  explicit QueuedPush(const QueueOptions& options = {});
  ~QueuedPush();  // without close(): what lies in the queue is lost
  QueuedPush(const QueuedPush&) = delete;
  QueuedPush& operator=(const QueuedPush&) = delete;

  // As Socket has them; they wait for the loop's thread:
  std::string bind(std::string_view address);
  void connect(std::string_view address);

  // ok: the queue has it. again: it was full until the time was over. Never not_connected: the
  // queue waits for the peer:
  [[nodiscard]] Status send(std::span<const std::byte> message, std::chrono::nanoseconds timeout,
                            std::uint64_t tag = 0);
  [[nodiscard]] Status send(std::string_view text, std::chrono::nanoseconds timeout,
                            std::uint64_t tag = 0) {
    return send(std::as_bytes(std::span(text)), timeout, tag);
  }

  // Sends what lies in the queue, and returns when all is acknowledged or `linger` has passed
  // (negative: for ever); what is not in `sent` then was never taken from the queue. What the peers
  // that were there, or memory, could not take at all is in it as dropped (not_sent).
  Books close(std::chrono::nanoseconds linger = std::chrono::seconds(5));

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace netio::blocking
