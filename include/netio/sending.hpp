// The sending half of a socket: Push and Pair have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>

#include <netio/batch.hpp>
#include <netio/export.hpp>
#include <netio/message.hpp>
#include <netio/segments.hpp>
#include <netio/status.hpp>
#include <netio/to_all.hpp>

namespace netio {

namespace detail {
class SendCore;
}

// No call blocks or throws. A call that does not answer ok has taken nothing (of a batch: nothing
// of what is left in it).
class NETIO_API Sending {
 public:
  // Copies the bytes (unbuffered: unless the wire took them at once). They are the caller's again
  // on return, whatever the answer:
  [[nodiscard]] Status send(std::span<const std::byte> message, std::uint64_t tag = 0) noexcept;
  [[nodiscard]] Status send(std::string_view text, std::uint64_t tag = 0) noexcept {
    return send(std::as_bytes(std::span(text)), tag);
  }

  // Two texts in braces would be one text, from the first to the second: see send_segments().
  void send(std::initializer_list<const char*> texts, std::uint64_t tag = 0) = delete;

  // Sends a message that was kept or allocated, without a copy. `message` is empty afterwards if
  // the answer is ok, and untouched otherwise.
  [[nodiscard]] Status send(Message&& message) noexcept;
  // Sends the messages of a batch that was kept, in order, with their tags and segments. Where the
  // wire reads the memory that they came in, they go as the page that they are, and nothing is done
  // for each of them: all to one peer, the next in turn. Otherwise they are copied once
  // (ARCHITECTURE.md, "Memory", says when), or sent one by one (Distribute::by_tag, peers with
  // smaller pages). `batch` is empty afterwards if the answer is ok; otherwise the answer is about
  // the first message of what is left in it.
  [[nodiscard]] Status send(KeptBatch&& batch) noexcept;
  // Sends one message of several segments, up to segments_max, none of them a Message that is empty
  // (else invalid); of none, an empty one. The receiver sees them as they were sent
  // (MessageView::segments()), and all of them, or none. They are copied once, behind each other,
  // with a table in front: together they may not be larger than a message (too_big, also if a peer
  // is of a release that does not take segments).
  //
  // The last segment is not copied where the wire sends it from where it lies: if it is a message
  // of allocate() with room for the others (`head_bytes`), on every wire; if it is another message
  // that was kept or allocated, and larger than a quarter of a page, on tcp and fabrics, if the
  // others together are no larger than that. (A message that was received is copied where
  // SocketOptions::resume_bytes_max is set.) So give the large one last. Messages among the
  // segments are empty afterwards if the answer is ok, and untouched otherwise.
  [[nodiscard]] Status send_segments(std::span<const Segment> segments,
                                     std::uint64_t tag = 0) noexcept;
  // The same with a list in braces.
  [[nodiscard]] Status send_segments(std::initializer_list<Segment> segments,
                                     std::uint64_t tag = 0) noexcept {
    return send_segments(std::span(segments.begin(), segments.size()), tag);
  }
  // Lends the bytes to the library, which does not copy them (shm: copies them once, to where the
  // peer can read them). They must stay unchanged until on_released is called with `token`. That
  // happens once for every ok, also when the connection breaks. Destroying the socket ends all
  // loans at once, without calls. On a fabric, peers can read the bytes until the loan ends. Large
  // buffers of the library (of allocate(), or of kept messages) may stay readable after that, with
  // whatever they hold then: see "Who can read what was lent" in docs/guide.md.
  [[nodiscard]] Status lend(std::span<const std::byte> message, std::uint64_t token,
                            std::uint64_t tag = 0) noexcept;
  // As send_segments(), with the last segment, which is bytes and no message (else invalid), lent
  // as lend() does: a head and a large body leave as one message. The body is copied where lend()
  // would copy it, and if it is at most a quarter of a page.
  [[nodiscard]] Status lend_segments(std::span<const Segment> segments, std::uint64_t token,
                                     std::uint64_t tag = 0) noexcept;
  // The same with a list in braces.
  [[nodiscard]] Status lend_segments(std::initializer_list<Segment> segments, std::uint64_t token,
                                     std::uint64_t tag = 0) noexcept {
    return lend_segments(std::span(segments.begin(), segments.size()), token, tag);
  }
  // Sets the call for the end of a loan: what was lent with this token is the caller's again.
  void on_released(std::function<void(std::uint64_t token)> call);

  // Copies the bytes as send() does, and sends them to the peer with this PeerInfo::id or to
  // nobody. The turn of the other peers does not move. The answer is about this peer:
  //
  // again: it has no room now. on_writable follows when it has, or when the peer is gone for good.
  //
  // not_connected: no peer with this id is connected. If this side connects to it, on_writable
  // follows when it is connected again, or when no more attempts are made. If it is a peer that
  // connected to this side, and its connection is about to end, on_writable follows when it has
  // ended. If there is no peer with this id, on_writable follows when the next peer is connected,
  // whichever it is: a peer that connects again may have its id again.
  //
  // too_big: for this side, or for this peer.
  [[nodiscard]] Status send_to(std::uint64_t peer, std::span<const std::byte> message,
                               std::uint64_t tag = 0) noexcept;
  // The same, with text.
  [[nodiscard]] Status send_to(std::uint64_t peer, std::string_view text,
                               std::uint64_t tag = 0) noexcept {
    return send_to(peer, std::as_bytes(std::span(text)), tag);
  }
  // Two texts in braces would be one text: see send_segments_to().
  void send_to(std::uint64_t peer, std::initializer_list<const char*> texts,
               std::uint64_t tag = 0) = delete;
  // The same, with a message that was kept or allocated: empty afterwards if the answer is ok, and
  // untouched otherwise.
  [[nodiscard]] Status send_to(std::uint64_t peer, Message&& message) noexcept;
  // The same, with segments: see send_segments().
  [[nodiscard]] Status send_segments_to(std::uint64_t peer, std::span<const Segment> segments,
                                        std::uint64_t tag = 0) noexcept;
  // The same with a list in braces.
  [[nodiscard]] Status send_segments_to(std::uint64_t peer, std::initializer_list<Segment> segments,
                                        std::uint64_t tag = 0) noexcept {
    return send_segments_to(peer, std::span(segments.begin(), segments.size()), tag);
  }
  // The same, with bytes that are lent: see lend().
  [[nodiscard]] Status lend_to(std::uint64_t peer, std::span<const std::byte> message,
                               std::uint64_t token, std::uint64_t tag = 0) noexcept;

  // Copies the bytes as send() does, and sends them to every peer that is up, with whatever
  // Distribute: "run 42 starts". Each peer gets the message once, in order with what it is sent
  // before and after. All take it, or nobody gets it. It counts in the books once for each peer.
  // Look at `away` and `peers` too: see ToAll. What is not acknowledged when a connection breaks is
  // lost, or kept and sent again, as any message.
  //
  // again: one of the peers has no room now. on_writable follows when it has, or when its
  // connection ends.
  //
  // not_connected: no peer is up. on_writable follows when one is.
  //
  // too_big: for this side, or for one of the peers.
  ToAll send_to_all(std::span<const std::byte> message, std::uint64_t tag = 0) noexcept;
  // The same, with text.
  ToAll send_to_all(std::string_view text, std::uint64_t tag = 0) noexcept {
    return send_to_all(std::as_bytes(std::span(text)), tag);
  }
  // Two texts in braces would be one text.
  void send_to_all(std::initializer_list<const char*> texts, std::uint64_t tag = 0) = delete;

  // Makes a message of `bytes`, to be written through writable_bytes(), in the memory that the wire
  // of the next peer (Distribute::by_tag: of the peer of the tag) sends from best. send() passes it
  // on without a copy. Its contents are undefined at first. On shm the peer reads it where it was
  // written, so nothing may write to it once it was sent. The message is empty if `status` is not
  // ok; `status` is then as send() would answer, and too_big also for more than large_bytes_max.
  // The memory belongs to the context and is bounded by large_bytes_max. It is free again when the
  // message was destroyed, or was sent and read. With `head_bytes` it may be the last segment of a
  // message, behind others whose sizes, each rounded up to a multiple of 8, add up to no more.
  [[nodiscard]] Message allocate(std::size_t bytes, Status& status, std::uint64_t tag = 0,
                                 std::size_t head_bytes = 0) noexcept;
  // The same, in the memory that the wire of this peer sends from best. `status` is as send_to()
  // would answer.
  [[nodiscard]] Message allocate_for(std::uint64_t peer, std::size_t bytes, Status& status,
                                     std::uint64_t tag = 0, std::size_t head_bytes = 0) noexcept;

  // Buffered only, and not with Distribute::by_tag: otherwise `status` is invalid. Gives room for a
  // message of up to `bytes` in the open page, to be written in place. The room is empty if
  // `status` is not ok. It is the caller's until commit(), the next call on this socket, or the end
  // of the turn, whichever is first.
  [[nodiscard]] std::span<std::byte> reserve(std::size_t bytes, Status& status) noexcept;
  // Sends the first `bytes` of the room that reserve() gave.
  [[nodiscard]] Status commit(std::size_t bytes, std::uint64_t tag = 0) noexcept;

  // Hands open pages to the wire now.
  void flush() noexcept;
  // Sets the call that says: try again. It comes once after a call answered again or not_connected,
  // however often that was. If the answers were about different peers (send_to(),
  // Distribute::by_tag), it comes whenever one of these peers can be tried again, once in a turn.
  void on_writable(std::function<void()> call);

  // For the library.
  [[nodiscard]] detail::SendCore& send_core() noexcept { return *send_core_; }

 protected:
  explicit Sending(detail::SendCore& core) noexcept : send_core_(&core) {}
  ~Sending() = default;

 private:
  detail::SendCore* send_core_;
};

}  // namespace netio
