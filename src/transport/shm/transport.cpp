// Checks shm and inproc addresses and makes listeners and links of them.
#include "transport/transport.hpp"

#include <netio/status.hpp>

#include "transport/shm/link.hpp"
#include "transport/shm/listener.hpp"

namespace netio::detail {

namespace {

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const TransportResources& resources) : shared_(resources) {}

  std::unique_ptr<Listener> listen(const Url& url, const LinkOptions& options,
                                   ListenerEvents& events) override {
    refuse_options("bind", url);
    return std::make_unique<ShmListener>(shared_, url, options, events);
  }

  std::unique_ptr<Link> connect(const Url& url, const LinkOptions& options) override {
    refuse_options("connect", url);
    if (url.name == "*") {
      throw AddressError("connect " + to_string(url), "* is any free name, not one to connect to",
                         "give the name that the other side printed when it was bound");
    }
    (void)UnixAddress::of("connect", url);
    return std::make_unique<ShmLink>(shared_, options, url);
  }

 private:
  static void refuse_options(const char* verb, const Url& url) {
    if (url.options.empty()) return;
    throw AddressError(std::string(verb) + " " + to_string(url),
                       url.scheme + " addresses have no option '" + url.options.front().first + "'",
                       "remove what follows the ?");
  }

  ShmShared shared_;
};

}  // namespace

std::unique_ptr<Transport> make_shm_transport(const TransportResources& resources,
                                              const std::string&) {
  return std::make_unique<ShmTransport>(resources);
}

}  // namespace netio::detail
