// Closes, on a few threads, what another process chose: a close can wait for as long as that one
// likes (a socket that lingers, a file whose file system does not answer). Owner thread only.
#pragma once

#include <cstddef>
#include <memory>

#include "base/file_descriptor.hpp"
#include "base/fork_watch.hpp"

namespace netio::detail {

class ClosingLine {
 public:
  // Each may hang in a close.
  static constexpr std::size_t threads_max = 4;
  // That are open, in the threads' hands or in the line, when it is full. A message that was begun
  // is still taken in: what one message passes, from each of a few peers, fits on top.
  static constexpr std::size_t full_at = 256;
  static constexpr std::size_t room = 4096;

  // Throws std::bad_alloc.
  ClosingLine();
  ~ClosingLine() = default;
  ClosingLine(const ClosingLine&) = delete;
  ClosingLine& operator=(const ClosingLine&) = delete;

  // Takes it. The close does not wait here while there is room, and is done even if the line goes
  // before.
  void close(FileDescriptor fd) noexcept;
  // A connection, which is shut down at once, so that its peer sees the end.
  void close_unread(FileDescriptor socket) noexcept;
  // The connection of a peer of this user: closed here, once what it still holds is taken out, of
  // which the line closes the descriptors.
  void close_emptied(FileDescriptor socket) noexcept;
  // As many as may wait are open. No stranger is to be let in.
  [[nodiscard]] bool full() const noexcept;

 private:
  struct Shared;
  static void serve(const std::shared_ptr<Shared>& shared) noexcept;
  // The threads hold it too, because they may outlive the line.
  std::shared_ptr<Shared> shared_;
  unsigned made_at_ = fork_depth();
};

}  // namespace netio::detail
