// Reply: is given requests, and answers them in any order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <netio/message.hpp>
#include <netio/socket.hpp>

namespace netio {

namespace detail {
class ReplyCore;
struct ReplyTicket;
}  // namespace detail

// The right to answer one request, once. It names the requester, whichever connection it has: it
// may be kept while the requester is away. If it is destroyed without an answer, the requester is
// told (Outcome::not_answered), outside of a turn in the next one. Movable. Owner thread only,
// except that it may be destroyed on any thread, also after its socket is gone.
class NETIO_API ReplyTo {
 public:
  ReplyTo() noexcept = default;  // empty
  // Leaves the other empty:
  ReplyTo(ReplyTo&& other) noexcept : ticket_(std::exchange(other.ticket_, nullptr)) {}
  ReplyTo& operator=(ReplyTo&& other) noexcept {
    ReplyTo(std::move(other)).swap(*this);
    return *this;
  }
  ~ReplyTo() {
    if (ticket_ != nullptr) drop();
  }

  // Answers. ok: the answer was taken, and this is empty. In the call-back that the request came
  // with, the first answer is never refused for lack of room: it waits here, and while many wait,
  // no more requests of that peer are delivered. again: twice SocketOptions::send_bytes_max waits
  // for that requester already; on_writable of the socket follows. not_connected: nobody waits for
  // this answer any more; the time that the requester gave may be over. too_big: the requester does
  // not take so much; a shorter answer may be sent. closed: the socket was closed. invalid: this is
  // empty.
  [[nodiscard]] Status send(std::span<const std::byte> answer) noexcept;
  // The same with text.
  [[nodiscard]] Status send(std::string_view text) noexcept {
    return send(std::as_bytes(std::span(text)));
  }
  // Two texts in braces would be one text, from the first to the second: see send_segments().
  void send(std::initializer_list<const char*> texts) = delete;
  // The same with a message that was kept or allocated, without a copy where the wire reads its
  // memory. It is empty afterwards if the answer is ok, and untouched otherwise.
  [[nodiscard]] Status send(Message&& answer) noexcept;
  // The same with segments, as Push::send_segments() does.
  [[nodiscard]] Status send_segments(std::span<const Segment> segments) noexcept;
  // The same with a list in braces.
  [[nodiscard]] Status send_segments(std::initializer_list<Segment> segments) noexcept {
    return send_segments(std::span(segments.begin(), segments.size()));
  }
  // Makes a message of `bytes` for this answer, in the memory that the wire sends from best, as
  // Push::allocate() does. Empty if `status` is not ok. again: there is no memory now, or the
  // requester is away; on_writable of the socket follows.
  [[nodiscard]] Message allocate(std::size_t bytes, Status& status,
                                 std::size_t head_bytes = 0) noexcept;

  // Somebody still waits: the request was not cancelled, its time is not over, and the requester is
  // connected or may come back.
  [[nodiscard]] bool wanted() const noexcept;
  // The time that the requester will still wait, if it has a limit.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> time_left() const noexcept;
  // PeerInfo::id of the requester; 0 if it will not come back.
  [[nodiscard]] std::uint64_t peer() const noexcept;
  // Not empty.
  explicit operator bool() const noexcept { return ticket_ != nullptr; }

  // Exchanges two of them.
  void swap(ReplyTo& other) noexcept { std::swap(ticket_, other.ticket_); }
  // For the library: made of a ticket, and taken apart again without a word to the requester.
  explicit ReplyTo(detail::ReplyTicket* ticket) noexcept : ticket_(ticket) {}
  detail::ReplyTicket* release_ticket() noexcept { return std::exchange(ticket_, nullptr); }

 private:
  void drop() noexcept;

  detail::ReplyTicket* ticket_ = nullptr;
};

// requests == answered + not_answered + unwanted + open, always.
struct ReplyBooks {
  std::uint64_t requests = 0;      // given to on_request
  std::uint64_t answered = 0;      // ReplyTo::send() answered ok
  std::uint64_t not_answered = 0;  // ReplyTo was destroyed, and the requester was told
  std::uint64_t unwanted = 0;      // cancelled, or the requester is gone for good, or timed out
  std::uint64_t open = 0;          // not ended yet; the next turn ends those dropped before it
  std::uint64_t expired = 0;       // received and not given to on_request: their time was over
  std::uint64_t withdrawn = 0;     // the same: they had ended before they were sent
};

// The options of a Reply, beside those of every socket.
struct ReplyOptions {
  // How many requests of each peer may be open, from 1 to 1,048,576. No more are read from a peer
  // that has as many, until some are answered.
  std::size_t open_max = std::size_t{1} << 16U;
};

// Is given the requests of any number of Request peers. Owner thread only; no call blocks.
class NETIO_API Reply : public Socket {
 public:
  // Throws Error for options that make no sense.
  explicit Reply(Context& context, const ReplyOptions& replying = {},
                 const SocketOptions& options = {});
  ~Reply() = default;

  // Sets the call for requests. Until then requests wait. The view is valid until the call returns;
  // the ReplyTo is the user's. Requests of one peer come in order; peers are served in turn.
  void on_request(std::function<void(const MessageView& request, ReplyTo to)> call);
  // Inside on_request: the id of the peer it came from (PeerInfo::id).
  [[nodiscard]] std::uint64_t sender_id() const noexcept;
  // Stops and resumes delivery, of all peers. While paused nothing is read, and requesters are held
  // back:
  void pause() noexcept;
  void resume() noexcept;
  [[nodiscard]] bool paused() const noexcept;

  // What became of each request; books() counts the messages that carried the answers.
  [[nodiscard]] ReplyBooks requests() const noexcept;

  // Hands open pages to the wire now.
  void flush() noexcept;
  // Sets the call that says: try again. It comes once after ReplyTo::send() answered again, however
  // often that was.
  void on_writable(std::function<void()> call);

  // For the library.
  [[nodiscard]] detail::ReplyCore& reply_core() noexcept { return *reply_core_; }

 private:
  detail::ReplyCore* reply_core_;
};

}  // namespace netio
