// Pair: both directions with one peer. A second peer is refused ("busy") while one is connected.
#pragma once

#include <netio/receiving.hpp>
#include <netio/sending.hpp>
#include <netio/socket.hpp>

namespace netio {

class NETIO_API Pair : public Socket, public Sending, public Receiving {
 public:
  explicit Pair(Context& context, const SocketOptions& options = {});
  ~Pair() = default;
};

}  // namespace netio
