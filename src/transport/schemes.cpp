// The table of schemes: a transport is a row here. Refuses in one place what no transport takes.
#include <array>
#include <string_view>

#include <netio/fabrics.hpp>
#include <netio/status.hpp>

#include "transport/transport.hpp"

namespace netio {

#ifdef NETIO_WITH_FABRIC
bool fabrics_built() noexcept { return true; }
std::vector<FabricDevice> fabric_devices() { return detail::ofi_devices(); }
#else
bool fabrics_built() noexcept { return false; }
std::vector<FabricDevice> fabric_devices() { return {}; }

std::unique_ptr<detail::Transport> detail::make_ofi_transport(const TransportResources&,
                                                              const std::string& scheme) {
  throw AddressError("use " + scheme + "://", "this build of netio has no RDMA fabrics",
                     "install libfabric-dev (1.17 or newer) and build netio again");
}
#endif

}  // namespace netio

namespace netio::detail {

namespace {

struct Scheme {
  std::string_view name;  // one that ends in + is followed by a provider's name
  std::unique_ptr<Transport> (*make)(const TransportResources&, const std::string& scheme);
  UrlForm form = UrlForm::host_port;
};

constexpr std::array schemes{
    Scheme{"tcp", make_tcp_transport},
    Scheme{"netio", make_tcp_transport},
    Scheme{"shm", make_shm_transport, UrlForm::name},
    Scheme{"inproc", make_shm_transport, UrlForm::name},
    Scheme{"verbs", make_ofi_transport},
    Scheme{"ofi+", make_ofi_transport},
};

}  // namespace

std::unique_ptr<Transport> make_transport(const std::string& scheme,
                                          const TransportResources& resources) {
  for (const Scheme& each : schemes) {
    const bool open_ended = each.name.ends_with('+');
    if (open_ended && scheme == each.name) {
      throw AddressError("use " + scheme + "://", "the provider is missing",
                         "write it like " + scheme + "tcp://host:5000");
    }
    if (open_ended ? scheme.starts_with(each.name) : scheme == each.name) {
      return each.make(resources, scheme);
    }
  }
  return nullptr;
}

Url parse_address(std::string_view address) {
  const std::string_view scheme = scheme_of(address);
  for (const Scheme& each : schemes) {
    if (scheme == each.name) return parse_url(address, each.form);
  }
  return parse_url(address);
}

std::string known_schemes() {
  std::string names;
  for (const Scheme& each : schemes) {
    if (!names.empty()) names += ", ";
    names += each.name;
    names += each.name.ends_with('+') ? "PROVIDER://" : "://";
  }
  return names;
}

void refuse_nobody(const Url& url) {
  if (url.host == "*") {
    throw AddressError(
        "connect " + to_string(url), "* is every address, not one to connect to",
        "name the host, for example " + url.scheme + "://localhost:" + std::to_string(url.port));
  }
  if (url.port == 0) {
    throw AddressError("connect " + to_string(url), "port 0 is nobody's",
                       "give the port that the other side printed when it was bound");
  }
}

}  // namespace netio::detail
