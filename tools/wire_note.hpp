// What a command notes of the wire that a netio:// address was given, and of a ring that is not
// there.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include <netio/peer.hpp>

#include "peer_name.hpp"
#include "progress.hpp"

namespace netio::cli {

// Only where this side has chosen, or asked for a ring: it knows the reason.
inline void note_wire(Progress& progress, const PeerInfo& peer) {
  const bool chosen = peer.dialed && peer.address.starts_with("netio://");
  if (!chosen && peer.wire_reason.empty()) return;
  progress.note(fmt::format("{} goes over {}{}", named(peer), peer.wire,
                            peer.wire_reason.empty() ? "" : " (" + peer.wire_reason + ")"));
}

}  // namespace netio::cli
