// netio_pair_socket: it sends and receives by the calls of send.cpp and recv.cpp.
#include <netio/pair.hpp>

#include "c_api/socket.hpp"

namespace netio::c_api {
extern "C" {

NETIO_API int netio_pair_socket_init(netio_context* context, netio_pair_socket* socket,
                                     const netio_socket_options* options) {
  return init_in(__func__, context, socket, [=](ContextObject& home) {
    const netio_socket_options c = checked(options);
    const auto mode = c.unbuffered != 0 ? Mode::unbuffered : Mode::buffered;
    return make_socket<Pair>(home, socket, socket_options(c, mode));
  });
}

}  // extern "C"
}  // namespace netio::c_api
