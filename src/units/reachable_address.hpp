// The address at which others reach a peer that listens on all interfaces of its host.
#pragma once

#include <string>

namespace netio::detail {

// `address` with the host of `peer_address` in place of a host that means all interfaces (*,
// 0.0.0.0 or ::), if `peer_address` has a host. Throws Error if `address` makes no sense.
[[nodiscard]] std::string reachable_address(const std::string& address,
                                            const std::string& peer_address);

}  // namespace netio::detail
