// Attempts to connect that fail in one way are noted once, however often they are made again.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <netio/peer.hpp>

namespace netio::cli {

class AttemptNotes {
 public:
  // True at the first attempt at this address that ended for this reason since clear().
  [[nodiscard]] bool is_new(const PeerInfo& peer, const Down& down) {
    return noted_.emplace(peer.address, down.reason).second;
  }
  // Somebody is connected.
  void clear() noexcept { noted_.clear(); }

 private:
  std::set<std::pair<std::string, DownReason>> noted_;
};

}  // namespace netio::cli
