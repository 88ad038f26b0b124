// The contract every wire fulfils: a Link moves pages, in order, to and from one peer. Owner thread
// only; nothing blocks; events come from the loop, never from inside a call.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <netio/status.hpp>

#include "memory/block.hpp"
#include "memory/pool.hpp"
#include "transport/fit.hpp"
#include "wire/frame.hpp"
#include "wire/hello.hpp"
#include "wire/page.hpp"

namespace netio::detail {

// Bytes to send, and the count that keeps them alive and unchanged until the link drops it.
struct PostBody {
  Lease lease;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// Around the front of a post there is room, in which a link may write: before it, the page header
// and the prefix; behind it, where the peer finds a body that a fabric lends.
inline constexpr std::size_t front_room_before = 64;
inline constexpr std::size_t front_room_behind = 16;
static_assert(front_room_before >= page_header_bytes + frame_prefix_bytes_max);

// One page to send. The link writes the page header itself, per link, in front of prefix, front and
// body; bodies may be shared with other links.
struct Post {
  std::uint64_t sequence = 0;
  std::uint32_t messages = 0;
  std::uint16_t flags = 0;
  std::uint16_t prefix_bytes = 0;  // frame word (tag, total) that belongs in front of the body
  std::array<std::byte, frame_prefix_bytes_max> prefix{};
  // What stands in front of the last segment of a message, in a page of the link's pool, if that
  // segment is the body where it lies; else null. A multiple of 8, with room around it. A link that
  // keeps it beyond post() adds a count.
  const PostBody* front = nullptr;
  PostBody body{};  // padded to 8 by the link; may be empty

  [[nodiscard]] std::size_t front_bytes() const noexcept {
    return front != nullptr ? front->bytes : 0;
  }
  void prepend(std::uint64_t value) noexcept {
    store_u64(prefix.data() + prefix_bytes, value);
    prefix_bytes = static_cast<std::uint16_t>(prefix_bytes + sizeof value);
  }
  // The word of a frame with so much payload, and what belongs to its message, unless it goes on
  // with one.
  void prepend_frame(std::size_t size, std::uint32_t frame_flags, Label label) noexcept {
    if ((frame_flags & frame_flag::continued) != 0) label = {};
    prepend(frame_word(static_cast<std::uint32_t>(size), frame_flags | label.flags));
    if (label.numbered()) prepend(label.number);
  }
};

// The header of the page that a post becomes. Wires that tell more with it set that afterwards.
[[nodiscard]] inline PageHeader page_header_of(const Post& post,
                                               std::uint64_t acknowledged) noexcept {
  PageHeader header;
  header.bytes = static_cast<std::uint32_t>(post.prefix_bytes + post.front_bytes() +
                                            wire_padded(post.body.bytes));
  header.messages = post.messages;
  header.flags = post.flags;
  header.sequence = post.sequence;
  header.acknowledged = acknowledged;
  return header;
}

// Fixed once the link is up: what this link and the peer's hello allow.
struct LinkLimits {
  std::size_t page_bytes_max = 0;       // header included, of a page gathered from messages
  std::size_t queue_bytes_max = 0;      // posted and not yet taken by the wire, then again
  std::uint64_t message_bytes_max = 0;  // what the peer takes
};

// Memory that the posts of a link hold.
struct Holding {
  std::uint64_t left = 0;   // bytes that the peer has to take or give back until all of it is free
  std::uint64_t moved = 0;  // a counter that grows by the bytes that the peer takes or gives back
};

class LinkEvents {
 public:
  // The hello this side sends. A connecting link asks before it sends anything, with null; an
  // accepting one after it read the peer's. A refusal in the answer is sent, then the link is down.
  virtual Hello greet(const Hello* theirs) noexcept = 0;
  // A connecting link, when the answer came: nothing to accept, else why not.
  virtual std::optional<Down> judge(const Hello& theirs) noexcept = 0;
  // Greeted both ways: pages may be posted.
  virtual void on_up(const Hello& theirs) noexcept = 0;
  // A page came. `body` lies in `block`; add a count to have it after the return.
  virtual void on_page(const PageHeader& header, Block& block,
                       std::span<const std::byte> body) noexcept = 0;
  // The link has room again. Comes once after a post() that answered again.
  virtual void on_writable() noexcept = 0;
  // Some posts are done, and their memory is free. Not every wire tells this.
  virtual void on_sent() noexcept = 0;
  // The wire was busy, and has nothing left to send.
  virtual void on_idle() noexcept = 0;
  // The last event. The owner destroys the link afterwards, from the loop and not from in here.
  virtual void on_down(const Down& down) noexcept = 0;

 protected:
  ~LinkEvents() = default;
};

class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  // Must not be destroyed inside its own events. cut() may be called anywhere.
  virtual ~Link() = default;

  // Connects if it has to, and greets. Every outcome is told to `events`. Once, before all else.
  virtual void start(LinkEvents& events) noexcept = 0;
  // From now on its events are told to `events`. After start(), and not from inside an event.
  void report_to(LinkEvents& events) noexcept { events_ = &events; }

  // For an accepted link that is not up yet: reads what waits of the hello of the peer, with the
  // events that follow. Returns true if a part of the hello has come, now or earlier.
  virtual bool hear_greeting() noexcept = 0;

  // A network may break the connection though both processes live and go on, and it is made again.
  // Where there is no network, nothing is kept for that.
  [[nodiscard]] virtual bool comes_back() const noexcept { return true; }

  // Which memory this wire can read. Once the link is up.
  [[nodiscard]] const Fit& fit() const noexcept { return fit_; }
  // Of it: the memory that pages are gathered in.
  [[nodiscard]] Pool& pool() const noexcept { return *fit_.pages; }
  // The memory in which pages arrive: where to wait for messages that the user kept to come home.
  [[nodiscard]] virtual Store& receive_store() noexcept = 0;
  // Brings home what the user released outside of a turn, where pages arrive in memory of the
  // link's own. Each turn does so too.
  virtual void collect_received() noexcept {}

  // Takes the post (ok, its lease moved from), or nothing (again: on_writable follows;
  // not_connected; closed). The wire may wait for flush(), but not for ever: the link flushes by
  // itself when much is posted and at the end of the turn.
  // Without a lease the body is only borrowed until return (up to Fit::borrowed_bytes_max; a
  // control frame has a shorter prefix, and may be as large as the page allows).
  virtual Status post(Post& post) noexcept = 0;
  // Hands all posts to the wire now.
  virtual void flush() noexcept = 0;

  // Where the acknowledgement of each page header is read when the page is posted: the sequence
  // that is expected next from the peer. Outlives the link.
  void acknowledge_from(const std::uint64_t* position) noexcept { position_ = position; }
  // The last page posted said less.
  [[nodiscard]] bool acknowledgement_due() const noexcept {
    return acknowledged_ != to_acknowledge();
  }

  [[nodiscard]] virtual const LinkLimits& limits() const noexcept = 0;
  // No post waits for the wire, or for the word of the wire that it is done.
  [[nodiscard]] virtual bool idle() const noexcept = 0;
  // A post waits because the wire, or the peer, takes no more for now.
  [[nodiscard]] virtual bool backed_up() const noexcept = 0;
  // A page without a body would wait behind others that the peer has not taken, and tell it
  // nothing.
  [[nodiscard]] virtual bool untaken() const noexcept { return backed_up(); }
  // How much of limits().queue_bytes_max is used. post() answers again when all of it is.
  [[nodiscard]] virtual std::size_t queued_bytes() const noexcept = 0;
  // How much of this memory the posts hold. It does not depend on acknowledgements, which a peer
  // can forge. Walks all posts.
  [[nodiscard]] virtual Holding holding(const StorePart& of) const noexcept = 0;

  // While paused no message comes and nothing is read, except what is needed to see the end and,
  // on wires that have them, grants and acknowledgements.
  // Inside on_page it takes effect with the next page.
  virtual void pause(bool paused) noexcept = 0;
  // A message in parts is under way, or waits for its buffer (or not any more). A large page would
  // be a breach now. The memory that its parts are read into is not given up to others, so that it
  // can be finished.
  virtual void assembling(bool under_way) noexcept = 0;
  // Ends in order: what was posted is written, the peer sees the end, what still comes is
  // discarded, then on_down(closed_by_peer). The owner bounds the time by destroying the link.
  virtual void finish() noexcept = 0;
  // Ends at once: the connection is closed, every lease it posted is dropped, no event follows.
  // Also inside an event.
  virtual void cut() noexcept = 0;

  // Grows whenever bytes arrive.
  [[nodiscard]] virtual std::uint64_t bytes_received() const noexcept = 0;
  // Writes into a ring of the peer's, so far (Counters::ring_writes).
  [[nodiscard]] virtual std::uint64_t ring_writes() const noexcept { return 0; }
  // For the owner's stall check: whether a page is begun and not complete.
  [[nodiscard]] virtual bool mid_page() const noexcept = 0;
  // The size of the large buffers that were taken for pages which are not complete.
  [[nodiscard]] virtual std::uint64_t large_page_begun() const noexcept { return 0; }
  // A counter that grows by the bytes of pages that were begun. On a fabric it counts what was
  // fetched, because a peer can send other pages meanwhile.
  [[nodiscard]] virtual std::uint64_t page_progress() const noexcept { return bytes_received(); }
  // The number of body bytes of the page that was begun which have arrived.
  [[nodiscard]] virtual std::uint64_t body_begun() const noexcept { return 0; }
  // Neither paused nor out of memory: if nothing comes, the peer is the cause.
  [[nodiscard]] virtual bool reading() const noexcept = 0;
  // For how long the peer's host has answered nothing, though the system has asked it, by data or
  // probes, more than once; 0 where it answers, was not asked, or the wire finds out by itself.
  [[nodiscard]] virtual std::chrono::milliseconds unanswered_for() const noexcept {
    return std::chrono::milliseconds(0);
  }

  [[nodiscard]] virtual std::string peer_address() const = 0;
  // The variant of its wire that the link uses, in a word, if it has any; and why it does not use
  // the one that was asked for.
  [[nodiscard]] virtual std::string variant() const { return {}; }
  [[nodiscard]] virtual std::string variant_reason() const { return {}; }
  // The host of the peer, as a number, where the wire knows it.
  [[nodiscard]] virtual std::string peer_host() const { return {}; }

 protected:
  // The acknowledgement for the next page header; and the note that a page was posted with it.
  [[nodiscard]] std::uint64_t to_acknowledge() const noexcept {
    return position_ != nullptr ? *position_ : acknowledged_;
  }
  // How the end of a peer that said nothing is told; `greeted`: it had said hello.
  [[nodiscard]] static Down gone_silently(const std::string& peer, bool greeted) {
    return {DownReason::lost,
            peer + (greeted ? " closed the connection without a good-bye: it was killed or cut, or "
                              "gave this side up"
                            : " closed the connection without a hello: is it netio, and do both "
                              "sides use the same scheme (tcp://, ofi+tcp://)?")};
  }
  Fit fit_;                       // set before on_up
  LinkEvents* events_ = nullptr;  // since start()

  void acknowledged_with(std::uint64_t sequence) noexcept { acknowledged_ = sequence; }
  std::uint64_t tell_acknowledged() noexcept { return acknowledged_ = to_acknowledge(); }

 private:
  const std::uint64_t* position_ = nullptr;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace netio::detail
