// A peer of a Publish socket: its set of tags, the change of it that is under way, and the group it
// is served with. Owner thread only.
#pragma once

#include <cstdint>

#include <netio/subscription.hpp>

#include "base/tag_set.hpp"

namespace netio::detail {

class Group;
class Peer;

struct Subscriber {
  explicit Subscriber(Peer& its_peer) noexcept : peer(its_peer) {}

  Peer& peer;
  TagSet set;
  Group* group = nullptr;  // null while the set is empty

  // A change that is not complete: what the set will be.
  TagSet next;
  std::uint64_t revision = 0;
  bool changing = false;
  std::uint64_t ranges_told = 0;  // in all its frames so far
  bool refused = false;  // the change, or the last one, is too large: until one with the whole set
  // What changes have cost, less what is allowed over time: see Subscribers.
  std::int64_t cost_ns = 0;
  std::int64_t cost_at_ns = 0;

  bool counted = false;   // among those that block, for PublishOptions::subscribers_min
  bool blocking = false;  // the user was refused because of it
  std::int64_t behind_for_max_ns = 0;
  std::int64_t dismissed_since_ns = 0;  // 0: it was not; it is served no more

  // Of a BehindWatch.
  bool watched = false;
  bool told_behind = false;
  std::int64_t told_at_ns = 0;
};

}  // namespace netio::detail
