// The groups of a publisher's subscribers, and the rows of tags that point to the groups that want
// them. Owner thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <netio/publish.hpp>

#include "pattern/publish/audience.hpp"
#include "pattern/publish/group.hpp"
#include "pattern/publish/tag_table.hpp"

namespace netio::detail {

class Groups {
 public:
  // `held`: as by hold(true). Throws std::bad_alloc.
  Groups(std::uint64_t message_bytes_max, bool held)
      : message_bytes_max_(message_bytes_max), held_(held), all_(held ? &missed_ : nullptr) {}

  std::function<void(Group&)> on_group_gone;  // set once, by the owner

  // The row of a tag, made if there is none. Throws std::bad_alloc.
  TagRow& row(std::uint64_t tag, bool resolved) {
    TagRow* const found = tags_.find(tag);
    if (found == nullptr) [[unlikely]]
      return add_row(tag, resolved);
    if (resolved) tags_.resolve(*found);
    return *found;
  }
  [[nodiscard]] TagRow* find_row(std::uint64_t tag) const noexcept { return tags_.find(tag); }
  // Of a row's audience, valid until the next call.
  [[nodiscard]] const std::vector<Group*>& of(const Audience& audience) noexcept {
    return audiences_.groups_of(audience);
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Group>>& all() const noexcept { return groups_; }

  // The subscriber's set becomes its next one, which adds and removes these tags: it may join
  // another group. Throws std::bad_alloc: the rows may be wrong then, until begin_again() is
  // called.
  void change(Subscriber& subscriber, const GroupKind& kind, const TagSet& added,
              const TagSet& removed);
  // Takes the subscriber out of its group.
  void leave(Subscriber& subscriber) noexcept;
  // Puts it into the one of its set, if that is not empty. Throws as change() does.
  void enter(Subscriber& subscriber, const GroupKind& kind);
  // What the calls before this one have cost since the last, in ranges that were walked over.
  [[nodiscard]] double take_cost() noexcept { return std::exchange(cost_, 0); }

  // While they are held back, every row has an audience without groups, whose messages are not
  // taken.
  void hold(bool held) noexcept;
  // There was no memory to note who wants what. All groups are held back until there is.
  [[nodiscard]] bool incomplete() const noexcept { return incomplete_; }
  void begin_again() noexcept;
  // False if there still is none.
  bool complete_again() noexcept;
  // From now on every row has this audience, whatever the subscribers want.
  void end_with(Audience& audience) noexcept;
  // The same, without a look at the pages that are open.
  void answer_with(Audience& audience) noexcept;

  [[nodiscard]] std::uint64_t unwanted() const noexcept { return tags_.unwanted(); }
  [[nodiscard]] std::uint64_t bodies_encoded() const noexcept;

 private:
  // In the order of their sets and kinds: a group is found by few comparisons, also where thousands
  // of sets are nearly the same.
  struct Key {
    const GroupKind& kind;
    const TagSet& tags;
  };
  struct Order {
    using is_transparent = void;  // NOLINT: the name is the standard's
    static Key of(const Group* group) noexcept { return {group->kind(), group->tags}; }
    static const Key& of(const Key& key) noexcept { return key; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      return before(of(a), of(b));
    }
    static bool before(const Key& a, const Key& b) noexcept;
  };
  using ByTags = std::set<Group*, Order>;

  TagRow& add_row(std::uint64_t tag, bool resolved);
  Audience* audience_of(std::uint64_t tag);
  ByTags::iterator find(const GroupKind& kind, const TagSet& tags) noexcept;
  void remove(Group& group) noexcept;
  enum class Move : bool { out, in };
  void move_rows(Group& group, const TagSet& tags, Move move);
  void forget_rows() noexcept;
  void show() noexcept;

  std::uint64_t message_bytes_max_;
  std::vector<std::unique_ptr<Group>> groups_;
  ByTags by_tags_;
  AudienceTable audiences_;
  TagTable tags_;
  double cost_ = 0;
  std::uint64_t bodies_before_ = 0;  // encoded by groups that are gone
  bool held_ = false;
  bool incomplete_ = false;
  Audience missed_;           // of every row while they are held back
  Audience* over_ = nullptr;  // of every row from now on
  Audience* all_ = nullptr;   // the audience that every row has; null: each its own
};

}  // namespace netio::detail
