// A ring of descriptors under a mutex. A thread lives while there are some to be closed.
#include "transport/shm/closing.hpp"

#include <array>
#include <exception>
#include <mutex>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include "transport/shm/unix_socket.hpp"

namespace netio::detail {

struct ClosingLine::Shared {
  Shared() = default;
  // What no thread could be started for is closed here, where it may wait.
  ~Shared() {
    for (; count != 0; --count, ++first) FileDescriptor(waiting[first % room]).reset();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  std::mutex mutex;
  // All that follows is guarded by mutex.
  std::array<int, room> waiting;
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t threads = 0;  // each has one in hand, or is about to
};

ClosingLine::ClosingLine() : shared_(std::make_shared<Shared>()) {}

void ClosingLine::close(FileDescriptor fd) noexcept {
  // In a child of fork() there are no threads, and it is not the last to close what it copied.
  if (!fd || made_at_ != fork_depth()) return;
  const std::lock_guard lock(shared_->mutex);
  Shared& line = *shared_;
  if (line.count == room) return;
  line.waiting[(line.first + line.count++) % room] = fd.release();
  if (line.threads == threads_max) return;
  // The new thread waits for the mutex before it looks at the line.
  try {
    std::thread([shared = shared_] { serve(shared); }).detach();
    ++line.threads;
  } catch (const std::exception&) {
    // Another thread will, or the one that is started for the next.
  }
}

void ClosingLine::serve(const std::shared_ptr<Shared>& shared) noexcept {
  for (;;) {
    FileDescriptor next;
    {
      const std::lock_guard lock(shared->mutex);
      if (shared->count == 0) {
        --shared->threads;
        return;
      }
      next.reset(shared->waiting[shared->first]);
      shared->first = (shared->first + 1) % room;
      --shared->count;
    }
  }
}

void ClosingLine::close_unread(FileDescriptor socket) noexcept {
  if (!socket || made_at_ != fork_depth()) return;
  (void)::shutdown(socket.get(), SHUT_RDWR);
  close(std::move(socket));
}

void ClosingLine::close_emptied(FileDescriptor socket) noexcept {
  if (!socket || made_at_ != fork_depth()) return;
  (void)::shutdown(socket.get(), SHUT_RDWR);  // nothing more comes in
  UnixMessage message;
  while (take_left_over(socket.get(), message)) {
    for (FileDescriptor& each : message.passed) close(std::move(each));
    message.passed.clear();
  }
}

bool ClosingLine::full() const noexcept {
  if (made_at_ != fork_depth()) return false;
  const std::lock_guard lock(shared_->mutex);
  return shared_->count + shared_->threads >= full_at;
}

}  // namespace netio::detail
