#include "turned_away.hpp"

#include <utility>

#include <fmt/format.h>

#include "peer_name.hpp"
#include "units.hpp"

namespace netio::cli {

void TurnedAway::note(const PeerInfo& peer, std::string_view reason) {
  if (peer.id == 0) return progress_.note(reason);  // a listener, that had no descriptor for them
  constexpr std::string_view said_already = "was turned away: ";
  if (reason.starts_with(said_already)) reason.remove_prefix(said_already.size());
  if (std::exchange(reason_, reason) != reason) count_ = 0;
  ++count_;
  std::uint64_t noted = 1;
  while (noted < count_) noted *= 10;
  if (count_ != noted) return;
  progress_.note(fmt::format("turned away {}: {}{}", named(peer), reason,
                             noted == 1 ? "" : fmt::format(" ({} of them)", grouped(noted))));
}

}  // namespace netio::cli
