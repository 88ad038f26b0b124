// Why a tcp port cannot be bound: a program listens there, or a connection has the port. Any
// thread; set-up only.
#pragma once

#include <cstdint>
#include <string>

namespace netio::detail {

// What to do about "address already in use".
std::string advice_for_port_in_use(std::uint16_t port);

}  // namespace netio::detail
