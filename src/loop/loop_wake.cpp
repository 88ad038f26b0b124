// The two descriptors by which a loop wakes itself.
#include "loop/loop_wake.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "base/system_error.hpp"

namespace netio::detail {
namespace {

void add_wake(int epoll_fd, int fd, std::uint32_t events, void* data) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = data;
  checked(::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event), "watch a loop's own descriptor");
}

}  // namespace

LoopWake::LoopWake(int epoll_fd)
    : event_fd_(opened(
          [] { return checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "create eventfd"); })),
      timer_fd_(opened([] {
        return checked(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                       "create timerfd");
      })) {
  add_wake(epoll_fd, event_fd_.get(), EPOLLIN, nullptr);
  add_wake(epoll_fd, timer_fd_.get(), EPOLLIN | EPOLLET, this);
}

// An earlier time than asked for stays: a timer that is stopped and started again with every
// message would otherwise cost a system call each. It wakes the loop once in vain.
void LoopWake::arm(std::int64_t deadline_ns) noexcept {
  if (!fired_ && deadline_ns >= armed_ns_) return;
  fired_ = false;
  armed_ns_ = deadline_ns;
  if (deadline_ns == never_ns) return;  // it has fired, and does so once
  itimerspec when{};
  when.it_value.tv_sec = deadline_ns / 1'000'000'000;
  when.it_value.tv_nsec = deadline_ns % 1'000'000'000;
  ::timerfd_settime(timer_fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

// Level-triggered and read only to turn quiet: what was shown stays until it was dealt with.
void LoopWake::set_readable(bool readable) noexcept {
  if (readable == readable_) return;
  readable_ = readable;
  eventfd_t count;
  if (readable) {
    ::eventfd_write(event_fd_.get(), 1);
  } else {
    ::eventfd_read(event_fd_.get(), &count);
  }
}

}  // namespace netio::detail
