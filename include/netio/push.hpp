// Push: sends each message to one of its Pull peers.
#pragma once

#include <netio/sending.hpp>
#include <netio/socket.hpp>

namespace netio {

// Sends each message to one of its Pull peers: the next one that is ready, in turn, or the one of
// its tag (SocketOptions::distribute).
class NETIO_API Push : public Socket, public Sending {
 public:
  // Throws Error for options that make no sense.
  explicit Push(Context& context, const SocketOptions& options = {});
  ~Push() = default;
};

}  // namespace netio
