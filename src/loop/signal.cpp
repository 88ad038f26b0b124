// Signal: an eventfd and a flag. The eventfd is watched edge-triggered, so it is never read; the
// flag keeps all but the first notify() of a burst from writing to it.
#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <utility>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "base/system_error.hpp"

namespace netio {

// The flag is taken before the call-back, so that a notify() during it makes another one. It is
// exchanged, not stored: only that orders what the notifier wrote, whose own exchange found the
// flag already up, before what the call-back reads.
Signal::Signal(Loop& loop, std::function<void()> on_notify) : loop_(loop) {
  detail::FileDescriptor fd = detail::opened(
      [] { return detail::checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "create eventfd"); });
  auto on_ready = [this, on_notify = std::move(on_notify)](std::uint32_t) {
    if (pending_.exchange(false, std::memory_order_acq_rel)) on_notify();
  };
  watch_ = std::make_unique<Watch>(loop, fd.get(), EPOLLIN | EPOLLET, std::move(on_ready));
  fd_ = fd.release();
}

Signal::~Signal() {
  watch_.reset();
  detail::FileDescriptor(fd_).reset();
}

void Signal::notify() noexcept {
  if (pending_.exchange(true, std::memory_order_acq_rel)) return;
  if (loop_.copied_by_fork()) return;  // the eventfd is the parent's too
  const int saved_errno = errno;       // this may be a signal handler
  ::eventfd_write(fd_, 1);
  errno = saved_errno;
}

}  // namespace netio
