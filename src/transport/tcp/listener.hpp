// Accepts TCP connections at one address. Owner thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "base/url.hpp"
#include "transport/tcp/link.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

class TcpListener final : public Listener {
 public:
  // A host name is looked up here and now: binding is set-up. Throws Error.
  TcpListener(TcpShared& shared, const Url& url, const LinkOptions& options,
              ListenerEvents& events);

  [[nodiscard]] std::string address() const override { return address_; }
  void pause(bool paused) noexcept override;

 private:
  void accept_some();
  void update_watch() noexcept;

  TcpShared& shared_;
  const LinkOptions& options_;
  ListenerEvents& events_;
  FileDescriptor fd_;
  std::string address_;
  Timer retry_timer_;  // after running out of descriptors
  bool paused_ = false;
  std::optional<Watch> watch_;
};

}  // namespace netio::detail
