// One bit for each descriptor. Who changes the table counts itself, and fork() waits for the count.
#include "base/descriptor_table.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.hpp"

namespace netio::detail {

namespace {

constexpr std::size_t word_bits = 64;
// As many as Linux lets a process have, unless sysctl fs.nr_open was raised. 128 KiB that are not
// touched until descriptors have such numbers.
constexpr std::size_t descriptors_max = std::size_t{1} << 20U;
// close() may wait for the file that it closes, and has given the number back before. A change that
// takes longer than this is such a close(), or was interrupted by a signal handler that forks.
constexpr std::int64_t wait_ns_max = 100'000'000;

constinit std::array<std::atomic<std::uint64_t>, descriptors_max / word_bits> words{};
constinit std::atomic<std::size_t> words_used{0};
constinit std::atomic<unsigned> changes{0};
constinit std::atomic<bool> held{false};

// Usable until the process ends, because contexts may be static objects.
constinit std::mutex while_held;

// The child closes its copy of the writing end when it has let go. A child that is stopped before,
// by a debugger, is not waited for for ever.
constexpr int let_go_within_ms = 200;
constinit std::array<int, 2> child_has_let_go{-1, -1};

void close_both(std::array<int, 2>& ends) noexcept {
  for (int& end : ends) {
    if (end >= 0) ::close(end);
    end = -1;
  }
}

void wait_for_child() noexcept {
  ::close(child_has_let_go[1]);
  child_has_let_go[1] = -1;
  pollfd end{child_has_let_go[0], POLLIN, 0};
  while (::poll(&end, 1, let_go_within_ms) < 0 && errno == EINTR) {
  }
}

[[nodiscard]] bool has_place(int fd) noexcept {
  return fd >= 0 && static_cast<std::size_t>(fd) < descriptors_max;
}

}  // namespace

DescriptorChange::DescriptorChange() noexcept {
  for (;;) {
    changes.fetch_add(1);
    if (!held.load()) return;
    changes.fetch_sub(1);
    const std::lock_guard until_it_has_forked(while_held);
  }
}

DescriptorChange::~DescriptorChange() { changes.fetch_sub(1); }

void note_descriptor(int fd) noexcept {
  if (!has_place(fd)) return;
  const std::size_t at = static_cast<std::size_t>(fd) / word_bits;
  words[at].fetch_or(std::uint64_t{1} << (static_cast<std::size_t>(fd) % word_bits));
  std::size_t used = words_used.load();
  while (used <= at && !words_used.compare_exchange_weak(used, at + 1)) {
  }
}

// Forgotten first: as soon as it is closed, its number may belong to somebody else.
void close_descriptor(int fd) noexcept {
  const DescriptorChange change;
  if (has_place(fd)) {
    words[static_cast<std::size_t>(fd) / word_bits].fetch_and(
        ~(std::uint64_t{1} << (static_cast<std::size_t>(fd) % word_bits)));
  }
  ::close(fd);
}

void DescriptorTable::hold() noexcept {
  while_held.lock();
  held.store(true);
  const std::int64_t late_ns = system_clock_ns(CLOCK_MONOTONIC) + wait_ns_max;
  while (changes.load() != 0 && system_clock_ns(CLOCK_MONOTONIC) < late_ns) ::sched_yield();
  if (::pipe2(child_has_let_go.data(), O_CLOEXEC) != 0) child_has_let_go = {-1, -1};
}

void DescriptorTable::go_on() noexcept {
  const int saved_errno = errno;  // that of fork()
  if (child_has_let_go[0] >= 0) wait_for_child();
  close_both(child_has_let_go);
  errno = saved_errno;
  held.store(false);
  while_held.unlock();
}

void DescriptorTable::let_go() noexcept {
  const int saved_errno = errno;
  int stand_in = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool stays = false;
  changes.store(0);  // those of threads that are not here
  const std::size_t used = words_used.load();
  for (std::size_t at = 0; at < used; ++at) {
    for (std::uint64_t bits = words[at].exchange(0); bits != 0; bits &= bits - 1) {
      const int fd =
          static_cast<int>(at * word_bits + static_cast<unsigned>(std::countr_zero(bits)));
      if (stand_in < 0) {  // this process has as many as it may have
        ::close(fd);
        stand_in = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        stays = stand_in == fd;
      }
      // A number above the limit of the process, which was lowered since, cannot be taken again.
      if (stand_in >= 0 && stand_in != fd && ::dup3(stand_in, fd, O_CLOEXEC) < 0) ::close(fd);
    }
  }
  if (stand_in >= 0 && !stays) ::close(stand_in);
  close_both(child_has_let_go);
  errno = saved_errno;
}

}  // namespace netio::detail
