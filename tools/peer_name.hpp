// A peer, for a person: its address, and behind it the name that it gave itself.
#pragma once

#include <string>

#include <netio/peer.hpp>

namespace netio::cli {

// "tcp://127.0.0.1:4000 (unit 7)"
[[nodiscard]] inline std::string named(const PeerInfo& peer) {
  return peer.name.empty() ? peer.address : peer.address + " (" + peer.name + ")";
}

}  // namespace netio::cli
