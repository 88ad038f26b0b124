// Who subscribes to what: the peers of a Publish socket, their groups, and the rows of tags that
// point to who wants them. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <netio/publish.hpp>

#include "pattern/publish/allowances.hpp"
#include "pattern/publish/audience.hpp"
#include "pattern/publish/group.hpp"
#include "pattern/publish/subscriber.hpp"
#include "pattern/publish/tag_table.hpp"
#include "socket/backlog.hpp"
#include "wire/control.hpp"

namespace netio::detail {

class SocketCore;

class Subscribers {
 public:
  using Told = std::function<void(const PeerInfo&, std::span<const TagRange>)>;

  // Throws Error for options that make no sense.
  Subscribers(SocketCore& socket, const PublishOptions& options);

  Allowances allowances;
  Told on_subscribe;
  Told on_unsubscribe;
  std::function<void(Group&)> on_group_gone;  // set once, by the owner

  // The row of a tag, made if there is none. Throws std::bad_alloc.
  TagRow& row(std::uint64_t tag, bool resolved) {
    TagRow* const found = tags_.find(tag);
    if (found == nullptr) [[unlikely]]
      return tags_.add(tag, audience_of(tag), resolved);
    if (resolved) tags_.resolve(*found);
    return *found;
  }
  [[nodiscard]] TagRow* find_row(std::uint64_t tag) const noexcept { return tags_.find(tag); }

  // Null for a peer that is not up.
  [[nodiscard]] Subscriber* find(const Peer& peer) noexcept;
  [[nodiscard]] const Subscriber* find(const Peer& peer) const noexcept;
  Subscriber& join(Peer& peer);
  // It is served no more, and counts as unsubscribed once forgotten.
  void leave(Peer& peer) noexcept;
  void forget(Peer& peer) noexcept;
  // A part of a change of its set. What is wrong with it, or null.
  // Throws std::bad_alloc: the subscriber is to be ended.
  const char* take(Subscriber& subscriber, const SubscribeFrame& frame);
  // It asked for Policy::block, and has Policy::drop_new from now on, or what it asked for. It is
  // told by the answer to its last change, once more.
  void demote(Subscriber& subscriber, bool demoted);

  [[nodiscard]] const std::vector<std::unique_ptr<Group>>& groups() const noexcept {
    return groups_;
  }
  template <typename Call>
  void for_each(Call&& call) {
    for (auto& [peer, subscriber] : subscribers_) call(subscriber);
  }
  // Somebody has asked to be disconnected rather than be behind.
  [[nodiscard]] bool any_disconnects() const noexcept { return disconnects_; }
  [[nodiscard]] std::uint64_t unwanted() const noexcept { return tags_.unwanted(); }
  [[nodiscard]] std::uint64_t bodies_encoded() const noexcept;
  // Fewer that block are there than are to be: every row has an audience without groups, whose
  // messages are not taken.
  [[nodiscard]] bool too_few() const noexcept {
    return blocking_ < options_.subscribers_min || incomplete_;
  }
  // There was no memory for who wants what, and it is as if there were too few until there is.
  [[nodiscard]] bool incomplete() const noexcept { return incomplete_; }
  // False if there still is none.
  bool complete_again() noexcept;
  // How full the fullest of those that block is, from 0 to 1.
  [[nodiscard]] double fill() const noexcept;
  // From now on every row has this audience, whatever the subscribers want.
  void end_with(Audience& audience) noexcept;
  // The same, without a look at the pages that are open.
  void answer_with(Audience& audience) noexcept;

 private:
  Audience* audience_of(std::uint64_t tag);
  struct Change {
    TagSet added;
    TagSet removed;
  };
  Change complete(Subscriber& subscriber, const SubscribeFrame& frame);
  void tell(Peer& peer, const Change& change);
  void apply(Subscriber& subscriber, const Change& change);
  [[nodiscard]] Policy grant(Subscriber& subscriber, Policy asked);
  void answer(Subscriber& subscriber);
  void enter(Subscriber& subscriber, const GroupKind& kind);
  void leave_group(Subscriber& subscriber) noexcept;
  void count(Subscriber& subscriber, bool blocks) noexcept;
  void begin_again() noexcept;
  const char* change(Subscriber& subscriber, const SubscribeFrame& frame, Change& change);
  void hold(Audience& audience) noexcept;
  void release() noexcept;
  void add_rows(Group& group, const TagSet& tags);
  void remove_rows(Group& group, const TagSet& tags);
  void sweep_audiences();
  [[nodiscard]] GroupKind kind_of(const Peer& peer) const noexcept;
  [[nodiscard]] Group* find_group(const GroupKind& kind, const TagSet& tags) const noexcept;
  void begin_change(Subscriber& subscriber, const SubscribeFrame& frame, bool whole);
  void edit(Subscriber& subscriber, std::uint16_t flags, std::span<const TagRange> ranges);
  [[nodiscard]] double walked(const Subscriber& subscriber) const noexcept;
  [[nodiscard]] std::size_t ranges_left_for(const Subscriber& subscriber) const noexcept;
  void count_ranges(Subscriber& subscriber, std::size_t ranges) noexcept;

  SocketCore& socket_;
  PublishOptions options_;
  std::unordered_map<const Peer*, Subscriber> subscribers_;
  std::vector<std::unique_ptr<Group>> groups_;
  AudienceTable audiences_;
  static constexpr std::size_t sweep_at_min = 1024;
  std::size_t sweep_at_ = sweep_at_min;  // so many audiences
  TagTable tags_;
  std::uint64_t bodies_before_ = 0;  // encoded by groups that are gone
  std::size_t ranges_ = 0;           // of all subscribers
  BehindBudget behind_budget_;
  bool disconnects_ = false;
  bool incomplete_ = false;
  std::size_t blocking_ = 0;  // counted
  Audience missed_;           // of every tag while there are too few
  Audience* all_ = nullptr;   // the audience that every row has, whatever subscribers want; or null
};

}  // namespace netio::detail
