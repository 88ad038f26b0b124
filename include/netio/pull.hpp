// Pull: receives from any number of Push peers, merged fairly.
#pragma once

#include <netio/receiving.hpp>
#include <netio/socket.hpp>

namespace netio {

// Receives from any number of Push peers: in order for each, and from all in turn.
class NETIO_API Pull : public Socket, public Receiving {
 public:
  // Throws Error for options that make no sense.
  explicit Pull(Context& context, const SocketOptions& options = {});
  ~Pull() = default;
};

}  // namespace netio
