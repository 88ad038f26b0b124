// Finds a peer by its PeerInfo::id. Owner thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/out_of_memory.hpp"
#include "socket/peer.hpp"

namespace netio::detail {

class PeersById {
 public:
  // So that the next `peers` may be added without memory. Throws std::bad_alloc.
  void make_room_for(std::size_t peers) { peers_.reserve(std::max(peers, peers_.capacity())); }
  void add(Peer& peer) noexcept {
    peers_.insert(std::lower_bound(peers_.begin(), peers_.end(), peer.id(), before), &peer);
  }
  void remove(const Peer& peer) noexcept { std::erase(peers_, &peer); }
  // Null if there is none, or none any more. A peer that came back has the id of the one before it,
  // which may not be forgotten yet.
  [[nodiscard]] Peer* find(std::uint64_t id) const noexcept {
    auto found = std::lower_bound(peers_.begin(), peers_.end(), id, before);
    while (found != peers_.end() && (*found)->id() == id && (*found)->gone()) ++found;
    return found != peers_.end() && (*found)->id() == id ? *found : nullptr;
  }

 private:
  [[nodiscard]] static bool before(const Peer* peer, std::uint64_t id) noexcept {
    return peer->id() < id;
  }

  std::vector<Peer*> peers_;  // by their ids
};

}  // namespace netio::detail
