// Pull: receives from any number of Push peers, merged fairly.
#pragma once

#include <netio/receiving.hpp>
#include <netio/socket.hpp>

namespace netio {

class NETIO_API Pull : public Socket, public Receiving {
 public:
  explicit Pull(Context& context, const SocketOptions& options = {});
  ~Pull() = default;
};

}  // namespace netio
