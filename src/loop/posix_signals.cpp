// PosixSignals: a signalfd, and the calling thread's signal mask put back at the end.
#include <cerrno>
#include <signal.h>
#include <string>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include <netio/loop.hpp>

#include "base/file_descriptor.hpp"
#include "base/system_error.hpp"

namespace netio {
namespace {

// One pending signal taken from the descriptor, or 0 if there is none.
int take_signal(int fd) noexcept {
  signalfd_siginfo info;
  const ssize_t bytes = ::read(fd, &info, sizeof info);  // never interrupted: it never waits
  return bytes == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace

// One signal a turn: the call-back may destroy this, and the rest stays in the descriptor.
PosixSignals::PosixSignals(Loop& loop, std::initializer_list<int> signals,
                           std::function<void(int)> on_signal) {
  sigset_t wanted;
  sigset_t blocked;
  ::sigemptyset(&wanted);
  for (const int number : signals) {
    if (::sigaddset(&wanted, number) != 0) {
      throw detail::system_error("watch signal " + std::to_string(number), errno);
    }
  }
  detail::FileDescriptor fd(
      detail::checked(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK), "create signalfd"));
  watch_ = std::make_unique<Watch>(
      loop, fd.get(), EPOLLIN,
      [descriptor = fd.get(), on_signal = std::move(on_signal)](std::uint32_t) {
        if (const int number = take_signal(descriptor)) on_signal(number);
      });
  newly_blocked_.reserve(signals.size());
  ::pthread_sigmask(SIG_BLOCK, &wanted, &blocked);
  for (const int number : signals) {
    if (::sigismember(&blocked, number) == 0) newly_blocked_.push_back(number);
  }
  fd_ = fd.release();
}

PosixSignals::~PosixSignals() {
  watch_.reset();
  while (take_signal(fd_) != 0) {
  }
  ::close(fd_);
  sigset_t unblocked;
  ::sigemptyset(&unblocked);
  for (const int number : newly_blocked_) ::sigaddset(&unblocked, number);
  ::pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
}

}  // namespace netio
