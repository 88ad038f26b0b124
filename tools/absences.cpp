#include "absences.hpp"

#include <algorithm>

namespace netio::cli {

// Who dials and has ended does not come back: whoever comes is another one.
void Absences::begin(const PeerInfo& peer, bool lost, std::chrono::nanoseconds now) {
  if (!lost && !peer.dialed) return;
  gone_.insert_or_assign(peer.id, Gone{now, lost, peer.restarts, peer.books.delivered});
}

// A peer that this side dials keeps its id. One that dials has a new one, and the books of before
// if it is the same run.
Absences::Map::iterator Absences::find(const PeerInfo& peer) {
  const auto same = gone_.find(peer.id);
  if (same != gone_.end() || peer.dialed || peer.books.delivered == 0) return same;
  return std::find_if(gone_.begin(), gone_.end(), [&peer](const auto& entry) {
    return entry.second.delivered == peer.books.delivered;
  });
}

std::optional<Absence> Absences::end(const PeerInfo& peer, std::chrono::nanoseconds now) {
  const auto found = find(peer);
  if (found == gone_.end()) return std::nullopt;
  const Gone gone = found->second;
  gone_.erase(found);
  ++count_;
  total_ += now - gone.since;
  return Absence{now - gone.since, gone.lost, peer.restarts != gone.restarts};
}

void Absences::finish(std::chrono::nanoseconds now) {
  for (const auto& entry : gone_) {
    if (!entry.second.lost) continue;
    ++count_;
    total_ += now - entry.second.since;
  }
  gone_.clear();
}

}  // namespace netio::cli
