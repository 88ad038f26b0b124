// Watch: one descriptor's place in the epoll. Invariant: it is in there if events_ is not 0.
#include <cassert>
#include <cerrno>
#include <string>
#include <sys/epoll.h>
#include <utility>

#include <netio/loop.hpp>

#include "base/system_error.hpp"

namespace netio {

Watch::Watch(Loop& loop, int fd, std::uint32_t events, std::function<void(std::uint32_t)> on_ready)
    : loop_(loop), fd_(fd), on_ready_(std::move(on_ready)) {
  assert(on_ready_);
  loop_.require_owner("watch a descriptor");
  set_events(events);
  ++loop_.watches_count_;
}

// The epoll of a copy is the parent's too, which goes on watching.
Watch::~Watch() {
  assert(loop_.on_owner_thread());
  --loop_.watches_count_;
  if (events_ != 0 && !loop_.copied_) ::epoll_ctl(loop_.epoll_fd_, EPOLL_CTL_DEL, fd_, nullptr);
  loop_.watch_destroyed(*this);
}

void Watch::set_events(std::uint32_t events) {
  assert(loop_.on_owner_thread());
  assert((events & EPOLLONESHOT) == 0);
  if (events == events_ || loop_.copied_) return;
  const int operation = events == 0 ? EPOLL_CTL_DEL : events_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  epoll_event event{};
  event.events = events;
  event.data.ptr = this;
  if (::epoll_ctl(loop_.epoll_fd_, operation, fd_, &event) != 0) {
    throw detail::system_error(
        "watch descriptor " + std::to_string(fd_), errno,
        errno == EPERM    ? "regular files cannot be watched, they are always ready"
        : errno == EEXIST ? "a descriptor has one watch per loop; dup() it for a second one"
                          : "");
  }
  events_ = events;
}

// Drops what is no longer asked for: an earlier call-back of the same batch may have changed it.
// The function is moved aside while it runs, so that it outlives a Watch it destroys.
void Watch::dispatch(std::uint32_t ready) noexcept {
  ready &= events_ | EPOLLERR | EPOLLHUP;
  if (events_ == 0 || ready == 0) return;
  Loop& loop = loop_;
  auto on_ready = std::move(on_ready_);
  loop.calling_ = this;
  on_ready(ready);
  if (loop.calling_ == this) on_ready_ = std::move(on_ready);
  loop.calling_ = nullptr;
}

}  // namespace netio
