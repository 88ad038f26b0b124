// Request: asks Reply peers, and hears of each request how it ended.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <netio/message.hpp>
#include <netio/socket.hpp>
#include <netio/to_all.hpp>

namespace netio {

namespace detail {
class RequestCore;
}

// How a request ended. Each request ends in exactly one of these ways.
enum class Outcome : std::uint8_t {
  answered,      // the answer is here
  timed_out,     // its time was over
  not_answered,  // the replier has received it and given it up (ReplyTo was destroyed)
  cancelled,     // by cancel(), or by close() of this socket
  not_executed,  // no replier has received it: the connection ended before
  in_doubt,  // the connection ended, and nobody knows whether it was received, or what came of it
  count_     // the number of outcomes
};
// Its name in words, such as "timed out".
[[nodiscard]] NETIO_API std::string_view to_string(Outcome outcome) noexcept;

// asked == the sum of ended + under_way, always.
struct RequestBooks {
  std::uint64_t asked = 0;  // send() answered ok
  std::array<std::uint64_t, static_cast<std::size_t>(Outcome::count_)> ended{};  // by Outcome
  // Those that have not ended yet.
  std::uint64_t under_way = 0;
  // Answers that came for no request that is under way: too late, twice, or from a peer that was
  // not asked. They are dropped.
  std::uint64_t late = 0;
  std::uint64_t repeated = 0;  // times that an idempotent request was sent again

  // How many ended in this way.
  [[nodiscard]] std::uint64_t of(Outcome outcome) const noexcept {
    return ended[static_cast<std::size_t>(outcome)];
  }
};

// How one request is made.
struct Ask {
  // Its time limit; 0: none. Without one, a request whose replier is away ends once that was away
  // for SocketOptions::resume_within. The time that is left travels with the request, and a request
  // whose time is over is not delivered. The replier counts it from when it has read the request: a
  // replier that was stopped, or a network that was, may deliver a request that has timed out here.
  std::chrono::nanoseconds within{0};
  // Whom to ask, by PeerInfo::id; 0: the next peer that is ready, in turn. again: it has no room,
  // though others may have some. not_connected: it is not connected; on_writable follows when the
  // next peer is connected, whichever it is.
  std::uint64_t peer = 0;
  // It does no harm to execute it twice. Then it is sent again, to any peer, as soon as its
  // connection ends, and where it would end as not_executed or in_doubt: it is sent up to 8 times
  // in all. It ends as in_doubt if it may have been received at any of these times. A copy of it is
  // kept for that. Without a time limit it ends when nobody has taken it for
  // SocketOptions::resume_within.
  bool idempotent = false;
};

// One of the requests that Request::send_to_all() made.
struct PeerRequest {
  std::uint64_t peer = 0;  // PeerInfo::id
  std::uint64_t id = 0;    // as Request::send() sets it
};

// The options of a Request, beside those of every socket.
struct RequestOptions {
  // How many requests may be under way to each peer, from 1 to 1,048,576. A peer that has as many
  // is passed over; if all have, send() answers again.
  std::size_t pending_max = std::size_t{1} << 16U;
};

// Asks Reply peers. Any number of requests may be under way; answers come in any order. Answers are
// always read: they cannot be held back. Owner thread only; no call blocks.
class NETIO_API Request : public Socket {
 public:
  // Throws Error for options that make no sense.
  explicit Request(Context& context, const RequestOptions& asking = {},
                   const SocketOptions& options = {});
  ~Request() = default;

  // Asks a peer. `id` is set on ok: the number of the request, never 0, and never used twice by
  // this socket. The bytes are the caller's again on return, as with Push::send(). Any answer but
  // ok: nothing was asked; again and not_connected are followed by on_writable.
  [[nodiscard]] Status send(std::span<const std::byte> request, std::uint64_t& id,
                            const Ask& ask = {}) noexcept;
  // The same with text.
  [[nodiscard]] Status send(std::string_view text, std::uint64_t& id,
                            const Ask& ask = {}) noexcept {
    return send(std::as_bytes(std::span(text)), id, ask);
  }
  // Two texts in braces would be one text, from the first to the second: see send_segments().
  void send(std::initializer_list<const char*> texts, std::uint64_t& id,
            const Ask& ask = {}) = delete;
  // The same with a message that was kept or allocated, without a copy. It is empty afterwards if
  // the answer is ok, and untouched otherwise. Its tag is not sent.
  [[nodiscard]] Status send(Message&& request, std::uint64_t& id, const Ask& ask = {}) noexcept;
  // The same with segments, as Push::send_segments() does.
  [[nodiscard]] Status send_segments(std::span<const Segment> segments, std::uint64_t& id,
                                     const Ask& ask = {}) noexcept;
  // The same with a list in braces.
  [[nodiscard]] Status send_segments(std::initializer_list<Segment> segments, std::uint64_t& id,
                                     const Ask& ask = {}) noexcept {
    return send_segments(std::span(segments.begin(), segments.size()), id, ask);
  }

  // Asks every peer that is up, each by a request of its own, in order with the others: "configure
  // run 42". All are asked, or nobody is. On ok `asked` has the requests, by the ids of their
  // peers, and each ends like any other; otherwise it is empty. The call takes memory for `asked`
  // and, of an idempotent request, for a copy for each peer. An idempotent request is sent again to
  // its own peer only. Ask::peer must be 0: invalid. Look at `away` and `peers` too: see ToAll.
  //
  // again: one of the peers has no room now; on_writable follows when it has, or when its
  // connection ends. Or there is no memory for `asked`: on_writable follows in the next turn.
  //
  // not_connected: no peer is up. on_writable follows when one is.
  //
  // too_big: for this side, or for one of the peers, or for all together. Each needs memory of its
  // own, a page or, of what is larger than a page, its bytes: so many pages as there are peers in
  // ContextOptions::send_pool_bytes, or so many times the bytes in three quarters of
  // large_bytes_max.
  ToAll send_to_all(std::span<const std::byte> request, std::vector<PeerRequest>& asked,
                    const Ask& ask = {}) noexcept;
  // The same with text.
  ToAll send_to_all(std::string_view text, std::vector<PeerRequest>& asked,
                    const Ask& ask = {}) noexcept {
    return send_to_all(std::as_bytes(std::span(text)), asked, ask);
  }
  // Two texts in braces would be one text.
  void send_to_all(std::initializer_list<const char*> texts, std::vector<PeerRequest>& asked,
                   const Ask& ask = {}) = delete;

  // Makes a message of `bytes` for a request, as Push::allocate() does.
  [[nodiscard]] Message allocate(std::size_t bytes, Status& status,
                                 std::size_t head_bytes = 0) noexcept;

  // Sets the call for answers. The view is valid until the call returns.
  void on_reply(std::function<void(std::uint64_t id, const MessageView& answer)> call);
  // Sets the call for requests that end in another way, except those that this side cancels.
  void on_failed(std::function<void(std::uint64_t id, Outcome outcome)> call);
  // Ends a request, which counts as cancelled: no call-back comes for it. The replier is told, and
  // may go on nevertheless. invalid: no such request is under way.
  Status cancel(std::uint64_t id) noexcept;

  // What became of each request; books() counts the messages that carried them.
  [[nodiscard]] RequestBooks requests() const noexcept;

  // Hands open pages to the wire now.
  void flush() noexcept;
  // Sets the call that says: try again. It comes once after send() answered again or not_connected,
  // however often that was.
  void on_writable(std::function<void()> call);

  // For the library.
  [[nodiscard]] detail::RequestCore& request_core() noexcept { return *request_core_; }

 private:
  detail::RequestCore* request_core_;
};

}  // namespace netio
