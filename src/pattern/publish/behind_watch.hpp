// Tells the user which subscribers begin and cease to be behind. A timer judges, which runs while
// somebody is: a message costs nothing, and a subscriber is told of at a bounded rate. Owner
// thread.
#pragma once

#include <vector>

#include <netio/loop.hpp>
#include <netio/peer.hpp>

#include "base/call_back.hpp"
#include "pattern/publish/subscriber.hpp"

namespace netio::detail {

class SocketCore;

class BehindWatch {
 public:
  explicit BehindWatch(SocketCore& socket);

  CallBack<void(const PeerSnapshot&)> on_behind;
  CallBack<void(const PeerSnapshot&)> on_caught_up;

  // Something waits in its queue when a turn ends, or still does.
  void behind(Subscriber& subscriber) noexcept;
  // It goes: it is told of by other call-backs.
  void forget(Subscriber& subscriber) noexcept;
  void stop() noexcept;

 private:
  void look();

  SocketCore& socket_;
  std::vector<Subscriber*> watched_;  // behind, or told to be
  Timer timer_;
};

}  // namespace netio::detail
