// PosixSignals: a signalfd, and the calling thread's signal mask put back at the end.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
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

// Who has a signal blocked on this thread. A mask counts nothing, so the count is kept here.
struct Blocked {
  unsigned users = 0;
  bool by_us = false;  // it was not when the first user came
};
thread_local std::array<Blocked, _NSIG> blocked_here;

Blocked& in_mask(int number) noexcept { return blocked_here[static_cast<std::size_t>(number)]; }

// Of each number once; throws Error for what is no signal.
std::vector<int> checked_numbers(std::initializer_list<int> signals) {
  std::vector<int> numbers;
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : signals) {
    if (::sigaddset(&set, number) != 0) {
      throw detail::system_error("watch signal " + std::to_string(number), errno);
    }
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

sigset_t set_of(const std::vector<int>& numbers) noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : numbers) ::sigaddset(&set, number);
  return set;
}

void discard_pending(const sigset_t& signals) noexcept {
  constexpr timespec at_once{};
  while (::sigtimedwait(&signals, nullptr, &at_once) > 0 || errno == EINTR) {
  }
}

}  // namespace

// One signal a turn: the call-back may destroy this, and the rest stays in the descriptor.
PosixSignals::PosixSignals(Loop& loop, std::initializer_list<int> signals,
                           std::function<void(int)> on_signal)
    : numbers_(checked_numbers(signals)) {
  const sigset_t wanted = set_of(numbers_);
  detail::FileDescriptor fd(
      detail::checked(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK), "create signalfd"));
  watch_ = std::make_unique<Watch>(
      loop, fd.get(), EPOLLIN,
      [descriptor = fd.get(), on_signal = std::move(on_signal)](std::uint32_t) {
        if (const int number = take_signal(descriptor)) on_signal(number);
      });
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &wanted, &before);
  for (const int number : numbers_) {
    if (in_mask(number).users++ == 0) in_mask(number).by_us = ::sigismember(&before, number) == 0;
  }
  fd_ = fd.release();
}

// What others still wait for is left to them, pending or not. The signalfd is left as it is: in a
// child of fork() it is the parent's too.
PosixSignals::~PosixSignals() {
  watch_.reset();
  std::erase_if(numbers_, [](int number) {
    unsigned& users = in_mask(number).users;
    return users != 0 && --users != 0;
  });
  ::close(fd_);
  discard_pending(set_of(numbers_));
  std::erase_if(numbers_, [](int number) { return !in_mask(number).by_us; });
  const sigset_t unblocked = set_of(numbers_);
  ::pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
}

}  // namespace netio
