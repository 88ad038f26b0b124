// Checks tcp addresses and makes listeners and links of them.
#include "transport/transport.hpp"

#include <netio/status.hpp>

#include "transport/tcp/link.hpp"
#include "transport/tcp/listener.hpp"

namespace netio::detail {

namespace {

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(const TransportResources& resources) : shared_{resources} {}

  std::unique_ptr<Listener> listen(const Url& url, const LinkOptions& options,
                                   ListenerEvents& events) override {
    refuse_options("bind", url);
    return listen_on_tcp(shared_, url, options, events);
  }

  std::unique_ptr<Link> connect(const Url& url, const LinkOptions& options) override {
    refuse_options("connect", url);
    refuse_nobody(url);
    return std::make_unique<TcpLink>(shared_, options, url);
  }

 private:
  static void refuse_options(const char* verb, const Url& url) {
    if (url.options.empty()) return;
    throw AddressError(std::string(verb) + " " + to_string(url),
                       url.scheme + " addresses have no option '" + url.options.front().first + "'",
                       "remove what follows the ?");
  }

  TcpShared shared_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(const TransportResources& resources,
                                              const std::string&) {
  return std::make_unique<TcpTransport>(resources);
}

}  // namespace netio::detail
