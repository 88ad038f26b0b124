// The survivor's side of the slot whose victims publish: a subscriber of each policy, and what is
// known of the publisher that lives there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include <netio/netio.hpp>

#include "shm_kill/scoreboard.hpp"
#include "shm_kill/stream.hpp"

namespace netio::test {

inline constexpr std::uint64_t published_tags = 4;

// One subscriber: of each run of its publisher it gets an increasing series of whole messages, and
// is told how many are missing between them.
class SurvivorSubscriber {
 public:
  SurvivorSubscriber(Context& context, Policy policy, std::size_t slot, const Places& places,
                     Scoreboard& board);

  // Now and then it does not read for a while, and is behind.
  void pause_or_resume(Random& random);
  void drop_kept() { kept_.drop_all(); }
  [[nodiscard]] std::size_t connected() const { return subscribe_.peers_connected(); }

 private:
  void on_up(const PeerInfo& peer);
  void take(const MessageView& message);
  void judge(const PeerInfo& peer, const Down& down);

  const Policy policy_;
  const std::string who_;
  Slot& slot_;
  Scoreboard& board_;
  Subscribe subscribe_;
  KeptMessages kept_;
  std::uint64_t met_ = 0;       // the victim that it met last
  std::uint64_t restarts_ = 0;  // as the library told
  std::uint64_t received_ = 0;
  std::uint64_t missed_ = 0;  // as gaps told
  // Of this connection:
  bool began_ = false;
  std::uint64_t next_ = 0;                                 // the message that comes or is missing
  std::array<std::uint64_t, published_tags> next_by_tag_;  // not below these
};

class SurvivorAudience {
 public:
  SurvivorAudience(Context& context, std::size_t slot, const Places& places, Scoreboard& board);

  void pause_or_resume(Random& random);
  void drop_kept();
  [[nodiscard]] std::size_t connected() const;

 private:
  std::deque<SurvivorSubscriber> subscribers_;
};

}  // namespace netio::test
