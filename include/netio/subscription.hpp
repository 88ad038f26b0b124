// What publisher and subscriber say to each other about a subscription: which tags, what happens
// when the subscriber is slow, and where it took effect.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include <netio/books.hpp>
#include <netio/export.hpp>

namespace netio {

// Tags from `first` to `last`, both included.
struct TagRange {
  std::uint64_t first = 0;  // the lowest
  std::uint64_t last = 0;   // the highest; not below `first`

  // The same tags.
  bool operator==(const TagRange&) const = default;
};
// All there are.
inline constexpr TagRange every_tag{0, std::numeric_limits<std::uint64_t>::max()};

// What the publisher does for a subscriber that takes less than is published. It is behind once its
// wire takes no more; messages then wait in a queue of its own.
enum class Policy : std::uint8_t {
  block,       // the publisher's send() answers again until there is room: nothing is lost
  drop_new,    // what does not fit the queue is dropped
  drop_old,    // what has waited longest is dropped for what comes
  sample,      // of each tag only the latest message is kept
  disconnect,  // the connection is ended, both sides are told why; the subscriber may come back
};
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(Policy policy) noexcept;

// What a subscriber asks for. The publisher may grant less (PublishOptions): see Subscribed.
struct SubscribeOptions {
  Policy policy = Policy::drop_new;  // what happens when it is behind
  // The queue: bytes of messages that may wait above what the wire has taken. Messages wait in
  // pages: allow several of the publisher's (64 KiB unless it chose otherwise), or even drop_old
  // drops what comes; and for sample one message of each tag, or new tags are dropped and old
  // values stay.
  std::size_t behind_bytes_max = std::size_t{4} << 20U;
  // Policy::disconnect only: how long it may be behind at a time. Whole milliseconds; 0: the amount
  // alone decides.
  std::chrono::milliseconds behind_for_max{0};
};

// What a publisher grants at most. What makes no sense is refused by the socket's constructor
// (Error): sizes are up to 1 TiB, ranges 1 to 2^32.
struct PublishOptions {
  // May a subscriber hold the publisher up? If not, who asks for `block` gets `drop_new`.
  bool block_allowed = true;
  // A subscriber with `block` may hold the publisher up for this long, and all subscribers of a
  // host for four times as long, then for a sixteenth of the time. If it has not taken an eighth of
  // what waits by then, its policy becomes `drop_new` until it has taken what waited:
  // on_policy_changed tells of both, the subscriber is told by on_subscribed. 0: for ever.
  std::chrono::nanoseconds block_for_max = std::chrono::seconds(10);
  // The largest queue; who asks for more gets this.
  std::size_t behind_bytes_max = std::size_t{64} << 20U;
  // Memory that the queues of all subscribers may take together for copies, as `sample` makes
  // them; what lies in pages and large buffers is bounded by the context. Each queue may take as
  // much as is left for the others; one that has more drops what comes, or blocks.
  std::size_t behind_bytes_all_max = std::size_t{256} << 20U;
  // Ranges in the set of one subscriber (a single tag is a range); 16 bytes each. A larger set is
  // refused, and the one before it stays.
  std::size_t ranges_max = std::size_t{1} << 20U;
  // Ranges in the sets of all subscribers together; each takes up to 64 bytes. The subscribers of
  // one host may have as many as are left for the others. A set beyond that is refused, unless it
  // has at most 64 ranges, or no more than the set before it.
  std::size_t ranges_all_max = std::size_t{1} << 22U;
  // While fewer subscribers with Policy::block are there, send() answers `again`; otherwise a
  // message that nobody wants is `ok` and lost. A subscriber counts from its first accepted set of
  // tags, even an empty one, until its connection ends or it changes to another policy. 0: never
  // waits. Needs block_allowed.
  std::size_t subscribers_min = 0;
};

// The publisher's answer to a set of tags.
struct Subscribed {
  std::uint64_t revision = 0;  // counts the changes of the set, from 1
  bool refused = false;        // the set before it stays in force; `detail` says why
  // The number of the first message that the new set decides about. A publisher numbers the
  // messages of each subscription from 0, dropped ones included.
  std::uint64_t from = 0;
  Policy policy = Policy::drop_new;  // granted
  std::size_t behind_bytes_max = 0;  // granted: the queue
  std::string detail;                // why it was refused, for a person
};

// Messages of a subscription that will never come: numbers `first` to `first + count - 1`.
struct Gap {
  std::uint64_t first = 0;  // numbered as Subscribed::from is
  std::uint64_t count = 0;  // how many
  // Why all of them were dropped. Messages dropped for several reasons are as many gaps.
  DropReason reason = DropReason::dropped_new;
};

}  // namespace netio
