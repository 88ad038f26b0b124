// How long a command goes on without a peer, and what it says when it gives up. Owner thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <netio/loop.hpp>
#include <netio/socket.hpp>
#include <netio/status.hpp>

#include "arguments.hpp"

namespace netio::cli {

// What became of a peer, to be said behind its address.
[[nodiscard]] std::string why(const PeerInfo& peer, const Down& down);

// What can be done about it, for a person; may be empty.
[[nodiscard]] std::string_view advice_for(std::string_view address, DownReason reason);

// What can be done about a message that is larger than the peer takes.
inline constexpr const char* advice_for_size =
    "raise its --message-max, or the memory limit of its container";

// One side had closed, and the other has heard it.
[[nodiscard]] inline bool ended_in_order(const Down& down) noexcept {
  return down.reason == DownReason::closed_by_peer || down.reason == DownReason::closed_here;
}

class PeerWait {
 public:
  // `on_give_up` is called in the loop, once: no peer came in time, or none ever will.
  PeerWait(Loop& loop, const PeerArguments& arguments, std::function<void()> on_give_up);

  // For a peer that was there and is lost, unless --connect-timeout says so.
  void wait_for_lost(std::chrono::nanoseconds limit) noexcept;
  void begin();
  // A peer came up. The limit of begin() goes on until there are `enough`.
  void up(bool enough = true);
  void enough();
  // A connection or an attempt ended; `connected` peers are left.
  void down(const PeerInfo& peer, const Down& down, std::size_t connected);
  // The command has nothing more to say: from now on only a lost peer that is still to
  // acknowledge is waited for, and not for ever.
  void closing(std::size_t connected);

  // A peer was there once.
  [[nodiscard]] bool met() const noexcept { return met_; }
  // The peer that went last had ended in order.
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  // Why it gave up, and what can be done about it.
  [[nodiscard]] std::string cause() const;
  // The same where some came, and more were waited for: "only 1 of 2 receivers".
  [[nodiscard]] std::string cause(std::string_view gathered) const;
  [[nodiscard]] std::string advice() const;

 private:
  void wait(std::optional<std::chrono::nanoseconds> limit);
  void give_up();
  [[nodiscard]] std::string within() const;
  [[nodiscard]] std::string last_reason() const;

  std::string address_;
  bool dials_;  // over a network
  std::chrono::seconds usual_;
  std::optional<std::chrono::nanoseconds> limit_;
  std::optional<std::chrono::nanoseconds> lost_limit_;  // else limit_
  std::optional<std::chrono::nanoseconds> waited_;      // the limit that ran out; none: hopeless
  bool by_user_ = false;                                // limit_
  bool met_ = false;
  bool gathers_ = false;  // some are there, and not enough
  bool ended_ = false;
  bool closing_ = false;
  bool gave_up_ = false;
  std::optional<Down> last_down_;
  std::string last_why_;
  std::function<void()> on_give_up_;
  Timer timer_;
};

}  // namespace netio::cli
