// Who wants a tag: groups of subscribers. Tags with the same groups share one Audience, so that a
// row is a pointer, and a subscription that changes moves rows from one audience to another. Owner
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

namespace netio::detail {

class Group;

// Few groups are listed. More of them are a bit each: with thousands of groups and as many tags as
// are remembered, lists would take gigabytes.
struct Audience {
  Group* only = nullptr;             // of one group: that
  std::vector<Group*> groups;        // by their slots, if they are listed
  std::vector<std::uint64_t> slots;  // else a bit for each slot; the last word is not 0
  std::size_t count = 0;             // of groups
  std::uint64_t hash = 0;            // of their keys
  std::size_t rows = 0;              // that have it

  static constexpr std::size_t listed_max = 64;
};

// An audience exists as long as rows have it.
class AudienceTable {
 public:
  // Before any of the others is called for the group: it gets a slot and a key. Throws
  // std::bad_alloc.
  void enter(Group& group);
  // No row has an audience with the group any more.
  void leave(Group& group) noexcept;

  // The audience with this group too, or without it; null is nobody. No row has it yet if it is
  // new: move() follows. Throw std::bad_alloc.
  Audience* with(const Audience* audience, Group& group);
  Audience* without(const Audience* audience, Group& group);
  // The same in steps, for several groups: begin(), add() for each group, end().
  void begin(const Audience* audience);
  void add(Group& group);
  Audience* end();
  // So many rows go from one audience to another. The first one is deleted with its last row.
  void move(Audience* from, Audience* to, std::size_t rows) noexcept;
  // No row has any.
  void clear() noexcept { audiences_.clear(); }

  // Its groups, valid until the next call.
  [[nodiscard]] const std::vector<Group*>& groups_of(const Audience& audience) noexcept {
    return audience.slots.empty() ? audience.groups : list(audience);
  }
  [[nodiscard]] std::size_t size() const noexcept { return audiences_.size(); }
  // Words of 64 bits that the slots of all groups take.
  [[nodiscard]] std::size_t words() const noexcept { return (by_slot_.size() + 63) / 64; }

 private:
  struct Hash {
    using is_transparent = void;  // NOLINT: the name is the standard's
    std::size_t operator()(const Audience& audience) const noexcept { return audience.hash; }
    std::size_t operator()(const std::unique_ptr<Audience>& audience) const noexcept {
      return audience->hash;
    }
  };
  struct Same {
    using is_transparent = void;  // NOLINT: the name is the standard's
    static const Audience& of(const Audience& audience) noexcept { return audience; }
    static const Audience& of(const std::unique_ptr<Audience>& audience) noexcept {
      return *audience;
    }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      return of(a).hash == of(b).hash && of(a).groups == of(b).groups && of(a).slots == of(b).slots;
    }
  };
  void remove(Group& group);
  const std::vector<Group*>& list(const Audience& audience) noexcept;

  std::unordered_set<std::unique_ptr<Audience>, Hash, Same> audiences_;
  Audience made_;                  // between begin() and end()
  std::vector<Group*> by_slot_;    // null where a slot is free
  std::vector<std::size_t> free_;  // slots
  std::vector<Group*> listed_;     // by list(); as large as by_slot_
  std::uint64_t next_key_ = 0;     // 0: none was given
};

}  // namespace netio::detail
