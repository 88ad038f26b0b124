// What is told to publishers, and what they answer.
#include "pattern/subscribe/subscribe_core.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/option_bounds.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

void check(std::span<const TagRange> ranges) {
  for (const TagRange& range : ranges) {
    if (range.first <= range.last) continue;
    throw Error("subscribe",
                "the range " + std::to_string(range.first) + " to " + std::to_string(range.last) +
                    " ends before it begins",
                "give the lower tag first");
  }
}

DropReason reason_of(GapReason reason) noexcept {
  switch (reason) {
    case GapReason::dropped_new:
      return DropReason::dropped_new;
    case GapReason::dropped_old:
      return DropReason::dropped_old;
    case GapReason::superseded:
      return DropReason::superseded;
    case GapReason::not_sent:
      break;
  }
  return DropReason::not_sent;
}

}  // namespace

SubscribeCore::SubscribeCore(SocketCore& socket, const SubscribeOptions& options)
    : socket_(socket), options_(checked(options)) {}

void SubscribeCore::add(std::span<const TagRange> ranges) {
  check(ranges);
  set_.add(ranges);
  changed_ = true;
  socket_.touch();
}

void SubscribeCore::remove(std::span<const TagRange> ranges) {
  check(ranges);
  set_.remove(ranges);
  changed_ = true;
  socket_.touch();
}

// All changes of the turn are one.
bool SubscribeCore::end_turn() noexcept {
  if (std::exchange(answered_, false) && !stopped_) tell_those_who_wait();
  if (!changed_ || stopped_) return false;
  guard_memory([this] { tell_all(); }, [this]() noexcept { socket_.touch(); });
  return false;
}

// Without memory for it, it is a change of the next turn.
void SubscribeCore::tell_all() {
  const TagSet added = difference(set_, announced_);
  const TagSet removed = difference(announced_, set_);
  TagSet next = set_;
  changed_ = false;
  if (added.empty() && removed.empty() && version_ != 0) return;
  announced_ = std::move(next);
  ++version_;
  ++revision_;
  for (const auto& peer : socket_.peers()) {
    const auto found = publishers_.find(peer.get());
    if (found == publishers_.end()) continue;
    if (found->second.unanswered.size() >= unanswered_max) found->second.waits = true;
    if (found->second.waits) continue;
    guard_memory([&] { tell(*peer, found->second, removed, added); },
                 [&]() noexcept { peer->fail(out_of_memory()); });
  }
}

void SubscribeCore::tell(Peer& peer, Publisher& publisher, const TagSet& removed,
                         const TagSet& added) {
  const bool in_step = publisher.complete && !publisher.refused &&
                       publisher.version == version_ - 1 && publisher.version != 0;
  if (in_step && tell_change(peer, removed.ranges(), added.ranges())) {
    publisher.revision = revision_;
    publisher.version = version_;
    publisher.unanswered.push_back(revision_);
  } else {
    tell_whole(peer, publisher);
  }
  peer.link()->flush();
}

void SubscribeCore::tell_those_who_wait() {
  for (const auto& peer : socket_.peers()) {
    const auto found = publishers_.find(peer.get());
    if (found == publishers_.end() || !found->second.waits || !found->second.unanswered.empty()) {
      continue;
    }
    found->second.waits = false;
    guard_memory(
        [&] {
          tell_whole(*peer, found->second);
          peer->link()->flush();
        },
        [&]() noexcept { peer->fail(out_of_memory()); });
  }
}

void SubscribeCore::ready(Peer& peer) noexcept {
  if (stopped_ || peer.closing()) return;
  guard_memory([&] { begin(peer); }, [&]() noexcept { peer.fail(out_of_memory()); });
}

void SubscribeCore::begin(Peer& peer) {
  const auto [found, is_new] = publishers_.try_emplace(&peer);
  Publisher& publisher = found->second;
  if (is_new) peer.expect_messages(false);
  // A set that was never told is left to end_turn(), with all that the turn still brings.
  if (version_ == 0 || (!is_new && publisher.complete)) return;
  // On a stream that goes on, the publisher knows a set of an earlier revision.
  if (is_new && peer.stream_goes_on()) ++revision_;
  tell_whole(peer, publisher);
}

std::size_t SubscribeCore::ranges_per_page(const Peer& peer) noexcept {
  const std::size_t bytes = peer.link()->fit().borrowed_bytes_max;
  // The smallest page that a publisher may allow takes a frame with one range (docs/wire.md).
  return bytes < subscribe_bytes(1) ? 1 : (bytes - subscribe_head_bytes) / wire_range_bytes;
}

// A change that was begun and could not be completed is replaced by the set as it is now.
void SubscribeCore::tell_whole(Peer& peer, Publisher& publisher) {
  if (publisher.complete || publisher.version != version_) {
    publisher.ranges_told = 0;
    publisher.revision = revision_;
    publisher.version = version_;
    if (publisher.first == 0) publisher.first = revision_;
  }
  publisher.complete = publisher.refused = false;
  const std::span<const TagRange> all = announced_.ranges();
  const std::size_t most = ranges_per_page(peer);
  do {
    const std::size_t begin = publisher.ranges_told;
    const std::size_t count = std::min(most, all.size() - begin);
    const bool last = begin + count == all.size();
    const auto flags = static_cast<std::uint16_t>((begin == 0 ? subscribe_flag::whole : 0U) |
                                                  (last ? subscribe_flag::last : 0U));
    if (post(peer, all.subspan(begin, count), publisher.revision, flags) != Status::ok) return;
    publisher.ranges_told += count;
    publisher.complete = last;
    if (last) publisher.unanswered.push_back(publisher.revision);
  } while (!publisher.complete && most != 0);
}

bool SubscribeCore::tell_change(Peer& peer, std::span<const TagRange> removed,
                                std::span<const TagRange> added) {
  const std::size_t most = ranges_per_page(peer);
  if (removed.size() > most || added.size() > most) return false;
  constexpr std::uint16_t last = subscribe_flag::last;
  constexpr std::uint16_t remove = subscribe_flag::remove;
  const auto remove_flags = static_cast<std::uint16_t>(added.empty() ? remove | last : remove);
  if (!removed.empty() && post(peer, removed, revision_, remove_flags) != Status::ok) return false;
  return added.empty() || post(peer, added, revision_, last) == Status::ok;
}

Status SubscribeCore::post(Peer& peer, std::span<const TagRange> ranges, std::uint64_t revision,
                           std::uint16_t flags) {
  SubscribeFrame head;
  head.revision = revision;
  head.flags = flags;
  head.policy = static_cast<WirePolicy>(options_.policy);
  head.behind_for_ms = static_cast<std::uint32_t>(options_.behind_for_max.count());
  head.behind_bytes_max = options_.behind_bytes_max;
  frame_.resize(subscribe_bytes(ranges.size()));
  encode(head, frame_);
  store_ranges(ranges, frame_.data() + subscribe_head_bytes);
  return peer.outgoing.post_control(ControlKind::subscribe, frame_);
}

const char* SubscribeCore::take_control(Peer& peer, const Frame& frame) {
  if (stopped_) return nullptr;
  const std::span<const std::byte> payload(frame.payload, frame.size);
  if (frame.control() == ControlKind::subscribed) {
    SubscribedFrame answer;
    const char* const defect = parse(payload, answer);
    return defect != nullptr ? defect : take_answer(peer, answer);
  }
  if (frame.control() == ControlKind::gap) {
    GapFrame gap;
    const char* const defect = parse(payload, gap);
    return defect != nullptr ? defect : take_gap(peer, gap);
  }
  if (frame.control() == ControlKind::ending) {
    EndingFrame ending;
    const char* const defect = parse(payload, ending);
    if (defect == nullptr) {
      peer.end_for(
          "the publisher disconnected this subscriber, which was behind for longer, or by more, "
          "than it asked for",
          DownReason::too_slow);
    }
    return defect;
  }
  return "sent a control frame that is not known here";
}

const char* SubscribeCore::take_answer(Peer& peer, const SubscribedFrame& answer) {
  const auto found = publishers_.find(&peer);
  if (found == publishers_.end()) return "answers a subscription that was not sent to it";
  Publisher& publisher = found->second;
  // To a change that was told on an earlier connection: until the publisher has answered the whole
  // set, which it was told on this one, its messages go by that set.
  const bool old = answer.revision < publisher.first && peer.stream_goes_on();
  publisher.goes_on = publisher.goes_on || old;
  // The last answer once more: something else is granted from here on.
  const bool again = publisher.answered != 0 && publisher.answered == answer.revision;
  if (!again && !old) {
    if (publisher.unanswered.empty() || publisher.unanswered.front() != answer.revision) {
      return "answers a subscription that was not sent to it, or an older one again";
    }
    publisher.unanswered.pop_front();
    publisher.answered = answer.revision;
  }
  if (publisher.waits && publisher.unanswered.empty()) {
    answered_ = true;
    socket_.touch();
  }
  peer.expect_messages(true);
  if (answer.from != peer.receive_books().next_number()) {
    return "does not count its messages as they came";
  }
  Subscribed told;
  told.revision = answer.revision;
  told.refused = answer.refusal != SetRefusal::none;
  told.from = answer.from;
  told.policy = static_cast<Policy>(answer.policy);
  told.behind_bytes_max = answer.behind_bytes_max;
  told.goes_on = publisher.goes_on;
  if (told.refused) {
    publisher.refused = !old;
    told.detail = "the publisher takes at most " + std::to_string(answer.ranges_max) +
                  " ranges of tags from this subscriber now (PublishOptions::ranges_max, "
                  "ranges_all_max); the set as it was before is still in force there";
  }
  if (on_subscribed) on_subscribed(peer.info(true), told);
  return nullptr;
}

const char* SubscribeCore::take_gap(Peer& peer, const GapFrame& gap) {
  const std::uint64_t first = peer.receive_books().next_number();
  const auto count = peer.miss_up_to(gap.dropped, socket_.context().loop.now().count());
  if (!count) return "takes back what it said it had dropped, or says more than can have been";
  if (*count != 0) {
    socket_.receiving.tell_gap(peer, {first, *count, reason_of(gap.reason)});
  }
  return nullptr;
}

void SubscribeCore::lost(Peer& peer, std::uint64_t first, std::uint64_t count) noexcept {
  socket_.receiving.tell_gap(peer, {first, count, DropReason::connection_lost});
}

}  // namespace netio::detail
