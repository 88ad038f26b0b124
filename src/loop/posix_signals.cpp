// PosixSignals: a handler counts each signal in an eventfd, and what the program has blocked itself
// is read from a signalfd. No signal mask is changed, because programs that are started inherit it.
#include "loop/posix_signals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <netio/loop.hpp>
#include <netio/status.hpp>

#include "base/file_descriptor.hpp"
#include "base/fork_watch.hpp"
#include "base/system_error.hpp"

namespace netio {
namespace {

// What the process has of a signal. The handler reads it, at any time and on any thread.
struct Taken {
  std::atomic<unsigned> users{0};
  // An eventfd from which each read takes one signal. It is kept for good: a handler on another
  // thread may be about to write to it.
  std::atomic<int> arrivals{-1};
  struct sigaction before {};  // what was there before the first user
};
static_assert(std::atomic<unsigned>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constinit std::array<Taken, _NSIG> all_taken;
constinit std::atomic<pid_t> taken_by{0};
constinit std::mutex taking;  // held where any of this is changed

Taken& taken(int number) noexcept { return all_taken[static_cast<std::size_t>(number)]; }

// In a child of fork(), and after the last user, the signal is what it was without us. A handler
// that was set meanwhile, and calls this one, has done its work.
extern "C" void on_posix_signal(int number) noexcept {
  const int error = errno;
  const Taken& signal = taken(number);
  if (signal.users.load() != 0 && ::getpid() == taken_by.load()) {
    constexpr std::uint64_t one = 1;
    (void)!::write(signal.arrivals.load(), &one, sizeof one);
  } else if (detail::taken_by_posix_signals(number)) {
    ::sigaction(number, &signal.before, nullptr);
    ::raise(number);  // it is blocked until this returns
  }
  errno = error;
}

// One that came, or 0. Each is read by one of those who wait for it.
int take_arrival(int fd, int number) noexcept {
  std::uint64_t one = 0;
  return ::read(fd, &one, sizeof one) == sizeof one ? number : 0;
}
int take_blocked(int fd) noexcept {
  signalfd_siginfo info;
  return ::read(fd, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

// Whoever has set another handler meanwhile keeps it.
void restore_action(int number) noexcept {
  if (detail::taken_by_posix_signals(number)) ::sigaction(number, &taken(number).before, nullptr);
}

// The child has none of the parent's objects: it has their copies.
void forget_in_child() noexcept {
  for (int number = 1; number < _NSIG; ++number) {
    Taken& signal = taken(number);
    if (signal.users.load() != 0) restore_action(number);
    signal.users.store(0);
    const int arrivals = signal.arrivals.exchange(-1);
    if (arrivals >= 0) ::close(arrivals);  // it is in no table, and tables may be held now
  }
  taking.unlock();
}

void watch_forks() {
  static const int error =
      ::pthread_atfork([] { taking.lock(); }, [] { taking.unlock(); }, forget_in_child);
  if (error != 0) throw detail::system_error("watch for fork()", error);
}

// A descriptor of the caller's own: an epoll takes each only once.
detail::FileDescriptor arrivals_of(int number) {
  watch_forks();
  const std::lock_guard lock(taking);
  const detail::DescriptorChange change;  // after the mutex, in the order in which fork() waits
  Taken& signal = taken(number);
  if (signal.arrivals.load() < 0) {
    signal.arrivals.store(detail::checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE),
                                          "create eventfd"));
  }
  return detail::FileDescriptor(detail::checked(::fcntl(signal.arrivals.load(), F_DUPFD_CLOEXEC, 0),
                                                "duplicate a descriptor"));
}

// Children that nobody waits for stay as they are: the kernel may clear them away.
int flags_for(int number, const struct sigaction& before) noexcept {
  const bool ignored = number == SIGCHLD && before.sa_handler == SIG_IGN;
  return SA_RESTART | SA_ONSTACK | (before.sa_flags & (SA_NOCLDWAIT | SA_NOCLDSTOP)) |
         (ignored ? SA_NOCLDWAIT : 0);
}

void begin_taking(int number) {
  const std::lock_guard lock(taking);
  Taken& signal = taken(number);
  taken_by.store(::getpid());
  if (signal.users.fetch_add(1) != 0) return;
  while (take_arrival(signal.arrivals.load(), number) != 0) {  // of earlier users
  }
  struct sigaction before {};
  ::sigaction(number, nullptr, &before);
  if (before.sa_handler != on_posix_signal) signal.before = before;
  struct sigaction ours {};
  ours.sa_handler = on_posix_signal;
  ours.sa_flags = flags_for(number, before);
  if (::sigaction(number, &ours, nullptr) != 0) {
    const int error = errno;
    signal.users.store(0);
    throw detail::system_error("watch signal " + std::to_string(number), error,
                               "no program can take this signal");
  }
}

// Those that are blocked and pending were meant for the last user.
void end_taking(int number) noexcept {
  const std::lock_guard lock(taking);
  Taken& signal = taken(number);
  if (signal.users.load() == 1) restore_action(number);
  if (signal.users.fetch_sub(1) != 1) return;
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigaddset(&pending, number);
  constexpr timespec at_once{};
  while (::sigtimedwait(&pending, nullptr, &at_once) > 0 || errno == EINTR) {
  }
}

// Throws Error for what is no signal, and for those by which a thread learns of its own fault: if
// their handler returned, the thread would do the same again for ever.
sigset_t checked_set(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : signals) {
    if (::sigaddset(&set, number) != 0) {
      throw detail::system_error("watch signal " + std::to_string(number), errno);
    }
    constexpr std::array faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    if (std::find(faults.begin(), faults.end(), number) != faults.end()) {
      throw Error("watch signal " + std::to_string(number),
                  "it tells of a fault, and a loop cannot answer it",
                  "set a handler of your own for it");
    }
  }
  return set;
}

using OnSignal = std::shared_ptr<const std::function<void(int)>>;

}  // namespace

bool detail::taken_by_posix_signals(int number) noexcept {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == on_posix_signal;
}

struct PosixSignals::Lines {
  // One signal that is not blocked.
  struct Line {
    Line(Loop& loop, int its_number, const OnSignal& on_signal)
        : number(its_number),
          arrivals(arrivals_of(number)),
          watch(loop, arrivals.get(), EPOLLIN,
                [its_number, fd = arrivals.get(), on_signal](std::uint32_t) {
                  if (take_arrival(fd, its_number) != 0) (*on_signal)(its_number);
                }) {
      begin_taking(number);
    }
    ~Line() {
      if (made_at == detail::fork_depth()) end_taking(number);
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    int number;
    unsigned made_at = detail::fork_depth();
    detail::FileDescriptor arrivals;
    Watch watch;
  };

  Lines(Loop& loop, const sigset_t& wanted, const OnSignal& on_signal)
      : blocked(detail::opened([&wanted] {
          return detail::checked(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK),
                                 "create signalfd");
        })),
        watch(loop, blocked.get(), EPOLLIN, [fd = blocked.get(), on_signal](std::uint32_t) {
          if (const int number = take_blocked(fd)) (*on_signal)(number);
        }) {
    for (int number = 1; number < _NSIG; ++number) {
      if (::sigismember(&wanted, number) == 1) {
        lines.push_back(std::make_unique<Line>(loop, number, on_signal));
      }
    }
  }

  detail::FileDescriptor blocked;
  Watch watch;
  std::vector<std::unique_ptr<Line>> lines;
};

// One signal a turn and line: the call-back may destroy this, and the rest stays where it is.
PosixSignals::PosixSignals(Loop& loop, std::initializer_list<int> signals,
                           std::function<void(int)> on_signal)
    : lines_(std::make_unique<Lines>(
          loop, checked_set(signals),
          std::make_shared<const std::function<void(int)>>(std::move(on_signal)))) {}

PosixSignals::~PosixSignals() = default;

}  // namespace netio
