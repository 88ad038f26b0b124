// Sockets whose send, receive and close are awaited. Each is derived from the socket of the same
// name, and the rest of it is used as usual. The call-backs that the coroutines need are private
// here.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <netio/co/receiving.hpp>
#include <netio/co/sending.hpp>
#include <netio/pair.hpp>
#include <netio/publish.hpp>
#include <netio/pull.hpp>
#include <netio/push.hpp>
#include <netio/subscribe.hpp>

// Sockets and events that coroutines await.
namespace netio::co {

// Destroying the socket answers `closed` to all coroutines that wait for it, from the loop. They
// must not touch the socket then. close() answers `closed` as well, except to the coroutine that
// awaits close() itself.
template <class Base>
class AwaitedSocket : public Base {
  static constexpr bool receives = std::is_base_of_v<Receiving, Base>;
  static constexpr bool asks_or_answers = requires(Base & socket) { socket.requests(); };
  static constexpr bool sends = requires(Base & socket) { socket.flush(); }
  &&!asks_or_answers;
  static constexpr bool sends_to_all = std::is_base_of_v<Sending, Base>;

 public:
  AwaitedSocket(const AwaitedSocket&) = delete;
  AwaitedSocket& operator=(const AwaitedSocket&) = delete;

  // Waits for the next message, for a peer that goes, or for the end: see Received. One coroutine
  // may wait at a time; a second one gets an Error, thrown from its co_await.
  [[nodiscard]] auto receive() requires receives { return detail::ReadAwaiter(gate_); }

  // As send() of the socket. Where that answers again or not_connected, this waits, also for the
  // first peer. It answers not_connected only if the last peer goes while this waits, or if a
  // connection can never be made; nothing was taken then, and sending again waits for the next
  // peer. The bytes must stay as they are until the answer. Any number of coroutines may wait; they
  // are served in order.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] auto send(std::span<const std::byte> message, Tag... tag) requires sends {
    return attempt([this, message, tag...] {
      return Base::send(message, static_cast<std::uint64_t>(tag)...);
    });
  }
  // The same for a text.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] auto send(std::string_view text, Tag... tag) requires sends {
    return send(std::as_bytes(std::span(text)), tag...);
  }
  // Two texts in braces would be one text, from the first to the second: see send_segments().
  template <std::convertible_to<std::uint64_t>... Tag>
  void send(std::initializer_list<const char*> texts, Tag... tag) = delete;
  // The same for a message that was kept or allocated. It must live until the answer. It is empty
  // afterwards if the answer is ok, and untouched otherwise.
  [[nodiscard]] auto send(Message&& message) requires sends {
    return attempt([this, &message] { return Base::send(std::move(message)); });
  }
  // The same for a message of several segments, which must stay as they are until the answer.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] auto send_segments(std::span<const Segment> segments, Tag... tag) requires sends {
    return attempt([this, segments, tag...] {
      return Base::send_segments(segments, static_cast<std::uint64_t>(tag)...);
    });
  }
  // The same to every peer that is up, of which one may have no room. Gives a ToAll: its `away`
  // says whether everybody was up.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] auto send_to_all(std::span<const std::byte> message,
                                 Tag... tag) requires sends_to_all {
    return attempt(detail::AttemptToAll([this, message, tag...] {
      return Base::send_to_all(message, static_cast<std::uint64_t>(tag)...);
    }));
  }
  // The same for a text.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] auto send_to_all(std::string_view text, Tag... tag) requires sends_to_all {
    return send_to_all(std::as_bytes(std::span(text)), tag...);
  }
  // Two texts in braces would be one text.
  template <std::convertible_to<std::uint64_t>... Tag>
  void send_to_all(std::initializer_list<const char*> texts, Tag... tag) = delete;
  // Waits until the library has taken the loan, as send() does. on_released tells when the loan
  // ends.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] auto lend(std::span<const std::byte> message, std::uint64_t token,
                          Tag... tag) requires sends {
    return attempt([this, message, token, tag...] {
      return Base::lend(message, token, static_cast<std::uint64_t>(tag)...);
    });
  }

  // The same with the last of several segments.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] auto lend_segments(std::span<const Segment> segments, std::uint64_t token,
                                   Tag... tag) requires sends {
    return attempt([this, segments, token, tag...] {
      return Base::lend_segments(segments, token, static_cast<std::uint64_t>(tag)...);
    });
  }

  // Begins to close at once, whether it is awaited or not. Awaiting the result, now or later, waits
  // for the end of the closing, and gives the books. One coroutine at a time may wait. The result
  // must not outlive the socket, unless a coroutine waits for it.
  auto close(std::chrono::nanoseconds linger = std::chrono::seconds(5)) {
    Base::close(linger);
    gate_.close();
    line_.answer_all_later(Status::closed);
    return Base::closed() ? decltype(closing_)::at_once(Base::books()) : closing_.wait();
  }

  // As those of the socket. They are called before the coroutines that wait are resumed:
  void on_down(std::function<void(const PeerInfo&, const Down&)> call) {
    Base::on_down([this, call = std::move(call)](const PeerInfo& peer, const Down& down) {
      const detail::GoneWatch watch(gone_);
      if (call) call(peer, down);
      if (!watch.gone()) went(peer, down);
    });
  }
  void on_closed(std::function<void(const Books&)> call) {
    Base::on_closed([this, call = std::move(call)](const Books& books) {
      const detail::GoneWatch watch(gone_);
      if (call) call(books);
      if (!watch.gone()) has_closed(books);
    });
  }

 protected:
  template <class... Options>
  explicit AwaitedSocket(Context& context, const Options&... options)
      : Base(context, options...), loop_(context.loop()), gate_(loop_, *this), line_(loop_) {
    if constexpr (sends) Base::on_writable([this] { line_.serve(); });
    on_down({});
    on_closed({});
  }
  ~AwaitedSocket() {
    if (gone_ != nullptr) *gone_ = true;
    closing_.resume_later(loop_, Base::books());
  }

  template <class Attempt>
  auto attempt(Attempt attempt) noexcept {
    return detail::SendAwaiter<Attempt>(line_, attempt);
  }
  [[nodiscard]] auto& gate() noexcept { return gate_; }
  [[nodiscard]] detail::SendLine& line() noexcept { return line_; }

 private:
  // An attempt that failed and will be repeated changes nothing for the coroutines that wait.
  void went(const PeerInfo& peer, const Down& down) {
    if (!peer.was_up && (!peer.dialed || peer.retrying)) return;
    gate_.peer_went(down);
    if (gate_.line_needs_peers && Base::peers_connected() == 0) {
      line_.answer_all_later(Status::not_connected);
    }
  }
  void has_closed(const Books& books) {
    gate_.close();  // close() of the base class may have been called
    line_.answer_all_later(Status::closed);
    closing_.end(loop_, books);
  }

  Loop& loop_;
  typename detail::GateOf<Base>::Type gate_;
  detail::SendLine line_;
  detail::WaitingPlace<Books> closing_;
  bool* gone_ = nullptr;
};

// A netio::Push whose send() is awaited.
class Push : public AwaitedSocket<netio::Push> {
 public:
  // Throws Error for options that make no sense.
  explicit Push(Context& context, const SocketOptions& options = {})
      : AwaitedSocket(context, options) {}

 private:
  using Sending::on_writable;
};

// A netio::Pull whose receive() is awaited.
class Pull : public AwaitedSocket<netio::Pull> {
 public:
  // Throws Error for options that make no sense.
  explicit Pull(Context& context, const SocketOptions& options = {})
      : AwaitedSocket(context, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
};

// A netio::Pair whose send() and receive() are awaited.
class Pair : public AwaitedSocket<netio::Pair> {
 public:
  // Throws Error for options that make no sense.
  explicit Pair(Context& context, const SocketOptions& options = {})
      : AwaitedSocket(context, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
  using Sending::on_writable;
};

// A netio::Publish whose send() is awaited. Each message needs a tag: send(message, tag).
class Publish : public AwaitedSocket<netio::Publish> {
 public:
  // Throws Error for options that make no sense.
  explicit Publish(Context& context, const PublishOptions& publishing = {},
                   const SocketOptions& options = {})
      : AwaitedSocket(context, publishing, options) {}

  using AwaitedSocket::send;
  // The same through a tag that was looked up once.
  [[nodiscard]] auto send(std::span<const std::byte> message, const PublishTag& tag) {
    return attempt([message, tag] { return tag.send(message); });
  }

 private:
  using netio::Publish::on_writable;
};

// A netio::Subscribe whose receive() is awaited.
class Subscribe : public AwaitedSocket<netio::Subscribe> {
 public:
  // Throws Error for options that make no sense.
  explicit Subscribe(Context& context, const SubscribeOptions& subscription = {},
                     const SocketOptions& options = {})
      : AwaitedSocket(context, subscription, options) {}

 private:
  using Receiving::on_batch;
  using Receiving::on_message;
  using Receiving::pause;
  using Receiving::resume;
};

}  // namespace netio::co
