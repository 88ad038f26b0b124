#include "worker/descriptors.hpp"

#include <cerrno>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>

namespace netio::bench {

void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

TimerDescriptor::TimerDescriptor()
    : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (fd_ < 0) fail("timerfd_create");
}
TimerDescriptor::~TimerDescriptor() { close(fd_); }
void TimerDescriptor::set(std::int64_t ns) const noexcept {
  itimerspec when{};
  when.it_value.tv_sec = ns / 1'000'000'000;
  when.it_value.tv_nsec = ns % 1'000'000'000;
  timerfd_settime(fd_, TFD_TIMER_ABSTIME, &when, nullptr);
}

StopEvent::StopEvent() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) fail("eventfd");
}
StopEvent::~StopEvent() { close(fd_); }
void StopEvent::tell() const noexcept {
  const std::uint64_t one = 1;
  (void)!write(fd_, &one, sizeof one);
}

Epoll::Epoll(Wait wait)
    : fd_(epoll_create1(EPOLL_CLOEXEC)), timeout_ms_(wait == Wait::sleep ? -1 : 0) {
  if (fd_ < 0) fail("epoll_create1");
}
Epoll::~Epoll() { close(fd_); }

void Epoll::add(int fd, std::uint32_t events, std::uint64_t key) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

void Epoll::change(int fd, std::uint32_t events, std::uint64_t key) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event) != 0) fail("epoll_ctl");
}

void Epoll::remove(int fd) const noexcept { epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr); }

std::span<const epoll_event> Epoll::wait() noexcept {
  const int count = epoll_wait(fd_, ready_.data(), static_cast<int>(ready_.size()), timeout_ms_);
  return {ready_.data(), count < 0 ? 0U : static_cast<std::size_t>(count)};
}

}  // namespace netio::bench
