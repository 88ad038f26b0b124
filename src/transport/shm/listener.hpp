// Accepts shm connections at a name or a path. Owner thread only.
#pragma once

#include <memory>

#include "base/url.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/socket_file.hpp"
#include "transport/socket_listener.hpp"

namespace netio::detail {

class ShmListener final : public SocketListener {
 public:
  // Throws Error: the name is taken, no right to make the file, somebody holds the folder's lock.
  ShmListener(ShmShared& shared, const Url& url, const LinkOptions& options,
              ListenerEvents& events);
  ~ShmListener() override;

 private:
  void end_who_waits() noexcept;
  [[nodiscard]] const char* why_not_now() noexcept override;
  [[nodiscard]] std::unique_ptr<Link> link_of(FileDescriptor& connection) override;
  void discard(FileDescriptor connection) noexcept override;

  ShmShared& shared_;
  const LinkOptions& options_;
  SocketFile file_;
};

}  // namespace netio::detail
