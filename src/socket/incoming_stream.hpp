// Turns the pages of one peer into messages: walks the frames, puts parts together, and holds the
// rest of a page when the user pauses in the middle of it. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include <netio/message.hpp>
#include <netio/receiving.hpp>

#include "memory/copies.hpp"
#include "memory/large_pool.hpp"
#include "socket/receive_books.hpp"
#include "socket/unreleased.hpp"
#include "transport/link.hpp"
#include "wire/frame.hpp"
#include "wire/frame_sums.hpp"

namespace netio::detail {

class Peer;

// A batch walks frames in the public header.
static_assert(MessageCursor::word_bytes == frame_word_bytes &&
              MessageCursor::tagged == frame_flag::tagged && frame_flag::tagged == 1 &&
              MessageCursor::segmented == frame_flag::segmented &&
              MessageCursor::segments_shift == frame_flag::segments_shift);

// Who takes requests, or answers to them, in place of the call-backs for messages.
class RequestTaker {
 public:
  // A page of this peer is at hand, and what it acknowledges is in the books. Of one that was held:
  // since when; 0: it has just come.
  void begin_page(Peer& peer, std::int64_t held_since_ns) noexcept {
    page_peer_ = &peer;
    page_held_since_ns_ = held_since_ns;
    if (wants_acknowledgements_) [[unlikely]]
      look_at_acknowledged(peer);
  }
  // What is wrong with a message; or what it needs here and cannot have.
  struct Breach {
    const char* what;
    DownReason reason = DownReason::protocol_error;
  };
  // The next message of the page, which counts as received already. If it cannot be taken, the
  // answer says why, and nothing was done; else the answer is null.
  virtual const Breach* take(const MessageView& message, Label label) noexcept = 0;

 protected:
  ~RequestTaker() = default;
  virtual void look_at_acknowledged(Peer&) noexcept {}

  Peer* page_peer_ = nullptr;  // whose page is at hand
  std::int64_t page_held_since_ns_ = 0;
  bool wants_acknowledgements_ = false;
};

// Where the messages of all peers of a socket go.
struct Delivery {
  std::function<void(const MessageView&)> on_message;
  std::function<void(const Batch&)> on_batch;
  RequestTaker* requests = nullptr;   // of Request, and of Reply once it has a call-back
  std::uint64_t offered = 0;          // abilities of this socket (wire/ability.hpp)
  bool stopped = false;               // nothing more now: looked at after each message
  std::uint64_t bytes = 0;            // of payload, so far
  KeptMemory* kept_memory = nullptr;  // where small messages are kept; null: nowhere
  // Acknowledgements wait until a reader in another thread has taken the messages; until the user
  // has released them.
  bool until_taken = false;
  bool until_released = false;
  Copies copies;  // of parts of messages, into one buffer
  // Of the peer whose batch is with on_batch, and of the frames of that batch; valid inside it.
  const ReceiveBooks* books = nullptr;
  FrameSums page;
};

class IncomingStream {
 public:
  IncomingStream(Delivery& delivery, LargePool& large_pool, Quota* large_quota,
                 std::uint64_t message_bytes_max) noexcept
      : delivery_(delivery),
        large_pool_(large_pool),
        large_quota_(large_quota),
        message_bytes_max_(message_bytes_max) {}

  enum class Result : std::uint8_t {
    done,     // the page was delivered
    held,     // delivery stopped in the middle: pause the link, call go_on() later
    starved,  // no memory for a message in parts: the same, after waiting for large_pool
    bad,      // the peer broke the rules: defect() and reason() say how
  };
  // A page of messages.
  Result take(const PageHeader& header, Block& block, std::span<const std::byte> body);
  // The rest of a page that was held. `done` if there was none.
  Result go_on();
  [[nodiscard]] bool holding() const noexcept { return static_cast<bool>(held_); }

  // The connection ended: a message that is not complete never will be.
  void end() noexcept;

  [[nodiscard]] bool assembling() const noexcept { return static_cast<bool>(large_); }
  // Of the message in parts; 0 if none is under way.
  [[nodiscard]] std::size_t assembling_bytes() const noexcept { return large_ ? large_bytes_ : 0; }
  // A counter of payload bytes that came in parts.
  [[nodiscard]] std::uint64_t part_bytes() const noexcept { return whole_bytes_ + large_filled_; }
  [[nodiscard]] const char* defect() const noexcept { return defect_; }
  [[nodiscard]] DownReason reason() const noexcept { return reason_; }

  // The books of the stream. Nobody else writes to them. They have two positions: up to one,
  // messages were received; up to the other, they are acknowledged.
  [[nodiscard]] const ReceiveBooks& books() const noexcept { return books_; }
  // As ReceiveBooks has them:
  void look_from(std::int64_t now_ns) noexcept { books_.look_from(now_ns); }
  [[nodiscard]] std::optional<ReceiveBooks::Lost> begin_connection(std::uint64_t position,
                                                                   std::int64_t now_ns) noexcept {
    return books_.begin_connection(position, now_ns);
  }
  [[nodiscard]] std::optional<std::uint64_t> miss_up_to(std::uint64_t dropped,
                                                        std::int64_t now_ns) noexcept {
    return books_.miss_up_to(dropped, now_ns);
  }
  // The reader has taken everything before that.
  void acknowledge(const ReceiveBooks::Place& taken) noexcept;
  // The user may have released messages: looks at all that were kept.
  void look_at_all_released() noexcept;
  // Nothing more is delivered. The good-bye has the last word on what was, also on the next
  // connection, which says what was received: so what is kept is acknowledged with it, if the
  // reader has taken it.
  void acknowledge_the_rest() noexcept {
    if (!delivery_.until_released) return;
    books_.acknowledge(delivery_.until_taken ? taken_ : books_.place());
  }
  // The connection ended. The next one acknowledges what was received, kept or not.
  void forget_unreleased() noexcept { unreleased_.clear(); }
  // Messages that the user has kept hold acknowledgements back.
  [[nodiscard]] bool waits_for_release() const noexcept { return !unreleased_.empty(); }
  // The first of them lies in the open block of kept_memory: more is kept there before it is free.
  [[nodiscard]] bool waits_for_open_block() const noexcept {
    return waits_for_release() && delivery_.kept_memory->is_open(unreleased_.first_block());
  }
  // Another stream takes the place of this one.
  void begin_anew() noexcept { books_.begin_stream(); }
  // The books of the same stream, which another object has kept, or is to keep.
  void restore(const ReceiveBooks& books) noexcept { books_ = books; }
  [[nodiscard]] ReceiveBooks surrender_books() noexcept { return std::exchange(books_, {}); }

 private:
  Result take_page(const PageHeader& header, Block& block, std::span<const std::byte> body);
  Result go_on_with_page();
  template <typename Deliver>
  Result noting_what_is_kept(Deliver&& deliver);
  void look_at_released() noexcept;
  Result start(Block& block);
  Result deliver(Block& block);
  Result walk(Block& block);
  [[gnu::noinline]] Result end_walk(Block& block);
  [[gnu::noinline]] Result walk_rest(Block& block);
  Result walk_requests(Block& block);
  [[gnu::noinline]] Result walk_other_requests(Block& block);
  Result refuse_request(const RequestTaker::Breach& breach, std::size_t bytes) noexcept;
  [[nodiscard]] static bool view_segments(MessageView& view, std::uint32_t flags) noexcept;
  Result walk_batch(Block& block);
  Result take_part(const Frame& frame, Block& block);
  Result begin_parts(const Frame& frame, Block& block);
  Result deliver_whole();
  void give_batch(const Batch& batch);
  void count(std::uint32_t messages, std::size_t bytes) noexcept;
  Result hold(Block& block, Result why) noexcept;
  Result finish_page() noexcept;
  Result fail(const char* what, DownReason reason = DownReason::protocol_error) noexcept;

  Delivery& delivery_;
  ReceiveBooks books_;
  ReceiveBooks::Place taken_;  // by the reader in another thread
  Unreleased unreleased_;
  std::optional<std::uint64_t> delivering_from_;  // what is kept of the page at hand is not in it
  LargePool& large_pool_;
  Quota* large_quota_;
  std::uint64_t message_bytes_max_;

  // The page at hand, or the one held.
  std::span<const std::byte> body_;
  FrameWalker walker_;
  bool started_ = false;            // walker_ is somewhere inside body_
  std::uint64_t page_expects_ = 0;  // books_.expected once the page is done
  Lease held_;

  Lease large_;  // a message in parts
  std::size_t large_bytes_ = 0;
  std::size_t large_filled_ = 0;
  std::uint64_t whole_bytes_ = 0;  // payload of the messages in parts before this one
  Label large_label_;

  const char* defect_ = nullptr;
  DownReason reason_ = DownReason::protocol_error;
};

}  // namespace netio::detail
