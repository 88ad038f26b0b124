// Pausing takes effect after the message at hand; resuming lets every peer go on from the loop.
#include "socket/receive_core.hpp"

#include "socket/socket_core.hpp"

namespace netio::detail {

void ReceiveCore::pause(bool paused) noexcept {
  if (stopped_ || paused_ == paused) return;
  paused_ = paused;
  delivery.stopped = paused;
  socket_.pause_peers(paused);
}

}  // namespace netio::detail
