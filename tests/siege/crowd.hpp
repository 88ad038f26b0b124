// Many evil peers at a time: each that was ended comes back.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "siege/attack.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {

// `come` makes a peer, `go_on` lets it do its next step; false: it is to come anew.
template <typename Peer>
void crowd(std::size_t count, Attack::Clock::time_point until, const std::function<Peer()>& come,
           const std::function<bool(Peer&)>& go_on) {
  std::vector<std::optional<Peer>> peers(count);
  while (Attack::Clock::now() < until) {
    for (std::optional<Peer>& peer : peers) {
      if (!peer) peer.emplace(come());
      if (!go_on(*peer)) peer.reset();
      if (Attack::Clock::now() >= until) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Of who reads nothing: whether it was ended shows when it writes, a page that says nothing.
inline bool is_there_unread(RawTcp& raw) {
  return raw.send(page_of(detail::PageHeader{}, {})) != 0;
}

}  // namespace netio::test
