// The audiences there are.
#include "pattern/publish/audience.hpp"

#include <algorithm>
#include <utility>

namespace netio::detail {

Audience* AudienceTable::with(const Audience* audience, Group* group) {
  std::vector<Group*> groups;
  if (audience != nullptr) groups = audience->groups;
  groups.insert(std::upper_bound(groups.begin(), groups.end(), group, std::less<>()), group);
  return of(std::move(groups));
}

Audience* AudienceTable::without(const Audience* audience, Group* group) {
  if (audience == nullptr) return nullptr;
  std::vector<Group*> groups = audience->groups;
  std::erase(groups, group);
  return groups.empty() ? nullptr : of(std::move(groups));
}

Audience* AudienceTable::of(std::vector<Group*> groups) {
  std::unique_ptr<Audience>& audience = audiences_[groups];
  if (!audience) {
    audience = std::make_unique<Audience>();
    if (groups.size() == 1) audience->only = groups.front();
    audience->groups = std::move(groups);
  }
  return audience.get();
}

void AudienceTable::keep(const std::unordered_set<const Audience*>& wanted) noexcept {
  std::erase_if(audiences_,
                [&wanted](const auto& entry) { return !wanted.contains(entry.second.get()); });
}

void AudienceTable::forget(const Group* group) noexcept {
  std::erase_if(audiences_, [group](const auto& entry) {
    const std::vector<Group*>& groups = entry.first;
    return std::find(groups.begin(), groups.end(), group) != groups.end();
  });
}

}  // namespace netio::detail
