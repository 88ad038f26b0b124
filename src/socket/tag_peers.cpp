// Rendezvous hashing: whoever has the highest weight in a slot owns it. A peer that comes or goes
// is compared in each slot, so no other slot changes.
#include "socket/tag_peers.hpp"

#include <algorithm>
#include <cstring>

namespace netio::detail {

std::uint64_t TagPeers::weight(std::size_t slot, const RunId& run) noexcept {
  std::array<std::uint64_t, 2> words{};
  static_assert(sizeof words == sizeof run);
  std::memcpy(words.data(), run.data(), sizeof words);
  return mixed(mixed(mixed(slot) ^ words[0]) ^ words[1]);
}

// Of two with the same weight, which are two connections to the same run, the lower id has it.
void TagPeers::offer(std::size_t slot, Owner& owner, const Member& member) noexcept {
  const std::uint64_t its = weight(slot, member.run);
  const bool higher = its > owner.weight || (its == owner.weight && member.id < owner.id);
  if (owner.id == 0 || higher) owner = {its, member.id, member.peer};
}

void TagPeers::join(const Member& newcomer) {
  members_.push_back(newcomer);
  for (std::size_t slot = 0; slot < slots; ++slot) offer(slot, owners_[slot], newcomer);
}

void TagPeers::leave(std::uint64_t id) noexcept {
  std::erase_if(members_, [id](const Member& member) { return member.id == id; });
  for (std::size_t slot = 0; slot < slots; ++slot) {
    Owner& owner = owners_[slot];
    if (owner.id != id) continue;
    owner = {};
    for (const Member& member : members_) offer(slot, owner, member);
  }
}

}  // namespace netio::detail
