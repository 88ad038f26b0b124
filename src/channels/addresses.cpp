// FairMQ says with one address what to meet at and with `transport` what to move the data with; in
// netio the address says both.
#include "channels/addresses.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "channels/bad_value.hpp"
#include "channels/words.hpp"

namespace netio::detail {

namespace {

constexpr std::array<std::string_view, 4> transports{"default", "zeromq", "shmem", "ofi"};
constexpr std::array<std::string_view, 6> schemes{"tcp",    "ipc",   "shm",
                                                  "inproc", "verbs", "ofi+PROVIDER"};
constexpr std::array<std::string_view, 9> this_host{
    "*", "localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0", "::", "[::]", "ip6-localhost"};

bool has_port(std::string_view scheme) noexcept {
  return scheme == "tcp" || scheme == "verbs" || scheme.starts_with("ofi+");
}

// host and port of "host:port" or "[v6]:port", with what may stand behind '?' left out.
std::pair<std::string_view, std::string_view> split_port(std::string_view address,
                                                         std::string_view rest) {
  const std::string_view authority = rest.substr(0, rest.find('?'));
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || colon == 0 ||
      (bracket != std::string_view::npos && colon < bracket)) {
    throw BadValue(
        "the address " + in_quotes(address) + " has no " + (colon == 0 ? "host" : "port"),
        "write it like tcp://host:5555");
  }
  const std::string_view port = authority.substr(colon + 1);
  unsigned value = 0;
  const char* const end = port.data() + port.size();
  const auto [at, error] = std::from_chars(port.data(), end, value);
  if (port.empty() || error != std::errc() || at != end || value > 65535 ||
      (port.size() > 1 && port.front() == '0')) {
    throw BadValue("the address " + in_quotes(address) + " has no port",
                   "behind the last ':' stands a number from 0 to 65535, without zeros in front");
  }
  if (authority.front() == '[' && bracket == std::string_view::npos) {
    throw BadValue("the address " + in_quotes(address) + " has a '[' without ']'",
                   "write an IPv6 address like tcp://[::1]:5555");
  }
  return {authority.substr(0, colon), port};
}

std::string_view scheme_of(std::string_view address) {
  const std::size_t end = address.find("://");
  if (end == std::string_view::npos || end == 0) {
    throw BadValue("the address " + in_quotes(address) + " has no scheme",
                   "write it like tcp://host:5555");
  }
  const std::string_view scheme = address.substr(0, end);
  const bool known = std::ranges::find(schemes, scheme) != schemes.end();
  const bool fabric = scheme.starts_with("ofi+") && scheme != "ofi+PROVIDER" && scheme.size() > 4;
  if (!known && !fabric) {
    throw BadValue("the address " + in_quotes(address) + " has an unknown scheme",
                   meant(scheme, schemes));
  }
  if (address.size() == end + 3) {
    throw BadValue("the address " + in_quotes(address) + " ends after ://",
                   "write it like tcp://host:5555 or shm://name");
  }
  if (std::ranges::any_of(address, [](char c) { return c <= ' ' || c > '~'; })) {
    throw BadValue(
        "the address " + in_quotes(address) + " has a space or a character that cannot be printed",
        "leave it out");
  }
  return scheme;
}

// ipc:///run/x and shm:///run/x are sockets of the same path; a name that is no path ("@x", "x") is
// in netio a name of its own.
std::string shm_of_ipc(std::string_view rest) {
  if (rest.starts_with('@')) rest.remove_prefix(1);
  return "shm://" + std::string(rest);
}

// Both ends find each other by the port alone: FairMQ's data stays on the host, too.
TranslatedAddress shm_of_tcp(std::string_view address, std::string_view rest) {
  const auto [host, port] = split_port(address, rest);
  if (std::ranges::find(this_host, host) == this_host.end() && !host.starts_with("127.")) {
    throw BadValue("transport=shmem is within one host, and " + in_quotes(host) + " may be another",
                   "write localhost or shm://NAME at both ends, or leave transport out");
  }
  const std::string name = port == "0" ? "*" : "port-" + std::string(port);
  return {"shm://" + name, "transport=shmem makes shm://" + name + " of " + std::string(address) +
                               ": the peer needs transport=shmem too, or that address"};
}

TranslatedAddress over_shmem(std::string_view address, std::string_view scheme,
                             std::string_view rest) {
  if (scheme == "shm" || scheme == "inproc") return {std::string(address), {}};
  if (scheme == "tcp") return shm_of_tcp(address, rest);
  throw BadValue("transport=shmem does not go with " + in_quotes(address),
                 "leave transport out, or write shm://NAME");
}

TranslatedAddress over_fabric(std::string_view address, std::string_view scheme,
                              std::string_view rest) {
  if (scheme == "verbs" || scheme.starts_with("ofi+")) return {std::string(address), {}};
  if (scheme != "tcp") {
    throw BadValue("transport=ofi does not go with " + in_quotes(address),
                   "write verbs://host:5555, or leave transport out");
  }
  std::string fabric = "ofi+tcp://" + std::string(rest);
  std::string remark =
      "transport=ofi makes " + fabric + " of " + std::string(address) +
      ", which is slower than tcp:// without it: write verbs:// for an RDMA device";
  return {std::move(fabric), std::move(remark)};
}

}  // namespace

ChannelTransport parse_transport(std::string_view text) {
  if (text == "default" || text == "zeromq") return ChannelTransport::as_written;
  if (text == "shmem") return ChannelTransport::shmem;
  if (text == "ofi") return ChannelTransport::ofi;
  if (text.empty()) throw BadValue("the value is missing", "it is one of " + listed(transports));
  throw BadValue("there is no " + in_quotes(text), meant(text, transports));
}

TranslatedAddress translate_address(std::string_view address, ChannelTransport transport) {
  const std::string_view scheme = scheme_of(address);
  const std::string_view rest = address.substr(scheme.size() + 3);
  if (has_port(scheme)) (void)split_port(address, rest);
  if (scheme == "ipc" && transport != ChannelTransport::ofi) {
    std::string shm = shm_of_ipc(rest);
    std::string remark = std::string(address) + " is " + shm + " here";
    return {std::move(shm), std::move(remark)};
  }
  switch (transport) {
    case ChannelTransport::as_written:
      break;
    case ChannelTransport::shmem:
      return over_shmem(address, scheme, rest);
    case ChannelTransport::ofi:
      return over_fabric(address, scheme, rest);
  }
  return {std::string(address), {}};
}

std::vector<WrittenEndpoint> split_endpoints(std::string_view text) {
  std::vector<WrittenEndpoint> endpoints;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    std::string_view one = text.substr(begin, end - begin);
    begin = end + 1;
    char method = 0;
    if (one.starts_with('@')) method = 'b';
    if (one.starts_with('+') || one.starts_with('>')) method = 'c';
    if (method != 0) one.remove_prefix(1);
    if (one.empty()) {
      throw BadValue("an address is missing in " + in_quotes(text),
                     "write it like tcp://host:5555, and several with ';' between them");
    }
    endpoints.push_back({one, method});
  }
  return endpoints;
}

}  // namespace netio::detail
