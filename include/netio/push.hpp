// Push: sends each message to one of its Pull peers, the next that is ready, in turn.
#pragma once

#include <netio/sending.hpp>
#include <netio/socket.hpp>

namespace netio {

class NETIO_API Push : public Socket, public Sending {
 public:
  explicit Push(Context& context, const SocketOptions& options = {});
  ~Push() = default;
};

}  // namespace netio
