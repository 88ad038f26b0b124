// See reachable_address.hpp.
#include "units/reachable_address.hpp"

#include <utility>

#include <netio/status.hpp>

#include "base/url.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

// Empty if it has none, or is not known.
static std::string host_of_peer(const std::string& peer_address) {
  try {
    return parse_address(peer_address).host;
  } catch (const Error&) {
    return {};
  }
}

std::string reachable_address(const std::string& address, const std::string& peer_address) {
  Url url = parse_address(address);
  if (url.host != "*" && url.host != "0.0.0.0" && url.host != "::") return address;
  std::string host = host_of_peer(peer_address);
  if (host.empty()) return address;
  url.host = std::move(host);
  return to_string(url);
}

}  // namespace netio::detail
