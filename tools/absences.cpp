#include "absences.hpp"

namespace netio::cli {

// Who dials and has ended does not come back: whoever comes is another one.
void Absences::begin(const PeerInfo& peer, bool lost, std::chrono::nanoseconds now) {
  if (!lost && !peer.dialed) return;
  gone_.insert_or_assign(peer.id, Gone{now, lost, peer.run});
}

std::optional<Absence> Absences::end(const PeerInfo& peer, std::chrono::nanoseconds now) {
  const auto found = gone_.find(peer.id);
  if (found == gone_.end()) return std::nullopt;
  const Gone gone = found->second;
  gone_.erase(found);
  ++count_;
  total_ += now - gone.since;
  return Absence{now - gone.since, gone.lost, peer.run != gone.run};
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
