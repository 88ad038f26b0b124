// Notes of peers that came to us and were never up: of those that come again and again for the same
// reason the 1st, the 10th, the 100th ... Owner thread only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <netio/socket.hpp>

#include "progress.hpp"

namespace netio::cli {

class TurnedAway {
 public:
  explicit TurnedAway(Progress& progress) : progress_(progress) {}

  void note(const PeerInfo& peer, std::string_view reason);

 private:
  Progress& progress_;
  std::uint64_t count_ = 0;  // one after the other, for the reason
  std::string reason_;
};

}  // namespace netio::cli
