// How often and for how long peers were away that came back, and whether the same run of them did.
// Owner thread only.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include <netio/socket.hpp>

namespace netio::cli {

struct Absence {
  std::chrono::nanoseconds lasted{0};
  bool lost = false;         // it had not ended in order
  bool another_run = false;  // the peer was restarted, or another one took its address
};

class Absences {
 public:
  // A peer that was up is gone.
  void begin(const PeerInfo& peer, bool lost, std::chrono::nanoseconds now);
  // A peer is up: its absence, which is counted; nothing for one that comes for the first time.
  std::optional<Absence> end(const PeerInfo& peer, std::chrono::nanoseconds now);
  // The command ends: counts the lost ones that are still away.
  void finish(std::chrono::nanoseconds now);

  // Somebody was lost, and has not come back.
  [[nodiscard]] bool any_lost() const noexcept {
    return std::any_of(gone_.begin(), gone_.end(), [](const auto& one) { return one.second.lost; });
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::chrono::nanoseconds total() const noexcept { return total_; }

 private:
  struct Gone {
    std::chrono::nanoseconds since;
    bool lost;
    std::array<std::uint8_t, 16> run;
  };

  std::map<std::uint64_t, Gone> gone_;  // by id
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds total_{0};
};

}  // namespace netio::cli
