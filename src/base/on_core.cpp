// sched_setaffinity, for the calling thread.
#include "base/on_core.hpp"

#include <cerrno>
#include <cstddef>
#include <string>
#include <unistd.h>

#include "base/system_error.hpp"

namespace netio::detail {

namespace {

// What the calling thread had before its outermost OnCore; null without one.
constinit thread_local const cpu_set_t* cores_before = nullptr;

bool read_cores(pid_t thread, cpu_set_t& cores) noexcept {
  CPU_ZERO(&cores);
  return sched_getaffinity(thread, sizeof cores, &cores) == 0;
}

}  // namespace

OnCore::OnCore(int cpu) {
  if (cpu < 0) return;
  CPU_ZERO(&core_);
  if (cpu >= CPU_SETSIZE) throw system_error("pin the thread to a core", EINVAL);
  CPU_SET(static_cast<std::size_t>(cpu), &core_);
  const bool known = read_cores(0, before_);
  if (sched_setaffinity(0, sizeof core_, &core_) != 0) {
    throw system_error("pin the thread to core " + std::to_string(cpu), errno,
                       "the core must exist and be allowed (taskset -p shows which are)");
  }
  pinned_ = known;
  outermost_ = known && cores_before == nullptr;
  if (outermost_) cores_before = &before_;
}

OnCore::~OnCore() {
  if (!pinned_) return;
  if (outermost_) cores_before = nullptr;
  cpu_set_t now;
  if (read_cores(0, now) && CPU_EQUAL(&now, &core_)) {
    (void)sched_setaffinity(0, sizeof before_, &before_);
  }
}

OffCore::OffCore(Cores cores) noexcept {
  if (!read_cores(0, before_)) return;
  cpu_set_t wanted = cores_before != nullptr ? *cores_before : before_;
  cpu_set_t process;
  if (cores == Cores::of_process && read_cores(::getpid(), process)) {
    CPU_OR(&wanted, &wanted, &process);
  }
  changed_ = !CPU_EQUAL(&wanted, &before_) && sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

OffCore::~OffCore() {
  if (changed_) (void)sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace netio::detail
