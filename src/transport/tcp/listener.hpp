// Accepts TCP connections at one address. Owner thread only.
#pragma once

#include <memory>
#include <string>

#include "base/url.hpp"
#include "transport/socket_listener.hpp"
#include "transport/tcp/link.hpp"

namespace netio::detail {

class TcpListener final : public SocketListener {
 public:
  // A host name is looked up here and now: binding is set-up. Throws Error.
  TcpListener(TcpShared& shared, const Url& url, const LinkOptions& options,
              ListenerEvents& events);

 private:
  [[nodiscard]] std::unique_ptr<Link> link_of(FileDescriptor& connection) override;

  TcpShared& shared_;
  const LinkOptions& options_;
  std::string scheme_;
};

}  // namespace netio::detail
