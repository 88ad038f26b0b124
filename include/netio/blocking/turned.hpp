// The base of sockets that wait on one thread: that thread turns the loop. What they receive lies
// in its page until it is asked for.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <netio/batch.hpp>
#include <netio/blocking/received.hpp>
#include <netio/context.hpp>
#include <netio/receiving.hpp>
#include <netio/sending.hpp>
#include <netio/status.hpp>

namespace netio::blocking {

// A socket whose thread turns the loop while it waits; nothing happens on it, or on others of its
// context, in between: no reconnecting, no acknowledgement. Any one thread, the context's. Time
// limits: negative is for ever, 0 does one turn of what is ready. The call-backs of receiving and
// writing are its own (private here); the others are called from inside receive(), send(), close().
// Inside a call-back of the loop nothing waits: send() and receive() answer again, and close() only
// begins to close. A receive() under way answers closed when that is done.
template <class Base>
class TurnedSocket : public Base {
  static constexpr bool receives = std::is_base_of_v<Receiving, Base>;
  static constexpr bool waits_for_room = requires(Base & socket) { socket.flush(); };
  static constexpr bool asks_or_answers = requires(Base & socket) { socket.requests(); };
  static constexpr bool sends = waits_for_room && !asks_or_answers;
  static constexpr bool sends_to_all = std::is_base_of_v<Sending, Base>;

 public:
  // Waits for the next message, or that a peer goes, or the end, at most so long: see Received.
  // Throws std::bad_alloc if there is no memory to say that a peer went; then the next call tries.
  [[nodiscard]] Received receive(std::chrono::nanoseconds timeout = for_ever) requires receives {
    detail::MessageCursor::Place place;
    if (at_hand_.next(place)) [[likely]]
      return at_hand_.received(place);
    return receive_next_page(timeout);
  }

  // As the socket's own; again and not_connected only after the time limit:
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] Status send(std::span<const std::byte> message, std::chrono::nanoseconds timeout,
                            Tag... tag) requires sends {
    return send_until_taken(
        timeout, [&] { return Base::send(message, static_cast<std::uint64_t>(tag)...); });
  }

  // The same, of a text.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] Status send(std::string_view text, std::chrono::nanoseconds timeout,
                            Tag... tag) requires sends {
    return send(std::as_bytes(std::span(text)), timeout, tag...);
  }
  // Two texts in braces would be one text, from the first to the second: see send_segments().
  template <class... Rest>
  void send(std::initializer_list<const char*> texts, Rest... rest) = delete;

  // The same, of several segments.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] Status send_segments(std::span<const Segment> segments,
                                     std::chrono::nanoseconds timeout, Tag... tag) requires sends {
    return send_until_taken(
        timeout, [&] { return Base::send_segments(segments, static_cast<std::uint64_t>(tag)...); });
  }
  // The same with a list in braces.
  template <std::convertible_to<std::uint64_t>... Tag>
  [[nodiscard]] Status send_segments(std::initializer_list<Segment> segments,
                                     std::chrono::nanoseconds timeout, Tag... tag) requires sends {
    return send_segments(std::span(segments.begin(), segments.size()), timeout, tag...);
  }

  // As the socket's own, to every peer that is up; again and not_connected only after the time
  // limit. `away` of the answer says whether everybody was up:
  template <std::convertible_to<std::uint64_t>... Tag>
  ToAll send_to_all(std::span<const std::byte> message, std::chrono::nanoseconds timeout,
                    Tag... tag) requires sends_to_all {
    ToAll answer;
    answer.status = send_until_taken(timeout, [&] {
      answer = Base::send_to_all(message, static_cast<std::uint64_t>(tag)...);
      return answer.status;
    });
    return answer;
  }
  template <std::convertible_to<std::uint64_t>... Tag>
  ToAll send_to_all(std::string_view text, std::chrono::nanoseconds timeout,
                    Tag... tag) requires sends_to_all {
    return send_to_all(std::as_bytes(std::span(text)), timeout, tag...);
  }
  // Two texts in braces would be one text.
  template <class... Rest>
  void send_to_all(std::initializer_list<const char*> texts, Rest... rest) = delete;

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
    if constexpr (waits_for_room) Base::on_writable([this] { writable_ = true; });
    if constexpr (receives) {
      // They have their places in advance: there may be no memory when they come.
      pages_.reserve(pages_max);
      Base::on_batch([this](const Batch& batch) {
        pages_.push_back({batch.keep(), Base::sender_id()});
        pages_bytes_ += pages_.back().page.page_bytes();
        if (pages_.size() == pages_max || pages_bytes_ >= pages_bytes_max) Base::pause();
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

  // Sends, and again until that is taken, or refused for good.
  template <class Send>
  Status send_until_taken(std::chrono::nanoseconds timeout, Send&& send_now) {
    Status status = send_now();
    if (status != Status::again && status != Status::not_connected) [[likely]]
      return status;
    turn_until_taken(timeout, status, [&] {
      status = send_now();
      return status != Status::again && status != Status::not_connected;
    });
    return status;
  }
  // Waits until `attempt` answers true. It is called again only when the socket says so: a refusal
  // is work for the loop, which then would not sleep.
  template <class Attempt>
  void turn_until_taken(std::chrono::nanoseconds timeout, Status& status, Attempt&& attempt) {
    writable_ = false;
    turn_until(timeout, [&] {
      if (Base::closed()) status = Status::closed;
      if (!std::exchange(writable_, false)) return Base::closed();
      return attempt();
    });
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
  [[nodiscard]] Loop& loop() noexcept { return loop_; }

 private:
  struct Page {
    KeptBatch page;
    std::uint64_t sender;
  };
  // Pages that were not received so far; and their bytes, about those that one call of the system
  // brings. With these, nothing more is taken from the wire before all of them were received.
  static constexpr std::size_t pages_max = 64;
  static constexpr std::size_t pages_bytes_max = std::size_t{256} << 10U;
  // Of those that nobody received, the latest so many are kept.
  static constexpr std::size_t gone_max = 1024;

  [[nodiscard, gnu::noinline]] Received receive_next_page(std::chrono::nanoseconds timeout) {
    Received received;
    turn_until(timeout, [&] {
      return take_next(received) || !gone_.empty() || gone_untold_ || Base::closed();
    });
    if (received) return received;
    if (!gone_.empty()) {
      received = std::move(gone_.front());
      gone_.pop_front();
    } else if (gone_untold_) {
      received.gone = std::make_unique<const Gone>(gone_unnamed());
      received.status = Status::not_connected;
      gone_untold_ = false;
    } else if (Base::closed()) {
      received.status = Status::closed;
    }
    return received;
  }

  // The next message that is here; false if there is none: then the socket goes on.
  bool take_next(Received& received) noexcept {
    detail::MessageCursor::Place place;
    while (!at_hand_.next(place)) {
      at_hand_.release();
      if (opened_ == pages_.size()) {
        pages_.clear();
        pages_bytes_ = opened_ = 0;
        if (Base::paused()) Base::resume();
        return false;
      }
      Page& next = pages_[opened_++];
      at_hand_.open(std::move(next.page), next.sender, true);
    }
    received = at_hand_.received(place);
    return true;
  }

  Loop& loop_;
  detail::PageAtHand at_hand_;
  std::vector<Page> pages_;  // that come after it
  std::size_t opened_ = 0;   // of them
  std::size_t pages_bytes_ = 0;
  std::deque<Received> gone_;  // not told so far, at most gone_max
  bool gone_untold_ = false;   // and some that there was no memory for
  bool writable_ = false;      // since the last refusal
};

}  // namespace netio::blocking
