// A listener on a stream socket of the kernel's (tcp, shm): accepts, pauses, and waits while this
// process has no descriptor for who connects. Owner thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "transport/transport.hpp"

namespace netio::detail {

// So many may wait in the kernel to be accepted.
inline constexpr int accept_queue_max = 1024;

class SocketListener : public Listener {
 public:
  [[nodiscard]] std::string address() const override { return address_; }
  void pause(bool paused) noexcept override;
  void retry() noexcept override;

 protected:
  SocketListener(Loop& loop, ListenerEvents& events);
  // Begins to accept: `fd` is bound and listens at `address`. Once. Throws Error.
  void accept_at(std::string address, FileDescriptor fd);
  [[nodiscard]] bool copied_by_fork() const noexcept { return loop_.copied_by_fork(); }
  // For good: the listening socket is the caller's.
  [[nodiscard]] FileDescriptor stop_accepting() noexcept;
  // Why nobody is let in for now. It is asked again soon. Null if peers may be let in.
  [[nodiscard]] virtual const char* why_not_now() noexcept { return nullptr; }
  // Takes the connection. Throws std::bad_alloc, and has not taken it then.
  [[nodiscard]] virtual std::unique_ptr<Link> link_of(FileDescriptor& connection) = 0;
  // Closes a connection that there is no memory for.
  virtual void discard(FileDescriptor connection) noexcept { connection.reset(); }

 private:
  void accept_some() noexcept;
  void wait_for_descriptors(int error) noexcept;
  void hold_back(const char* why, int error = 0) noexcept;
  void update_watch() noexcept;

  Loop& loop_;
  ListenerEvents& events_;
  std::string address_;
  FileDescriptor fd_;
  std::optional<Watch> watch_;
  Timer retry_timer_;  // runs while a connection could not be accepted
  bool paused_ = false;
  bool exhausted_ = false;  // from the first connection that finds no descriptor until none waits
};

}  // namespace netio::detail
