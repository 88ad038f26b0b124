// What publisher and subscriber tell each other about a subscription: which tags it has, what
// happens when the subscriber is slow, and from which message on it holds.
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

  // True if both have the same tags.
  bool operator==(const TagRange&) const = default;
};
// All tags.
inline constexpr TagRange every_tag{0, std::numeric_limits<std::uint64_t>::max()};

// What the publisher does when a subscriber takes less than is published. When its wire takes no
// more, messages wait for the subscriber in a queue of its own, and it is behind. The policy says
// what happens when that queue is full.
enum class Policy : std::uint8_t {
  block,       // the publisher's send() answers again until there is room: nothing is lost
  drop_new,    // a new message that does not fit the queue is dropped
  drop_old,    // the messages that have waited longest are dropped to make room for a new one
  sample,      // only the latest message of each tag waits
  disconnect,  // the connection is ended, both sides are told why; the subscriber may come back
};
// Its name, as it is written here.
[[nodiscard]] NETIO_API std::string_view to_string(Policy policy) noexcept;

// What a subscriber asks for. The publisher may grant less (PublishOptions): see Subscribed.
struct SubscribeOptions {
  Policy policy = Policy::drop_new;  // what happens when it is behind
  // The size of the queue: bytes of messages that may wait above the wire. They wait in pages, so
  // allow several pages of the publisher (64 KiB unless it chose otherwise); otherwise even
  // drop_old drops new messages. For sample allow one message of each tag; otherwise messages with
  // new tags are dropped, and old values stay.
  std::size_t behind_bytes_max = std::size_t{4} << 20U;
  // Policy::disconnect only: how long the subscriber may be behind at a time, in whole
  // milliseconds. 0: only the size of the queue decides.
  std::chrono::milliseconds behind_for_max{0};
};

// What a publisher grants at most. The constructor refuses values that make no sense (Error): sizes
// must be up to 1 TiB, ranges from 1 to 2^32.
struct PublishOptions {
  // Whether a subscriber may hold the publisher up. If not, a subscriber that asks for `block` gets
  // `drop_new`.
  bool block_allowed = true;
  // How long a subscriber with `block` may hold the publisher up at a time. If it has not taken an
  // eighth of what waits for it by then, its policy becomes `drop_new` until it has taken what
  // waited. on_policy_changed tells the publisher of both changes, on_subscribed the subscriber.
  // All subscribers of one host may hold the publisher up for four times as long together, and
  // after that for a sixteenth of the time. 0: for ever.
  std::chrono::nanoseconds block_for_max = std::chrono::seconds(10);
  // The largest queue of a subscriber, in bytes. One that asks for more gets this.
  std::size_t behind_bytes_max = std::size_t{64} << 20U;
  // Bytes that the queues of all subscribers may copy together, as `sample` does. What lies in
  // pages and large buffers is not counted here; the context bounds it. Each queue may copy as much
  // as is left for the others. A queue that has copied more drops new messages, or blocks.
  std::size_t behind_bytes_all_max = std::size_t{256} << 20U;
  // The number of ranges in the set of one subscriber (a single tag is a range); each takes 16
  // bytes. A larger set is refused, and the one before it stays.
  std::size_t ranges_max = std::size_t{1} << 20U;
  // The number of ranges in the sets of all subscribers together; each takes up to 64 bytes. The
  // subscribers of one host may have as many as are left for the others. A set beyond that is
  // refused, unless it has at most 64 ranges, or no more than the set before it.
  std::size_t ranges_all_max = std::size_t{1} << 22U;
  // How many subscribers with Policy::block must be there. While there are fewer, send() answers
  // `again`; otherwise a message that nobody wants is `ok` and lost. A subscriber counts from its
  // first accepted set of tags, even an empty one, until its connection ends or it changes to
  // another policy; with SocketOptions::resume_bytes_max also while it is away. 0: never waits.
  // Needs block_allowed.
  std::size_t subscribers_min = 0;
  // The same for subscribers of whatever policy: how many must be there. Those that only look on
  // count, too.
  std::size_t subscribers_any_min = 0;
};

// The publisher's answer to a set of tags.
struct Subscribed {
  // Counts the changes of the set, from 1, and the times that it was told again after a connection
  // broke.
  std::uint64_t revision = 0;
  bool refused = false;  // the set before it stays; `detail` says why
  // The number of the first message that the new set decides about. A publisher numbers the
  // messages of each subscription from 0, dropped ones included.
  std::uint64_t from = 0;
  Policy policy = Policy::drop_new;  // the policy that was granted
  std::size_t behind_bytes_max = 0;  // the size of the queue that was granted, in bytes
  // The publisher has kept the subscription of an earlier connection
  // (SocketOptions::resume_bytes_max): what it published meanwhile comes, or is told as a gap. If
  // false, nothing tells what it published before this connection.
  bool goes_on = false;
  std::string detail;  // why it was refused, for a person
};

}  // namespace netio
