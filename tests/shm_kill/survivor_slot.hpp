// The survivor's side of one slot: its sockets, and what is known of who lives there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <netio/netio.hpp>

#include "shm_kill/scoreboard.hpp"
#include "shm_kill/stream.hpp"

namespace netio::test {

class SurvivorSlot {
 public:
  SurvivorSlot(Context& context, std::size_t number, const Places& places, Scoreboard& board);

  // A few messages, if anybody is there to take them.
  void send_some(Random& random);
  // Now and then it does not read for a while.
  void pause_or_resume(Random& random);
  void drop_kept() { kept_.drop_all(); }
  [[nodiscard]] std::size_t connected() const;
  [[nodiscard]] std::size_t lent() const { return loans_.size(); }

 private:
  void watch(Socket& socket, Sending* sending, Receiving* receiving);
  void take(const MessageView& message);
  void judge(Socket& socket, const PeerInfo& peer, const Down& down);
  void judge_received(const Books& books);
  void judge_sent(const Books& books);

  const std::string who_;
  Slot& slot_;
  Scoreboard& board_;
  std::optional<Pull> pull_;
  std::optional<Push> push_;
  std::optional<Pair> pair_;
  Sending* sending_ = nullptr;
  Receiving* receiving_ = nullptr;
  KeptMessages kept_;
  std::uint64_t victim_ = 0;    // whose messages came last
  std::uint64_t received_ = 0;  // how many of its
  Books before_;                // of the pair, when the last victim was gone
  std::uint64_t sent_ = 0;      // to whoever was there
  std::vector<std::byte> message_;
  std::unordered_map<std::uint64_t, std::vector<std::byte>> loans_;
};

}  // namespace netio::test
