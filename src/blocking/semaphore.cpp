// The waiter's sleep: a futex on the count itself, with a deadline.
#include "blocking/semaphore.hpp"

#include <cerrno>
#include <limits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace netio::detail {

namespace {

static_assert(sizeof(std::atomic<std::int32_t>) == sizeof(std::int32_t));

// What is signalled within about a microsecond costs no system call.
constexpr int looks_before_sleep = 1024;

// The nanoseconds of CLOCK_MONOTONIC, which steady_clock is here; negative: none.
std::int64_t deadline_after(std::chrono::nanoseconds timeout) noexcept {
  const std::int64_t now =
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  const bool for_ever =
      timeout.count() < 0 || timeout.count() > std::numeric_limits<std::int64_t>::max() - now;
  return for_ever ? -1 : now + timeout.count();
}

// Returns if the count is another one, after wake(), after a signal, and when the time is over:
// only then true. Without FUTEX_CLOCK_REALTIME this operation's deadline is of CLOCK_MONOTONIC.
bool sleep_while(std::atomic<std::int32_t>& count, std::int32_t value,
                 std::int64_t deadline_ns) noexcept {
  constexpr std::int64_t ns_per_s = 1'000'000'000;
  const timespec deadline{deadline_ns / ns_per_s, deadline_ns % ns_per_s};
  return ::syscall(SYS_futex, &count, FUTEX_WAIT_BITSET_PRIVATE, value,
                   deadline_ns < 0 ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY) != 0 &&
         errno == ETIMEDOUT;
}

}  // namespace

bool Semaphore::wait_longer(std::chrono::nanoseconds timeout) noexcept {
  const std::int64_t deadline_ns = deadline_after(timeout);
  for (int looks = looks_before_sleep; looks != 0; --looks) {
    if (try_wait()) return true;
  }
  if (count_.fetch_sub(1, std::memory_order_acquire) > 0) return true;
  // The next signal() is this waiter's: it makes the count 0, and the waiter has taken it.
  while (count_.load(std::memory_order_acquire) == asleep) {
    std::int32_t expected = asleep;
    if (sleep_while(count_, asleep, deadline_ns)) {
      return !count_.compare_exchange_strong(expected, 0, std::memory_order_acquire);
    }
  }
  return true;
}

void Semaphore::wake() noexcept {
  ::syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace netio::detail
