// A list of descriptors under a mutex. A thread lives while there are some to be closed.
#include "transport/shm/closing.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "base/helper_thread.hpp"
#include "transport/shm/unix_socket.hpp"

namespace netio::detail {

namespace {
// Descriptors that come without a Place: up to full_at, what one message passes, and one more for
// each listener that closes.
constexpr std::size_t room_without_place = 4 * ClosingLine::full_at;
}  // namespace

struct ClosingLine::Shared {
  Shared() { waiting.reserve(room_without_place); }
  // What no thread could be started for is closed here, where it may wait.
  ~Shared() {
    for (const int fd : waiting) FileDescriptor(fd).reset();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  std::mutex mutex;
  // All that follows is guarded by mutex.
  std::vector<int> waiting;  // has room for one more for each place, and room_without_place
  std::size_t places = 0;
  std::size_t threads = 0;  // each has one in hand, or is about to
};

ClosingLine::ClosingLine() : shared_(std::make_shared<Shared>()) {}

void ClosingLine::add_place() {
  if (made_at_ != fork_depth()) return;
  const std::lock_guard lock(shared_->mutex);
  const std::size_t room = shared_->waiting.size() + shared_->places + 1 + room_without_place;
  if (room > shared_->waiting.capacity()) shared_->waiting.reserve(2 * room);
  ++shared_->places;
}

void ClosingLine::drop_place() noexcept {
  if (made_at_ != fork_depth()) return;
  const std::lock_guard lock(shared_->mutex);
  --shared_->places;
}

void ClosingLine::close(FileDescriptor fd) noexcept {
  // In a child of fork() there are no threads, and it is not the last to close what it copied.
  if (!fd || made_at_ != fork_depth()) return;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting.size() == shared_->waiting.capacity()) return;
  shared_->waiting.push_back(fd.release());
  start_thread(*shared_);
}

// With the mutex held: the new thread waits for it before it looks at the line.
void ClosingLine::start_thread(Shared& line) noexcept {
  if (line.threads == threads_max) return;
  try {
    start_helper("netio-closing", [shared = shared_] { serve(shared); });
    ++line.threads;
  } catch (const std::exception&) {
    // The other threads close it; or the thread that full() or the next close() starts.
  }
}

void ClosingLine::serve(const std::shared_ptr<Shared>& shared) noexcept {
  for (;;) {
    FileDescriptor next;
    {
      const std::lock_guard lock(shared->mutex);
      if (shared->waiting.empty()) {
        --shared->threads;
        return;
      }
      next.reset(shared->waiting.back());
      shared->waiting.pop_back();
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
  if (!drop_messages(socket.get())) close(std::move(socket));
}

bool ClosingLine::full() noexcept {
  if (made_at_ != fork_depth()) return false;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->threads == 0 && !shared_->waiting.empty()) start_thread(*shared_);
  return shared_->waiting.size() + shared_->threads >= full_at;
}

}  // namespace netio::detail
