// How sets of tags change, and the groups with them. The cost of a change is charged to the host
// that asks for it, so that a flood of changes does not make other hosts wait.
#include "pattern/publish/subscribers.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/option_bounds.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

// What is walked over costs so much less than what is named.
constexpr double walk_part = 64;
// A frame, however few ranges it names.
constexpr double frame_cost = 8;

// Sets of up to this size are never refused for lack of room; otherwise the first subscribers could
// lock out all later ones.
constexpr std::size_t ranges_always = 64;

// A change may name so many times the ranges that a set may have: those that leave, those that
// come.
constexpr std::uint64_t change_sets_max = 4;

// Subscribers that are away: each has a queue and a place in a group.
constexpr std::size_t away_max = 8192;

// Answers that wait for a subscriber to read them: in any case; and so many at most, while the
// memory for all queues has room for them.
constexpr std::size_t answers_always = 16;
constexpr std::size_t answers_max = 1024;

}  // namespace

Subscribers::Subscribers(SocketCore& socket, const PublishOptions& options)
    : allowances(options.block_for_max.count(), options.ranges_all_max * wire_range_bytes,
                 socket.context().loop.now().count()),
      groups(socket.options().message_bytes_max,
             options.subscribers_min != 0 || options.subscribers_any_min != 0),
      socket_(socket),
      options_(checked(options)),
      behind_budget_{0, options.behind_bytes_all_max} {}

Subscriber* Subscribers::find(const Peer& peer) noexcept {
  const auto found = subscribers_.find(&peer);
  return found != subscribers_.end() ? &found->second : nullptr;
}

const Subscriber* Subscribers::find(const Peer& peer) const noexcept {
  const auto found = subscribers_.find(&peer);
  return found != subscribers_.end() ? &found->second : nullptr;
}

Subscriber& Subscribers::join(Peer& peer) {
  std::shared_ptr<Account> account =
      allowances.account_of(peer.info(true).address, socket_.context().loop.now().count());
  Subscriber& subscriber =
      subscribers_.try_emplace(&peer, peer, peer.outgoing, std::move(account)).first->second;
  subscriber.feed.backlog.set_budget(&behind_budget_);
  return subscriber;
}

void Subscribers::go_away(Subscriber& subscriber) noexcept {
  subscriber.feed.away = true;
  subscriber.whole_due = true;
  ++away_;
  ++subscriber.account->away;
  // What it began on the connection that broke is void.
  subscriber.changing = false;
  subscriber.next.clear();
  count_ranges(subscriber, subscriber.set.size());
}

void Subscribers::stay(Subscriber& subscriber) noexcept {
  if (!std::exchange(subscriber.feed.away, false)) return;
  --away_;
  --subscriber.account->away;
}

void Subscribers::come_back(Subscriber& subscriber) {
  stay(subscriber);
  const Link& link = *subscriber.peer->link();
  const Group* const group = subscriber.group;
  const bool alike = group == nullptr || group->kind() == kind_of(*subscriber.peer);
  if (alike && subscriber.feed.fits(link)) return;
  groups.leave(subscriber);
  subscriber.feed.refit(link);
  try {
    groups.enter(subscriber, kind_of(*subscriber.peer));
  } catch (const std::bad_alloc&) {
    groups.begin_again();
    throw;
  }
}

// The subscribers of a host may be as many as it leaves for all others.
bool Subscribers::may_go_away(const Subscriber& subscriber) const noexcept {
  const std::size_t of_others = away_ - subscriber.account->away;
  return subscriber.account->away < (away_max - std::min(of_others, away_max)) / 2;
}

void Subscribers::give_up_what_waits_for_absent() noexcept {
  if (away_ == 0) return;
  for (auto& [peer, subscriber] : subscribers_) {
    Feed& feed = subscriber.feed;
    if (feed.away && feed.backlog.messages() != 0 && feed.backlog.policy() != Policy::block) {
      feed.begin_backlog_anew();
    }
  }
}

void Subscribers::move(const Peer& from, Peer& to) noexcept {
  auto node = subscribers_.extract(&from);
  if (node.empty()) return;
  node.key() = &to;
  node.mapped().peer = &to;
  node.mapped().feed.move_to(to.outgoing);
  subscribers_.insert(std::move(node));
}

void Subscribers::leave(Peer& peer) noexcept {
  Subscriber* const subscriber = find(peer);
  if (subscriber == nullptr) return;
  count(*subscriber, false, false);
  groups.leave(*subscriber);
  charge_walk(*subscriber, 0);
}

void Subscribers::forget(Peer& peer) noexcept {
  const auto found = subscribers_.find(&peer);
  if (found == subscribers_.end()) return;
  leave(peer);
  stay(found->second);
  count_ranges(found->second, 0);
  found->second.feed.backlog.set_budget(nullptr);
  const TagSet gone = std::move(found->second.set);
  subscribers_.erase(found);
  if (follower && !gone.empty()) follower({}, gone.ranges());
  if (on_unsubscribe && !gone.empty() && !socket_.abandoned()) {
    on_unsubscribe(peer.info(true), gone.ranges());
  }
}

const char* Subscribers::take(Subscriber& subscriber, const SubscribeFrame& frame) {
  Change change;
  const char* defect = nullptr;
  try {
    defect = this->change(subscriber, frame, change);
  } catch (const std::bad_alloc&) {
    groups.begin_again();
    throw;
  }
  if (defect == nullptr) tell(*subscriber.peer, change);
  return defect;
}

const char* Subscribers::change(Subscriber& subscriber, const SubscribeFrame& frame,
                                Change& change) {
  // A change that begins with the whole set makes one that is not complete void.
  const bool whole = (frame.flags & subscribe_flag::whole) != 0;
  const bool first = !subscriber.changing || (whole && frame.revision > subscriber.revision);
  const bool in_order =
      first ? frame.revision > subscriber.revision : frame.revision == subscriber.revision;
  if (!in_order) return "changes its subscription out of order";
  if ((subscriber.revision == 0 || subscriber.whole_due) && !whole)
    return "changes a subscription that it has not begun";
  const Backlog& backlog = subscriber.feed.backlog;
  if (backlog.controls() >= (backlog.has_its_share() ? answers_always : answers_max)) {
    return "changes its subscription and does not read the answers";
  }
  subscriber.whole_due = false;
  if (first) begin_change(subscriber, frame, whole);
  subscriber.ranges_told += frame.ranges.count();
  if (subscriber.ranges_told / change_sets_max > options_.ranges_max) {
    return "makes a change of its subscription that has no end";
  }
  std::vector<TagRange> ranges(frame.ranges.count());
  if (const char* const defect = frame.ranges.copy(ranges); defect != nullptr) return defect;
  allowances.charge_change(*subscriber.account, frame_cost + static_cast<double>(ranges.size()));
  if (!subscriber.refused) edit(subscriber, frame.flags, ranges);
  if ((frame.flags & subscribe_flag::last) != 0) change = complete(subscriber, frame);
  return nullptr;
}

void Subscribers::begin_change(Subscriber& subscriber, const SubscribeFrame& frame, bool whole) {
  subscriber.changing = true;
  subscriber.ranges_told = 0;
  subscriber.revision = frame.revision;
  // What builds on a set that was refused makes no sense here.
  subscriber.refused = subscriber.refused && !whole;
  if (whole) return;
  subscriber.next = subscriber.set;
  charge_walk(subscriber, static_cast<double>(subscriber.set.size()));
}

void Subscribers::edit(Subscriber& subscriber, std::uint16_t flags,
                       std::span<const TagRange> ranges) {
  TagSet& next = subscriber.next;
  if ((flags & subscribe_flag::whole) != 0) next.clear();
  const bool remove = (flags & subscribe_flag::remove) != 0;
  const bool behind_all =
      !remove && (next.empty() || ranges.empty() || next.ranges().back().first <= ranges[0].first);
  if (!behind_all) charge_walk(subscriber, static_cast<double>(next.size()));
  if (remove) {
    next.remove(ranges);
  } else {
    next.add(ranges);
  }
  // A set that does not grow takes nothing from others: it is never refused.
  const std::size_t most =
      std::min(options_.ranges_max,
               std::max({ranges_left_for(subscriber), ranges_always, subscriber.set.size()}));
  subscriber.refused = next.size() > most;
  if (subscriber.refused) subscriber.ranges_allowed = most;
  count_ranges(subscriber, std::max(subscriber.set.size(), next.size()));
}

// The subscribers of its host may have as many as they leave for all others.
std::size_t Subscribers::ranges_left_for(const Subscriber& subscriber) const noexcept {
  const std::size_t host = subscriber.account->ranges;
  const std::size_t of_others = ranges_ - host;
  const std::size_t of_host = host - subscriber.ranges_counted;
  const std::size_t most =
      (options_.ranges_all_max - std::min(of_others, options_.ranges_all_max)) / 2;
  return most - std::min(of_host, most);
}

void Subscribers::count_ranges(Subscriber& subscriber, std::size_t ranges) noexcept {
  const std::size_t before = std::exchange(subscriber.ranges_counted, ranges);
  subscriber.account->ranges += ranges - before;
  ranges_ += ranges - before;
}

// That many ranges, and what the groups have walked over since the last time.
void Subscribers::charge_walk(Subscriber& subscriber, double ranges) noexcept {
  allowances.charge_change(*subscriber.account, (ranges + groups.take_cost()) / walk_part);
}

Subscribers::Change Subscribers::complete(Subscriber& subscriber, const SubscribeFrame& frame) {
  subscriber.changing = false;
  Change change;
  if (subscriber.refused) {
    subscriber.next = TagSet();
  } else {
    // Both are copied, and compared with each other.
    const std::size_t ranges = 4 * (subscriber.set.size() + subscriber.next.size());
    change.added = difference(subscriber.next, subscriber.set);
    change.removed = difference(subscriber.set, subscriber.next);
    groups.change(subscriber, kind_of(*subscriber.peer), change.added, change.removed);
    charge_walk(subscriber, static_cast<double>(ranges));
    // What was published so far is shared by now: it waits by the policy before.
    const Policy asked = static_cast<Policy>(frame.policy);
    subscriber.feed.backlog.set_policy(
        grant(subscriber, asked),
        std::min<std::size_t>(frame.behind_bytes_max, options_.behind_bytes_max));
    subscriber.peer->look_whether_unread();
    count(subscriber, true, subscriber.feed.backlog.policy() == Policy::block);
    disconnects_ = disconnects_ || asked == Policy::disconnect;
    subscriber.behind_for_max_ns = std::int64_t{frame.behind_for_ms} * 1'000'000;
  }
  count_ranges(subscriber, subscriber.set.size());
  subscriber.answered = frame.revision;
  subscriber.behind_for_ms = frame.behind_for_ms;
  answer(subscriber);
  return change;
}

// A subscriber that asks for `block` while its host has no time left has to wait for it.
Policy Subscribers::grant(Subscriber& subscriber, Policy asked) {
  if (asked != Policy::block || !options_.block_allowed) {
    subscriber.demoted = false;
    return asked == Policy::block ? Policy::drop_new : asked;
  }
  const std::int64_t now_ns = socket_.context().loop.now().count();
  const bool bounded = options_.block_for_max.count() != 0;
  if (bounded && !allowances.may_block(*subscriber.account, now_ns)) subscriber.demoted = true;
  return subscriber.demoted ? Policy::drop_new : Policy::block;
}

void Subscribers::demote(Subscriber& subscriber, bool demoted) noexcept {
  Backlog& backlog = subscriber.feed.backlog;
  if (subscriber.group != nullptr) subscriber.group->close_page();
  subscriber.demoted = demoted;
  subscriber.blocking = false;
  backlog.set_policy(demoted ? Policy::drop_new : Policy::block, backlog.bytes_max());
  subscriber.peer->look_whether_unread();
  count(subscriber, true, !demoted);
  answer(subscriber);
}

// Last of all: the user may destroy the socket, and with it the subscriber; the socket itself then
// lives until the turn ends.
void Subscribers::tell(Peer& peer, const Change& change) {
  if (change.added.empty() && change.removed.empty()) return;
  if (follower) follower(change.added.ranges(), change.removed.ranges());
  const PeerInfo info = peer.info(true);
  if (on_unsubscribe && !change.removed.empty()) {
    on_unsubscribe(info, change.removed.ranges());
  }
  if (on_subscribe && !change.added.empty() && !socket_.abandoned()) {
    on_subscribe(info, change.added.ranges());
  }
}

void Subscribers::answer(Subscriber& subscriber) noexcept {
  Feed& feed = subscriber.feed;
  SubscribedFrame told;
  told.revision = subscriber.answered;
  told.from = subscriber.peer->outgoing.taken();
  told.refusal = subscriber.refused ? SetRefusal::too_many_ranges : SetRefusal::none;
  told.policy = static_cast<WirePolicy>(feed.backlog.policy());
  told.behind_for_ms = subscriber.behind_for_ms;
  told.behind_bytes_max = feed.backlog.bytes_max();
  told.ranges_max = subscriber.refused ? subscriber.ranges_allowed : options_.ranges_max;
  feed.answer(told);
}

GroupKind Subscribers::kind_of(const Peer& peer) const noexcept {
  Link& link = *peer.link();
  const LinkLimits& limits = link.limits();
  return {peer.their_mode(),
          link.fit(),
          limits.page_bytes_max - page_header_bytes,
          std::min<std::uint64_t>(limits.message_bytes_max, socket_.options().message_bytes_max),
          peer.outgoing.takes_segments(),
          peer.outgoing.resends(),
          peer.outgoing.resends() ? &link.receive_store() : nullptr};
}

void Subscribers::count(Subscriber& subscriber, bool there, bool blocks) noexcept {
  if (subscriber.there == there && subscriber.counted == blocks) return;
  if (std::exchange(subscriber.there, there) != there) there_ = there ? there_ + 1 : there_ - 1;
  if (std::exchange(subscriber.counted, blocks) != blocks) {
    blocking_ = blocks ? blocking_ + 1 : blocking_ - 1;
  }
  groups.hold(lacks());
}

double Subscribers::fill() const noexcept {
  double most = 0;
  if (blocking_ == 0) return most;
  for (const auto& [peer, subscriber] : subscribers_) {
    if (subscriber.group != nullptr) most = std::max(most, subscriber.feed.fill());
  }
  return most;
}

}  // namespace netio::detail
