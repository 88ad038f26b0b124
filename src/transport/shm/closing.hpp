// Closes, on a few threads, descriptors that another process passed. A close can wait for as long
// as that process likes (a socket that lingers, a file whose file system does not answer). Owner
// thread only.
#pragma once

#include <cstddef>
#include <memory>

#include "base/file_descriptor.hpp"
#include "base/fork_watch.hpp"

namespace netio::detail {

// The reason that peers are told while the line is full.
inline constexpr const char* closing_is_full =
    "descriptors that other processes passed cannot be closed; end the processes that connected "
    "(ss -xp shows them), or listen at a path that other users may not connect to";

class ClosingLine {
 public:
  // Each may hang in a close.
  static constexpr std::size_t threads_max = 4;
  // With so many open descriptors, in the threads' hands or in the line, the line is full.
  static constexpr std::size_t full_at = 256;

  // Room for a descriptor that may have to be closed at any time, whether the line is full or not.
  class Place {
   public:
    // Throws std::bad_alloc.
    explicit Place(ClosingLine& line) : line_(line) { line_.add_place(); }
    ~Place() { line_.drop_place(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    ClosingLine& line_;
  };

  // Throws std::bad_alloc.
  ClosingLine();
  ~ClosingLine() = default;
  ClosingLine(const ClosingLine&) = delete;
  ClosingLine& operator=(const ClosingLine&) = delete;

  // Takes the descriptor. A thread closes it, also if the line is destroyed before. The caller has
  // a Place for it, or asked full() before it took the descriptor from the system.
  void close(FileDescriptor fd) noexcept;
  // A connection with all that it still holds. It is shut down at once, so that its peer sees the
  // end.
  void close_unread(FileDescriptor socket) noexcept;
  // The connection of a peer of this user. Closed here and now, unless it still holds descriptors.
  void close_emptied(FileDescriptor socket) noexcept;
  // While the line is full, no descriptors of peers are to be taken. If no thread could be started
  // so far, this call tries again.
  [[nodiscard]] bool full() noexcept;

 private:
  struct Shared;
  static void serve(const std::shared_ptr<Shared>& shared) noexcept;
  void add_place();
  void drop_place() noexcept;
  void start_thread(Shared& line) noexcept;
  // The threads hold it too, because they may outlive the line.
  std::shared_ptr<Shared> shared_;
  unsigned made_at_ = fork_depth();
};

}  // namespace netio::detail
