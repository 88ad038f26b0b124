// How sets of tags change, and with them the groups. What a change costs is charged to who asks
// for it: others are not to wait for a flood of them.
#include "pattern/publish/subscribers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

// A subscriber may take up to a tenth of the publisher's time for its changes, and this much at
// once: a million ranges take 0.1 to 0.3 s.
constexpr std::int64_t cost_ns_max = 1'000'000'000;
constexpr std::int64_t cost_part = 10;

// A change may name so many times the ranges that a set may have: those that leave, those that
// come.
constexpr std::uint64_t change_sets_max = 4;

// Answers that wait for a subscriber to read them.
constexpr std::size_t answers_max = 1024;

}  // namespace

Subscribers::Subscribers(SocketCore& socket, const PublishOptions& options)
    : socket_(socket), options_(options), all_(too_few() ? &missed_ : nullptr) {
  if (options.subscribers_min != 0 && !options.block_allowed) {
    throw Error("make a socket",
                "subscribers_min is " + std::to_string(options.subscribers_min) +
                    ", and counts subscribers that block, but block_allowed is false",
                "allow them to, or leave subscribers_min at 0");
  }
}

Subscriber* Subscribers::find(const Peer& peer) noexcept {
  const auto found = subscribers_.find(&peer);
  return found != subscribers_.end() ? &found->second : nullptr;
}

const Subscriber* Subscribers::find(const Peer& peer) const noexcept {
  const auto found = subscribers_.find(&peer);
  return found != subscribers_.end() ? &found->second : nullptr;
}

Subscriber& Subscribers::join(Peer& peer) {
  Subscriber& subscriber = subscribers_.try_emplace(&peer, peer).first->second;
  subscriber.cost_at_ns = monotonic_ns();
  return subscriber;
}

void Subscribers::leave(Peer& peer) noexcept {
  Subscriber* const subscriber = find(peer);
  if (subscriber == nullptr) return;
  count(*subscriber, false);
  leave_group(*subscriber);
}

void Subscribers::forget(Peer& peer) noexcept {
  const auto found = subscribers_.find(&peer);
  if (found == subscribers_.end()) return;
  leave(peer);
  const TagSet gone = std::move(found->second.set);
  subscribers_.erase(found);
  if (on_unsubscribe && !gone.empty() && !socket_.abandoned()) {
    call_user(on_unsubscribe, peer.info(true), gone.ranges());
  }
}

const char* Subscribers::take(Subscriber& subscriber, const SubscribeFrame& frame) {
  const std::int64_t begin_ns = thread_cpu_ns();
  Change change;
  const char* defect = nullptr;
  try {
    defect = this->change(subscriber, frame, change);
  } catch (const std::bad_alloc&) {
    begin_again();
    throw;
  }
  if (defect != nullptr) return defect;
  defect = charge(subscriber, thread_cpu_ns() - begin_ns);
  tell(subscriber.peer, change);
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
  if (subscriber.revision == 0 && !whole) return "changes a subscription that it has not begun";
  if (subscriber.peer.sender.backlog.controls() >= answers_max) {
    return "changes its subscription and does not read the answers";
  }
  if (first) {
    subscriber.changing = true;
    subscriber.ranges_told = 0;
    subscriber.revision = frame.revision;
    // What builds on a set that was refused makes no sense here.
    subscriber.refused = subscriber.refused && !whole;
    if (!whole) subscriber.next = subscriber.set;
  }
  subscriber.ranges_told += frame.ranges.count();
  if (subscriber.ranges_told / change_sets_max > options_.ranges_max) {
    return "makes a change of its subscription that has no end";
  }
  std::vector<TagRange> ranges(frame.ranges.count());
  if (const char* const defect = frame.ranges.copy(ranges); defect != nullptr) return defect;
  if (!subscriber.refused) {
    if (whole) subscriber.next.clear();
    if ((frame.flags & subscribe_flag::remove) != 0) {
      subscriber.next.remove(ranges);
    } else {
      subscriber.next.add(ranges);
    }
    subscriber.refused = subscriber.next.size() > options_.ranges_max;
  }
  if ((frame.flags & subscribe_flag::last) != 0) change = complete(subscriber, frame);
  return nullptr;
}

const char* Subscribers::charge(Subscriber& subscriber, std::int64_t cost_ns) noexcept {
  const std::int64_t now_ns = monotonic_ns();
  const std::int64_t allowed_ns = (now_ns - subscriber.cost_at_ns) / cost_part;
  subscriber.cost_ns = std::max<std::int64_t>(subscriber.cost_ns - allowed_ns, 0) + cost_ns;
  subscriber.cost_at_ns = now_ns;
  return subscriber.cost_ns > cost_ns_max ? "changes its subscription too often" : nullptr;
}

Subscribers::Change Subscribers::complete(Subscriber& subscriber, const SubscribeFrame& frame) {
  subscriber.changing = false;
  Change change;
  if (subscriber.refused) {
    subscriber.next.clear();
  } else {
    change.added = difference(subscriber.next, subscriber.set);
    change.removed = difference(subscriber.set, subscriber.next);
    apply(subscriber, change);
    // What was published so far is shared by now: it waits by the policy before.
    const Policy asked = static_cast<Policy>(frame.policy);
    const bool may = asked != Policy::block || options_.block_allowed;
    subscriber.peer.sender.backlog.set_policy(
        may ? asked : Policy::drop_new,
        std::min<std::size_t>(frame.behind_bytes_max, options_.behind_bytes_max));
    count(subscriber, subscriber.peer.sender.backlog.policy() == Policy::block);
    disconnects_ = disconnects_ || asked == Policy::disconnect;
    subscriber.behind_for_max_ns = std::int64_t{frame.behind_for_ms} * 1'000'000;
    sweep_audiences();
  }
  answer(subscriber, frame);
  return change;
}

// Last of all: the user may destroy the socket, and with it the subscriber; the socket itself then
// lives until the turn ends.
void Subscribers::tell(Peer& peer, const Change& change) {
  if (change.added.empty() && change.removed.empty()) return;
  const PeerInfo info = peer.info(true);
  if (on_unsubscribe && !change.removed.empty()) {
    call_user(on_unsubscribe, info, change.removed.ranges());
  }
  if (on_subscribe && !change.added.empty() && !socket_.abandoned()) {
    call_user(on_subscribe, info, change.added.ranges());
  }
}

void Subscribers::answer(Subscriber& subscriber, const SubscribeFrame& frame) {
  Sender& sender = subscriber.peer.sender;
  SubscribedFrame told;
  told.revision = frame.revision;
  told.from = sender.taken();
  told.refusal = subscriber.refused ? SetRefusal::too_many_ranges : SetRefusal::none;
  told.policy = static_cast<WirePolicy>(sender.backlog.policy());
  told.behind_for_ms = frame.behind_for_ms;
  told.behind_bytes_max = sender.backlog.bytes_max();
  told.ranges_max = options_.ranges_max;
  std::array<std::byte, subscribed_bytes> payload;
  encode(told, payload);
  sender.tell(ControlKind::subscribed, payload);
}

GroupKind Subscribers::kind_of(const Peer& peer) const noexcept {
  Link& link = *peer.link();
  const LinkLimits& limits = link.limits();
  return {peer.their_mode(),
          &link.pool(),
          link.loans(),
          limits.page_bytes_max - page_header_bytes,
          limits.inject_bytes_max,
          limits.message_bytes_max};
}

Group* Subscribers::find_group(const GroupKind& kind, const TagSet& tags) const noexcept {
  for (const auto& group : groups_) {
    if (group->kind() == kind && group->tags == tags) return group.get();
  }
  return nullptr;
}

// Messages so far are for the old set: what is open is closed before anything changes.
void Subscribers::apply(Subscriber& subscriber, const Change& change) {
  const GroupKind kind = kind_of(subscriber.peer);
  Group* const now = subscriber.group;
  if (now != nullptr) now->close_page();
  if (subscriber.next == subscriber.set) {
    subscriber.next.clear();
    return;
  }
  const bool alone = now != nullptr && now->members.size() == 1 && !subscriber.next.empty();
  if (alone && find_group(kind, subscriber.next) == nullptr) {
    remove_rows(*now, change.removed);
    add_rows(*now, change.added);
    now->tags = subscriber.next;
  } else {
    leave_group(subscriber);
  }
  subscriber.set = std::exchange(subscriber.next, TagSet());
  if (subscriber.group == nullptr && !subscriber.set.empty()) enter(subscriber, kind);
}

void Subscribers::enter(Subscriber& subscriber, const GroupKind& kind) {
  Group* group = find_group(kind, subscriber.set);
  if (group == nullptr) {
    groups_.push_back(
        std::make_unique<Group>(kind, subscriber.set, socket_.options().message_bytes_max));
    group = groups_.back().get();
    add_rows(*group, group->tags);
  }
  group->close_page();
  group->members.push_back(&subscriber);
  subscriber.group = group;
}

void Subscribers::leave_group(Subscriber& subscriber) noexcept {
  Group* const group = std::exchange(subscriber.group, nullptr);
  if (group == nullptr) return;
  group->close_page();
  std::erase(group->members, &subscriber);
  if (!group->members.empty()) return;
  guard_memory([&] { remove_rows(*group, group->tags); }, [this]() noexcept { begin_again(); });
  audiences_.forget(group);
  bodies_before_ += group->bodies_encoded();
  on_group_gone(*group);
  std::erase_if(groups_, [group](const auto& entry) { return entry.get() == group; });
}

// Neighbours mostly have the same audience: each is looked up once.
void Subscribers::add_rows(Group& group, const TagSet& tags) {
  if (all_ != nullptr) return;
  Audience* from = nullptr;
  Audience* to = audiences_.with(from, &group);
  tags_.for_each_in(tags, [&](TagRow& row) {
    if (row.audience != from) {
      from = row.audience;
      to = audiences_.with(from, &group);
    }
    row.audience = to;
  });
}

// Subscribers that change their sets make ever new audiences; those of no row any more are kept
// until they are many.
void Subscribers::sweep_audiences() {
  if (audiences_.size() < sweep_at_) return;
  std::unordered_set<const Audience*> wanted;
  tags_.for_each([&wanted](const TagRow& row) { wanted.insert(row.audience); });
  audiences_.keep(wanted);
  sweep_at_ = std::max(sweep_at_min, 2 * audiences_.size());
}

void Subscribers::remove_rows(Group& group, const TagSet& tags) {
  if (all_ != nullptr) return;
  Audience* from = nullptr;
  Audience* to = nullptr;
  tags_.for_each_in(tags, [&](TagRow& row) {
    if (row.audience != from) {
      from = row.audience;
      to = audiences_.without(from, &group);
    }
    row.audience = to;
  });
}

Audience* Subscribers::audience_of(std::uint64_t tag) {
  if (all_ != nullptr) return all_;
  Audience* audience = nullptr;
  for (const auto& group : groups_) {
    if (group->tags.contains(tag)) audience = audiences_.with(audience, group.get());
  }
  return audience;
}

std::uint64_t Subscribers::bodies_encoded() const noexcept {
  std::uint64_t bodies = bodies_before_;
  for (const auto& group : groups_) bodies += group->bodies_encoded();
  return bodies;
}

void Subscribers::end_with(Audience& audience) noexcept {
  options_.subscribers_min = 0;
  hold(audience);
}

void Subscribers::hold(Audience& audience) noexcept {
  for (const auto& group : groups_) group->close_page();
  answer_with(audience);
}

void Subscribers::answer_with(Audience& audience) noexcept {
  all_ = &audience;
  tags_.for_each([&audience](TagRow& row) { row.audience = &audience; });
}

// As if each group came now.
void Subscribers::release() noexcept {
  guard_memory(
      [this] {
        all_ = nullptr;
        tags_.for_each([](TagRow& row) { row.audience = nullptr; });
        for (const auto& group : groups_) add_rows(*group, group->tags);
      },
      [this]() noexcept { begin_again(); });
}

// A change of the rows was not made to its end: they are made anew when there is memory.
void Subscribers::begin_again() noexcept {
  if (all_ != nullptr && all_ != &missed_) return;
  incomplete_ = true;
  hold(missed_);
}

bool Subscribers::complete_again() noexcept {
  incomplete_ = false;
  // Those that somebody was about to enter.
  std::erase_if(groups_, [this](const auto& group) {
    if (group->members.empty()) on_group_gone(*group);
    return group->members.empty();
  });
  if (all_ == &missed_ && !too_few()) release();
  return !incomplete_;
}

void Subscribers::count(Subscriber& subscriber, bool blocks) noexcept {
  if (std::exchange(subscriber.counted, blocks) == blocks) return;
  blocking_ = blocks ? blocking_ + 1 : blocking_ - 1;
  if (too_few() && all_ == nullptr) hold(missed_);
  if (!too_few() && all_ == &missed_) release();
}

double Subscribers::fill() const noexcept {
  double most = 0;
  if (blocking_ == 0) return most;
  for (const auto& [peer, subscriber] : subscribers_) {
    if (subscriber.group != nullptr) most = std::max(most, peer->sender.sharing_fill());
  }
  return most;
}

}  // namespace netio::detail
