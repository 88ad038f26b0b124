// The peers that take messages now, and whose turn is next. Owner thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace netio::detail {

class Peer;

class ReadyPeers {
 public:
  [[nodiscard]] bool empty() const noexcept { return peers_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return peers_.size(); }
  [[nodiscard]] auto begin() const noexcept { return peers_.begin(); }
  [[nodiscard]] auto end() const noexcept { return peers_.end(); }

  // Whose turn it is. There is one.
  [[nodiscard]] Peer& next() const noexcept { return *peers_[turn_]; }
  void next_turn() noexcept {
    if (++turn_ == peers_.size()) turn_ = 0;
  }
  // Joins as the last, unless it is there. Throws std::bad_alloc.
  void join(Peer& peer) {
    if (std::ranges::find(peers_, &peer) == peers_.end()) peers_.push_back(&peer);
  }
  // The others keep their turns.
  void leave(const Peer& peer) noexcept {
    const auto found = std::ranges::find(peers_, &peer);
    if (found == peers_.end()) return;
    if (static_cast<std::size_t>(found - peers_.begin()) < turn_) --turn_;
    peers_.erase(found);
    if (turn_ == peers_.size()) turn_ = 0;
  }
  void clear() noexcept {
    peers_.clear();
    turn_ = 0;
  }

 private:
  std::vector<Peer*> peers_;
  std::size_t turn_ = 0;  // index of the next; 0 when there is none
};

}  // namespace netio::detail
