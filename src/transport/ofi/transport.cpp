// Checks fabric addresses and makes listeners and links of them.
#include "transport/transport.hpp"

#include <set>

#include <netio/status.hpp>

#include "transport/ofi/address_options.hpp"
#include "transport/ofi/link.hpp"
#include "transport/ofi/listener.hpp"

namespace netio::detail {

namespace {

// What no device here can be used with is refused at once. That one has no IP address, or is down,
// is no reason: it may get there.
void refuse_unusable(const std::string& scheme, const std::string& provider) {
  std::string cause = provider == "verbs" ? "this host has no verbs device"
                                          : "there is no provider '" + provider + "' here";
  for (const FabricDevice& one : ofi_devices(provider)) {
    if (one.provider != provider) continue;
    if (!one.scheme.empty()) return;
    cause = "provider '" + provider + "' has no ";
    cause += one.connected ? "RMA, which netio needs" : "connected endpoints, which netio needs";
  }
  std::set<std::string> usable;
  for (const FabricDevice& one : ofi_devices()) {
    if (!one.scheme.empty()) usable.insert(one.scheme + "://");
  }
  std::string advice = "usable here: tcp://";
  for (const std::string& each : usable) advice += ", " + each;
  throw AddressError("use " + scheme + "://", cause, advice + " (netio info shows more)");
}

class OfiTransport final : public Transport {
 public:
  OfiTransport(const TransportResources& resources, const std::string& scheme,
               const std::string& provider)
      : fabrics_(resources, scheme, provider) {
    refuse_unusable(scheme, provider);
  }

  std::unique_ptr<Listener> listen(const Url& url, const LinkOptions& options,
                                   ListenerEvents& events) override {
    return std::make_unique<OfiListener>(fabrics_, url, address_options_of("bind", url), options,
                                         events);
  }

  std::unique_ptr<Link> connect(const Url& url, const LinkOptions& options) override {
    refuse_nobody(url);
    return std::make_unique<OfiLink>(fabrics_, options, url, address_options_of("connect", url));
  }

 private:
  FabricSet fabrics_;
};

}  // namespace

std::unique_ptr<Transport> make_ofi_transport(const TransportResources& resources,
                                              const std::string& scheme) {
  const std::string provider = scheme.substr(scheme.find('+') + 1);
  if (provider == "sockets") {
    throw AddressError("use " + scheme + "://",
                       "libfabric's provider 'sockets' is deprecated there",
                       "use ofi+tcp:// in its place");
  }
  return std::make_unique<OfiTransport>(resources, scheme, provider);
}

}  // namespace netio::detail
