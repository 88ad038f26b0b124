// Pair: both directions with one peer. While it is connected, a second peer is refused ("busy"),
// unless the first one has been silent for too long (SocketOptions::replace_silent_after).
#pragma once

#include <netio/receiving.hpp>
#include <netio/sending.hpp>
#include <netio/socket.hpp>

namespace netio {

// Sends to its one peer, and receives from it. A second peer is refused.
class NETIO_API Pair : public Socket, public Sending, public Receiving {
 public:
  // Throws Error for options that make no sense.
  explicit Pair(Context& context, const SocketOptions& options = {});
  ~Pair() = default;
};

}  // namespace netio
