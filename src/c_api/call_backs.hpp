// From what the C++ sockets tell to what C is told: peers, books, and call-backs that may be null.
#pragma once

#include <netio.h>
#include <netio/books.hpp>
#include <netio/peer.hpp>

namespace netio::c_api {

netio_books to_c(const Books& books) noexcept;
// Good as long as `info` is.
netio_peer to_c(const PeerInfo& info) noexcept;
netio_peer_snapshot to_c(const PeerSnapshot& snapshot) noexcept;
netio_counters to_c(const Counters& counters) noexcept;

// The caller's struct may be gone when its call-back returns: nothing looks at it again.
template <typename Struct, typename... Given>
void call_back(Struct* own, void (*call)(Struct*, Given...), Given... given) {
  if (call != nullptr) call(own, given...);
}
template <typename Struct, typename... Given, typename... Rest>
void call_back_about(const PeerInfo& info, Struct* own,
                     void (*call)(Struct*, const netio_peer*, Given...), Rest... rest) {
  if (call == nullptr) return;
  const netio_peer peer = to_c(info);
  call(own, &peer, rest...);
}

}  // namespace netio::c_api
