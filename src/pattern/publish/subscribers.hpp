// The subscribers of a Publish socket, and how their sets of tags change. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include <netio/publish.hpp>

#include "base/call_back.hpp"
#include "pattern/publish/allowances.hpp"
#include "pattern/publish/backlog.hpp"
#include "pattern/publish/groups.hpp"
#include "pattern/publish/subscriber.hpp"
#include "wire/control.hpp"

namespace netio::detail {

class SocketCore;

class Subscribers {
 public:
  using Told = CallBack<void(const PeerInfo&, std::span<const TagRange>)>;

  // Throws Error for options that make no sense.
  Subscribers(SocketCore& socket, const PublishOptions& options);

  Allowances allowances;
  Told on_subscribe;
  Told on_unsubscribe;
  // Told of the same before the user is: what a forward to this socket subscribes.
  std::function<void(std::span<const TagRange> added, std::span<const TagRange> removed)> follower;
  Groups groups;

  // Null for a peer that is neither up nor away.
  [[nodiscard]] Subscriber* find(const Peer& peer) noexcept;
  [[nodiscard]] const Subscriber* find(const Peer& peer) const noexcept;
  Subscriber& join(Peer& peer);
  // The subscriber receives nothing more. It is removed from the counts when its record is deleted.
  void leave(Peer& peer) noexcept;
  void forget(Peer& peer) noexcept;
  // Its connection broke, and it may come back: it keeps its place in its group until it does, or
  // is forgotten.
  void go_away(Subscriber& subscriber) noexcept;
  // There are not too many of them, nor too many of its host.
  [[nodiscard]] bool may_go_away(const Subscriber& subscriber) const noexcept;
  // Memory lacks: what waits for those that are away and can do without it is dropped.
  void give_up_what_waits_for_absent() noexcept;
  // Throws std::bad_alloc; it must be ended then.
  void come_back(Subscriber& subscriber);
  [[nodiscard]] std::size_t away() const noexcept { return away_; }
  // It has come back as another peer.
  void move(const Peer& from, Peer& to) noexcept;
  // Takes a part of a change of the subscriber's set. Returns what is wrong with it, or null.
  // Throws std::bad_alloc; the subscriber must be ended then.
  const char* take(Subscriber& subscriber, const SubscribeFrame& frame);
  // Gives a subscriber that asked for Policy::block Policy::drop_new, or the policy that it asked
  // for again. It is told by a repetition of the answer to its last change.
  void demote(Subscriber& subscriber, bool demoted) noexcept;

  template <typename Call>
  void for_each(Call&& call) {
    for (auto& [peer, subscriber] : subscribers_) call(subscriber);
  }
  // Somebody has asked to be disconnected rather than be behind.
  [[nodiscard]] bool any_disconnects() const noexcept { return disconnects_; }
  // Fewer subscribers are there than must be, or there was no memory to note who wants what. The
  // groups are held back.
  [[nodiscard]] bool too_few() const noexcept { return lacks() || groups.incomplete(); }
  // How full the fullest of those that block is, from 0 to 1.
  [[nodiscard]] double fill() const noexcept;
  // From now on every row has this audience, whatever the subscribers want, and nobody is missed.
  void end_with(Audience& audience) noexcept {
    options_.subscribers_min = options_.subscribers_any_min = 0;
    groups.end_with(audience);
  }

 private:
  struct Change {
    TagSet added;
    TagSet removed;
  };
  void stay(Subscriber& subscriber) noexcept;
  Change complete(Subscriber& subscriber, const SubscribeFrame& frame);
  void tell(Peer& peer, const Change& change);
  [[nodiscard]] Policy grant(Subscriber& subscriber, Policy asked);
  void answer(Subscriber& subscriber) noexcept;
  void count(Subscriber& subscriber, bool there, bool blocks) noexcept;
  [[nodiscard]] bool lacks() const noexcept {
    return blocking_ < options_.subscribers_min || there_ < options_.subscribers_any_min;
  }
  const char* change(Subscriber& subscriber, const SubscribeFrame& frame, Change& change);
  [[nodiscard]] GroupKind kind_of(const Peer& peer) const noexcept;
  void begin_change(Subscriber& subscriber, const SubscribeFrame& frame, bool whole);
  void edit(Subscriber& subscriber, std::uint16_t flags, std::span<const TagRange> ranges);
  void charge_walk(Subscriber& subscriber, double ranges) noexcept;
  [[nodiscard]] std::size_t ranges_left_for(const Subscriber& subscriber) const noexcept;
  void count_ranges(Subscriber& subscriber, std::size_t ranges) noexcept;

  SocketCore& socket_;
  PublishOptions options_;
  std::unordered_map<const Peer*, Subscriber> subscribers_;
  std::size_t ranges_ = 0;  // of all subscribers
  BehindBudget behind_budget_;
  bool disconnects_ = false;
  std::size_t there_ = 0;     // those with Subscriber::there
  std::size_t blocking_ = 0;  // counted
  std::size_t away_ = 0;
};

}  // namespace netio::detail
