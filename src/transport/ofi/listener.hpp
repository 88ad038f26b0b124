// Accepts connections of a fabric at one address. Owner thread only.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include <netio/loop.hpp>

#include "base/url.hpp"
#include "fabric/passive_endpoint.hpp"
#include "transport/ofi/address_options.hpp"
#include "transport/ofi/fabric_set.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

class OfiListener final : public Listener, private ConnectionOwner, private Deferred {
 public:
  // A host name is looked up here and now: binding is set-up. The device is opened, its memory
  // registered. Throws Error.
  OfiListener(FabricSet& fabrics, const Url& url, const OfiAddressOptions& address,
              const LinkOptions& options, ListenerEvents& events);
  ~OfiListener() override;

  [[nodiscard]] std::string address() const override { return address_; }
  void pause(bool paused) noexcept override;

 private:
  void listen(const Url& url);
  void on_request(Info request) noexcept override;
  std::unique_ptr<Link> take(Info& request);
  void on_connection_failed(int) noexcept override {}  // a request that went again
  void run_deferred() noexcept override;

  FabricSet& fabrics_;
  OfiAddressOptions address_options_;
  const LinkOptions& options_;
  ListenerEvents& events_;
  std::shared_ptr<PassiveEndpoint> endpoint_;  // and every request's until it is taken
  std::string address_;
  std::deque<Info> waiting_;  // requests that came while paused
  bool paused_ = false;
};

}  // namespace netio::detail
