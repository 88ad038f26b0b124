// Turns the messages for one peer into posts: gathers them in an open page (buffered), or posts
// each by itself (unbuffered), or in parts if it is too large for one page. Owner thread only. What
// the wire does not have yet, and what is kept until it is acknowledged, goes first on the next
// connection (outgoing_stream_return.cpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <netio/books.hpp>
#include <netio/message.hpp>
#include <netio/options.hpp>
#include <netio/status.hpp>

#include "memory/copies.hpp"
#include "memory/copy_thresholds.hpp"
#include "memory/large_pool.hpp"
#include "memory/store.hpp"
#include "socket/front_page.hpp"
#include "socket/large_message.hpp"
#include "socket/open_page.hpp"
#include "socket/resend_queue.hpp"
#include "socket/send_books.hpp"
#include "socket/shortages.hpp"
#include "socket/supplies.hpp"
#include "socket/upstream.hpp"
#include "transport/link.hpp"
#include "wire/frame.hpp"
#include "wire/frame_sums.hpp"
#include "wire/segments.hpp"

namespace netio::detail {

class MessageToAll;

// Who looks after an OutgoingStream: its peer.
class StreamOwner {
 public:
  // The first message went into an empty page: flush it in time.
  virtual void on_page_opened() noexcept = 0;
  // A large message was begun: the link may be full now.
  virtual void on_large_begun() noexcept = 0;
  // A send is refused for lack of memory.
  virtual void on_starved() noexcept = 0;
  // Memory came home that a send had lacked.
  virtual void on_stream_memory() noexcept = 0;
  // More is kept on a stream that is unread: set_unread() again, from the loop.
  virtual void on_kept_unread() noexcept = 0;

 protected:
  ~StreamOwner() = default;
};

class OutgoingStream final : private StoreWaiter {
 public:
  OutgoingStream(StreamOwner& owner, LargePool& large_pool, Copies& copies,
                 std::uint64_t message_bytes_max)
      : owner_(owner),
        large_pool_(large_pool),
        copies_(copies),
        own_message_bytes_max_(message_bytes_max) {}

  // Whether the connection takes messages of this size: ok, not_connected or too_big.
  [[nodiscard]] Status sendable(std::size_t bytes) const noexcept;

  // The data path. On `again` the peer's on_writable (or on_stream_memory) follows.

  // Copies into the open page, if that has room, as it nearly always has. The first bound holds
  // every limit on a message, also for a size that would wrap when it is padded. The second one
  // fails if no page is open.
  bool gather_at_once(std::span<const std::byte> message, Label label) noexcept {
    return label.numbered() ? gather_framed<true>(message, label)
                            : gather_framed<false>(message, label);
  }
  // Copies into the open page, or a new one.
  Status gather(std::span<const std::byte> message, Label label) noexcept;
  // Posts the message now. It is copied only if the wire does not take it at once, or cannot take
  // it whole.
  Status post_now(std::span<const std::byte> message, Label label) noexcept;
  // How near the link is to taking no more, from 0 to 1; 1 without a link, or without memory.
  [[nodiscard]] double link_fill() const noexcept;
  // A page with one control frame, which borrows its payload.
  [[nodiscard]] static Post control_post(ControlKind kind, std::span<const std::byte> payload,
                                         std::uint64_t sequence) noexcept;
  // A control frame at once; `again` if the link is full.
  Status post_control(ControlKind kind, std::span<const std::byte> payload) noexcept;
  // The same with whole frames, which may be several.
  Status post_control_frames(std::span<const std::byte> frames) noexcept;
  Status post_acknowledgement() noexcept;
  // The number of the next message of this stream, dropped ones included.
  [[nodiscard]] std::uint64_t taken() const noexcept {
    return books_.next_sequence + books_.dropped_unposted + unposted();
  }
  // The message lies in memory that messages are received into. If it were kept there until it is
  // acknowledged, there might be no memory left to read the acknowledgement.
  [[nodiscard]] bool copies_to_resend(const Block& memory, std::size_t bytes) const noexcept {
    return resends_ && memory.owner() != &link_->pool() && !large_pool_.owns(memory) &&
           (bytes <= borrowed_bytes_max_ || memory.owner() == &link_->receive_store());
  }
  // Posts the message now from where it lies. Takes the lease if the answer is ok, and leaves it
  // otherwise.
  Status pass(Lease& lease, std::span<const std::byte> message, Label label) noexcept;

  // Gathers the message, or posts it now, as `mode` says.
  Status put(std::span<const std::byte> message, Label label, Mode mode) noexcept {
    if (mode != Mode::buffered) return post_now(message, label);
    return gather_at_once(message, label) ? Status::ok : gather(message, label);
  }
  // The same with a message, which is empty afterwards if the answer is ok. It is not copied where
  // a post of its own costs less.
  Status put(Message& message, Label label, Mode mode) noexcept;
  // The same, copied in any case: its memory is needed for others. Nobody may change it.
  Status put_copy(Message& message, Label label, Mode mode) noexcept;
  // A message of this size in memory of its own is copied into the open page of a buffered socket.
  [[nodiscard]] bool gathers(std::size_t bytes) const noexcept {
    return bytes <= body_max() / gathered_page_part;
  }
  // The same with a message of segments, whose messages are the caller's still.
  Status put(const SegmentList& segments, Label label, Mode mode) noexcept;
  // The same with a page that was received (outgoing_stream_put.cpp), if this connection takes it
  // as it is. Nobody may change it. `copies`: its memory is needed for others.
  [[nodiscard]] bool takes_page(const FrameSums& sums, std::size_t bytes) const noexcept;
  Status put_page(const Lease& page, std::span<const std::byte> frames, std::uint32_t messages,
                  Mode mode, bool copies) noexcept;
  // A message to all peers, in this order (outgoing_stream_to_all.cpp).
  Status make_way_for(const MessageToAll& message) noexcept;
  Status take_copy(MessageToAll& message, Lease& copy) noexcept;
  void put_to_all(const MessageToAll& message, Label label, Lease copy) noexcept;
  // The peer takes them.
  void may_send_segments(bool may) noexcept { takes_segments_ = may; }
  [[nodiscard]] bool takes_segments() const noexcept { return takes_segments_; }
  // The position of the next message that is put.
  [[nodiscard]] std::uint64_t next_position() const noexcept {
    return books_.next_sequence + page_.messages() + (large_.active() ? 1U : 0U);
  }
  // Changes what the frames of requests say that are kept to be posted again, and were not posted
  // on this connection.
  [[nodiscard]] ResendQueue::RequestFields request_fields() noexcept {
    return ResendQueue::RequestFields(resend_);
  }

  // For an Upstream, whose messages go as they are. It sends nothing else on this stream, and looks
  // at pending_itself() first.
  void put_below(Upstream* upstream) noexcept {
    upstream_ = upstream;
    renews_ = false;
  }
  [[nodiscard]] Link* link() const noexcept { return link_; }
  // Of a body, with its frames.
  [[nodiscard]] std::size_t body_max() const noexcept {
    return link_->limits().page_bytes_max - page_header_bytes;
  }
  [[nodiscard]] Supplies supplies() const noexcept {
    return {link_->pool(), large_pool_, link_->fit().loans, copies_};
  }
  // A message of up to fit().borrowed_bytes_max, which is copied if the wire does not take it.
  Status post_borrowed(std::span<const std::byte> message, Label label) noexcept;
  // A message that lies in this memory, behind its front; whole, or in parts if it has to. Takes
  // the lease on ok.
  Status pass_now(Lease& lease, std::span<const std::byte> message, Label label,
                  const PostBody& front = {}) noexcept;
  // The frames of a page, with a count more on it; `alone`: no other peer is sent them.
  Status pass_frames(const Lease& lease, std::span<const std::byte> frames, std::uint32_t messages,
                     bool alone) noexcept;
  // Messages that were not posted go behind those that are posted again, cut as this link takes
  // them. False if there is no memory for that.
  [[nodiscard]] bool post_behind_kept(const Lease& lease, std::span<const std::byte> bytes,
                                      std::uint32_t messages, bool framed, Label label) noexcept;
  // The peer has been told this before the next message.
  void mark(const Told& told) noexcept { resend_.mark(told); }
  // What is posted is kept, on this connection.
  [[nodiscard]] bool resends() const noexcept { return resends_; }
  // The message in parts that is under way: as far as the link takes it.
  Status post_parts() noexcept;
  // The link's pool had no page. Always `again`.
  Status wait_for_page() noexcept;
  // Of the message in parts that is under way.
  [[nodiscard]] std::uint64_t large_bytes_left() const noexcept { return large_.left(); }

  // Memory that pass() takes without a copy, for `bytes` from loan_headroom on.
  Lease allocate(std::size_t bytes, Status& status) noexcept;
  // The same as a message to be written; empty if `status` is not ok.
  Message allocate_message(std::size_t bytes, std::uint64_t tag, Status& status,
                           std::size_t head_bytes = 0) noexcept;
  std::span<std::byte> reserve(std::size_t bytes, Status& status) noexcept;
  Status commit(std::size_t bytes, std::uint64_t tag) noexcept;

  // Posts the open page, if any, and goes on with a message in parts. `again` if the link is full.
  Status post_pending() noexcept;
  // The turn is over. A page that was reserved from and not written to goes back to the pool. The
  // backlog goes to the wire if the wire is idle. So does everything else that is pending, if
  // `flush_when_idle`.
  void end_turn(bool flush_when_idle) noexcept;
  void flush() noexcept;

  // A send waits: it found no memory, or had to leave pages to others, or messages are in the
  // backlog.
  [[nodiscard]] bool waiting() const noexcept {
    return leaves_pages_ || StoreWaiter::waiting() || behind() || waits_above();
  }
  // The last send, or allocate(), found no memory.
  [[nodiscard]] bool starved() const noexcept { return StoreWaiter::waiting(); }
  // The peer has acknowledged nothing on this connection: nobody knows whether it takes anything.
  [[nodiscard]] bool stranger() const noexcept {
    return books_.acknowledged == acknowledged_before_;
  }
  // The memory that messages to this peer hold and that other peers lack. Empty if none do.
  [[nodiscard]] Holding kept_from_others(const Shortage& shortage) const noexcept;
  // A message was taken that the link does not have yet.
  [[nodiscard]] bool pending() const noexcept { return pending_itself() || waits_above(); }
  // The same, without what waits above.
  [[nodiscard]] bool pending_itself() const noexcept {
    return page_.messages() != 0 || large_.active() || behind();
  }
  // There was no memory for what waits above: the connection is to end.
  [[nodiscard]] bool failed() const noexcept { return upstream_ != nullptr && upstream_->failed(); }

  // The connection.
  void attach(Link& link) noexcept;
  void detach() noexcept;

  // What is posted is kept until it is acknowledged, up to so many bytes; 0: nothing is. Wires that
  // do not come back keep nothing.
  void keep_to_resend(std::size_t bytes_max) noexcept { resend_.set_bytes_max(bytes_max); }
  // Nothing is read from the peer, so no acknowledgement is seen. A send that had to wait for one
  // might wait for ever: it gives up the oldest of what is kept instead. What is kept also goes to
  // others: now, if they wait for memory, else when they need it, until something is sent again.
  // True if a send was refused that need not wait any more.
  [[nodiscard]] bool set_unread(bool unread) noexcept;
  [[nodiscard]] bool has_to_resend() const noexcept { return !resend_.empty(); }
  // The position of the oldest message that can be posted again.
  [[nodiscard]] std::uint64_t oldest_kept() const noexcept {
    return std::max(resend_.oldest(books_.next_sequence), books_.expected);
  }
  // Before the books are settled on this connection, and the peer is told where this stream begins.
  // Nothing is kept where no network breaks a connection, unless the stream comes there
  // from another wire, with something to be sent again.
  void hold_resend(Link& link) noexcept {
    resend_.work();
    resend_.use(link.pool());
    const bool keeps = link.comes_back() || !resend_.empty();
    resends_ = keeps && resend_.on() && resend_.make_room();
    if (!resends_) resend_.give_up();
  }
  // What is kept is given up. Whether the peer has it is in doubt until it comes back.
  void give_up_resend() noexcept { resend_.give_up(); }
  // Also what was taken and not posted is kept now: the stream goes on in another object.
  void keep_pending_to_resend() noexcept;
  [[nodiscard]] ResendQueue surrender_resend() noexcept { return std::move(resend_); }
  void restore(ResendQueue resend) noexcept { resend_ = std::move(resend); }
  // Hands out the messages that were taken and not posted, in order, and forgets them. What `take`
  // refuses is dropped. A message is empty if there was no memory for it. There is no connection.
  template <typename Take>
  void take_back_pending(Take&& take) noexcept {
    const auto hand_out = [&](Message message, Label label) {
      if (!take(std::move(message), label)) books_.drop_unposted(DropReason::not_sent, 1);
    };
    if (large_.active()) hand_out(large_.take(), large_.label);
    large_ = {};
    if (!page_.is_open()) return;
    FrameWalker walker(page_.data(), page_.bytes(), ability::every_frame);
    for (Frame frame; walker.next(frame);) {
      Lease lease = page_.lease();
      hand_out({lease.release(), {frame.payload, frame.size}, 0}, frame.label());
    }
    close_page();
  }
  // Drops the messages that were taken and not posted.
  void drop_pending(DropReason reason) noexcept;

  // The books of the stream. Nobody else writes to them.
  [[nodiscard]] const SendBooks& books() const noexcept { return books_; }
  void add_to(Books& to) const noexcept {
    books_.add_to(to, unposted(), link_ != nullptr ? 0 : resend_.oldest(books_.next_sequence));
  }
  // The peer expects this position next. False, and nothing done, if that cannot be.
  [[nodiscard]] bool acknowledge(std::uint64_t position) noexcept {
    if (position == books_.expected) return true;
    if (position > posted_to_ || !books_.acknowledge(position)) return false;
    resend_.release(position);
    if (fronts_.unused()) fronts_.close();
    return true;
  }
  // A connection begins, on which the peer expects this position next, and has missed so many
  // messages before it. What is kept from there on is posted again. Only if it settles().
  [[nodiscard]] bool settles(std::uint64_t position, std::uint64_t missed) const noexcept {
    SendBooks books = books_;
    return books.settle(position, missed, std::max(oldest_kept(), position));
  }
  void settle(std::uint64_t position, std::uint64_t missed) noexcept;
  // A send was refused because too much is kept, and that has changed.
  [[nodiscard]] bool take_resend_room() noexcept {
    if (!wants_resend_room_ || resend_.full() || resend_.has_its_share()) return false;
    wants_resend_room_ = false;
    return true;
  }
  // Messages that were taken and will not be posted.
  void drop_unposted(DropReason reason, std::uint64_t messages) noexcept {
    books_.drop_unposted(reason, messages);
  }
  // What was posted and is not acknowledged never will be.
  void drop_posted(DropReason reason) noexcept {
    resend_.clear();
    books_.drop_posted(reason);
    posted_to_ = books_.next_sequence;
  }
  // Another stream takes the place of this one, whose messages in doubt are dropped.
  void begin_anew() noexcept;
  // There is no connection. Counts one message as posted and lost, though nobody sent one: if the
  // stream goes on, the peer is told that messages were lost.
  void lose_one() noexcept;
  // The books of the same stream, which another object has kept, or is to keep.
  void restore(const SendBooks& books) noexcept {
    books_ = books;
    posted_to_ = books.next_sequence;
  }
  [[nodiscard]] SendBooks surrender_books() noexcept {
    posted_to_ = 0;
    return std::exchange(books_, {});
  }

  [[nodiscard]] std::uint64_t pages_posted() const noexcept { return pages_posted_; }
  // The memory that is kept until the peer has acknowledged what is in it.
  [[nodiscard]] std::size_t kept_bytes() const noexcept { return resend_.bytes_held(); }
  // Messages that were posted again, and that were kept for that and given up.
  [[nodiscard]] std::uint64_t resent() const noexcept { return resent_; }
  [[nodiscard]] std::uint64_t resent_bytes() const noexcept { return resent_bytes_; }
  [[nodiscard]] std::uint64_t resume_given_up() const noexcept { return resend_.given_up(); }
  // The number of messages that were taken and not posted. A large message counts until its last
  // part is posted.
  [[nodiscard]] std::uint64_t unposted() const noexcept {
    return page_.messages() + (large_.active() ? 1U : 0U) +
           (upstream_ != nullptr ? upstream_->messages() : 0U);
  }
  [[nodiscard]] std::uint64_t unposted_bytes() const noexcept {
    return (page_.is_open() ? page_.bytes() : 0) + large_bytes_left() +
           (upstream_ != nullptr ? upstream_->bytes() : 0U);
  }

 private:
  template <bool numbered>
  bool gather_framed(std::span<const std::byte> message, Label label) noexcept {
    constexpr std::size_t prefix = frame_word_bytes + (numbered ? sizeof label.number : 0);
    if (message.size() > gather_bytes_max_ || wire_padded(message.size()) + prefix > page_.room())
        [[unlikely]]
      return false;
    page_.append<numbered>(message, label);
    return true;
  }
  [[nodiscard]] bool waits_above() const noexcept {
    return upstream_ != nullptr && !upstream_->empty();
  }
  void count_copies(const SegmentList& segments) noexcept;
  Status put_own_copy(Message& message, Label label, Mode mode) noexcept;
  [[nodiscard]] bool label_segments(const Message& message, Label& label) const noexcept;
  void forget_copied(Message& message) noexcept;
  Status copy_large(std::span<const std::byte>& message, Lease& copy) noexcept;
  Status take_large_copy(MessageToAll& message, Lease& copy) noexcept;
  template <typename SizedPool>
  Status take_from(SizedPool& pool, std::size_t bytes, Lease& taken) noexcept;
  template <typename SizedPool>
  Status take_for_peer(SizedPool& pool, std::size_t bytes, Lease& taken) noexcept;
  Status keep_from_stranger(Store& store) noexcept;
  [[nodiscard]] Holding holding(const StorePart& memory) const noexcept;
  Status gather_large(std::span<const std::byte> message, Label label) noexcept;
  Status open_page() noexcept;
  Status take_page(Lease& page) noexcept;
  void give_way_in(const Store& store) noexcept;
  void close_page() noexcept;
  Status begin_large(LargeMessage message) noexcept;
  Status put_behind_front(const SegmentList& segments, Label label) noexcept;
  [[nodiscard]] bool goes_behind_front(const SegmentList& segments, Label label) const noexcept;
  Status post_page() noexcept;
  void keep_page(std::uint64_t position, std::uint32_t messages, const Lease& page,
                 std::span<const std::byte> frames, bool copy) noexcept;
  Status pass_to_stranger(Lease& lease, std::span<const std::byte> message, Label label,
                          const PostBody& front) noexcept;
  template <typename SizedPool>
  Status pass_charged(SizedPool& pool, Lease& lease, std::span<const std::byte> message,
                      Label label, const PostBody& front) noexcept;
  Status post_whole(Lease& lease, std::span<const std::byte> message, Label label,
                    const PostBody& front) noexcept;
  Status wait_for(Store& store, Lack lack = Lack::memory) noexcept;
  // Messages of an earlier connection are still to be posted again, or what goes before them.
  [[nodiscard]] bool behind() const noexcept {
    return posted_to_ != books_.next_sequence || renews_;
  }
  Status post_behind() noexcept;
  Status post_next_again() noexcept;
  Status post_again(const ResendQueue::Item& item) noexcept;
  Status post_message_again(const Lease& lease, std::span<const std::byte> message, Label label,
                            const PostBody& front = {}) noexcept;
  Status post_parts_of(LargeMessage& large) noexcept;
  // What is being posted again stays.
  [[nodiscard]] bool gives_way() const noexcept {
    return unread_ && resends_ && !resend_.empty() && !behind();
  }
  // The link may wait for a page to copy to, and all of them may be kept.
  void give_way_for_copy() noexcept {
    if (gives_way() && link_->pool().blocks_free() == 0) give_way_in(link_->pool());
  }
  Status room_to_resend(const Block& memory, std::size_t bytes, bool& copy) noexcept;
  template <typename Takes>
  Status room_to_resend(Takes&& takes) noexcept;
  Status share_to_resend() noexcept;
  Status room_to_copy(std::size_t bytes) noexcept;
  Status may_begin_large() noexcept;
  Status post_frames(const Lease& lease, std::span<const std::byte> frames,
                     std::uint32_t messages) noexcept;
  Status post_counted(Post& post) noexcept;
  void on_memory() noexcept override { owner_.on_stream_memory(); }
  [[nodiscard]] Lack lack() const noexcept override { return lack_; }

  StreamOwner& owner_;
  LargePool& large_pool_;
  Copies& copies_;
  std::uint64_t own_message_bytes_max_;
  Link* link_ = nullptr;
  Upstream* upstream_ = nullptr;
  bool renews_ = false;  // it has to tell the peer again what was told between messages
  SendBooks books_;

  OpenPage page_;
  bool leaves_pages_ = false;  // few pages are left, and this link has some of them
  std::size_t gather_bytes_max_ = 0;
  std::size_t borrowed_bytes_max_ = 0;  // of a message that is posted without a lease
  std::byte* reserved_at_ = nullptr;  // where it was when reserve() was called; null if it was not
  std::size_t reserved_bytes_ = 0;
  LargeMessage large_;
  FrontPage fronts_;
  ResendQueue resend_;
  bool takes_segments_ = false;
  bool unread_ = false;
  bool resends_ = false;                   // on this connection
  bool wants_resend_room_ = false;         // a send was refused because too much is kept
  std::uint64_t posted_to_ = 0;            // the position of the next message on this connection
  LargeMessage again_;                     // of what is posted again: a message in parts
  std::uint64_t acknowledged_before_ = 0;  // on other connections
  const Store* waits_in_ = nullptr;        // the store of the last wait, and
  Lack lack_ = Lack::memory;               // the reason for it

  std::uint64_t pages_posted_ = 0;
  std::uint64_t resent_ = 0;
  std::uint64_t resent_bytes_ = 0;
};

}  // namespace netio::detail
