// tcp://host:port: our own transport on non-blocking sockets.
#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace netio::detail {

std::unique_ptr<Transport> make_tcp_transport(const TransportResources& resources);

}  // namespace netio::detail
