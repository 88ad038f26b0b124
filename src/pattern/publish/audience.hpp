// Who wants a tag: groups of subscribers. Tags with the same groups share one Audience, so that a
// row is a pointer, and a subscription that changes moves rows from one audience to another.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <unordered_set>
#include <vector>

namespace netio::detail {

class Group;

struct Audience {
  Group* only = nullptr;  // of one group: that
  std::vector<Group*> groups;
};

class AudienceTable {
 public:
  // The audience with this group too, or without it; null is nobody. Throw std::bad_alloc.
  Audience* with(const Audience* audience, Group* group);
  Audience* without(const Audience* audience, Group* group);
  // No row has an audience with this group any more.
  void forget(const Group* group) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return audiences_.size(); }
  // All others go.
  void keep(const std::unordered_set<const Audience*>& wanted) noexcept;

 private:
  Audience* of(std::vector<Group*> groups);

  std::map<std::vector<Group*>, std::unique_ptr<Audience>> audiences_;  // by their sorted groups
};

}  // namespace netio::detail
