// A peer of a Publish socket: its set of tags, the change of it that is under way, and the group it
// is served with. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <netio/subscription.hpp>

#include "base/tag_set.hpp"
#include "pattern/publish/allowances.hpp"
#include "pattern/publish/feed.hpp"

namespace netio::detail {

class Group;
class Peer;

struct Subscriber {
  Subscriber(Peer& its_peer, OutgoingStream& stream, std::shared_ptr<Account> its_account)
      : peer(&its_peer), feed(stream), account(std::move(its_account)) {}

  Peer* peer;  // never null; another one after it has come back
  Feed feed;
  std::shared_ptr<Account> account;  // of its host; never null
  TagSet set;
  Group* group = nullptr;  // null while the set is empty

  // A change that is not complete: what the set will be.
  TagSet next;
  std::uint64_t revision = 0;
  bool changing = false;
  bool whole_due = false;         // it came back, and has not told its set since
  std::uint64_t ranges_told = 0;  // in all its frames so far
  bool refused = false;  // the change, or the last one, is too large: until one with the whole set
  std::uint64_t ranges_allowed = 0;  // told when it is refused
  std::size_t ranges_counted = 0;    // in the account, and among those of all
  std::uint64_t answered = 0;        // the revision of the last answer; 0: none
  std::uint32_t behind_for_ms = 0;   // told in that answer
  std::vector<std::byte> aside;      // of a ChangeLine: sizes and payloads
  std::size_t aside_done = 0;        // of these

  bool there = false;    // it counts for PublishOptions::subscribers_any_min
  bool counted = false;  // it has Policy::block: it counts for PublishOptions::subscribers_min
  bool demoted = false;  // it asked for Policy::block, and has Policy::drop_new for now
  // The user was refused because of it, and since then its queue was never empty. What it changes
  // of its subscription is no reason to forget that.
  bool blocking = false;

  std::int64_t behind_for_max_ns = 0;
  std::int64_t dismissed_since_ns = 0;  // 0: it was not; it is served no more

  // Of HoldUps.
  std::int64_t held_from_ns = 0;   // it has held the publisher up since then for nothing; 0: no
  std::uint64_t held_bytes = 0;    // what it had to take when held_progress was measured
  std::int64_t held_progress = 0;  // Feed::progress()
  bool held_too_long = false;
  bool told_demoted = false;  // the user was

  // Of a BehindWatch.
  bool watched = false;
  bool told_behind = false;
  std::int64_t told_at_ns = 0;
};

}  // namespace netio::detail
