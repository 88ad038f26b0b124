// Accepts shm connections at a name or a path. Owner thread only.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "transport/shm/link.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

class ShmListener final : public Listener {
 public:
  // Throws Error: the name is taken, no right to make the file.
  ShmListener(ShmShared& shared, const Url& url, const LinkOptions& options,
              ListenerEvents& events);
  ~ShmListener() override;
  [[nodiscard]] std::string address() const override { return address_; }
  void pause(bool paused) noexcept override;

 private:
  void accept_some();
  void update_watch() noexcept;

  ShmShared& shared_;
  const LinkOptions& options_;
  ListenerEvents& events_;
  std::string address_;
  std::string path_;  // of the file we made; empty for a name
  ino_t inode_ = 0;
  FileDescriptor fd_;
  std::optional<Watch> watch_;
  Timer retry_timer_;
  bool paused_ = false;
};

}  // namespace netio::detail
