// One list for the process, under a mutex that no fork() catches locked by another thread.
#include "base/fork_watch.hpp"

#include <mutex>
#include <pthread.h>
#include <type_traits>

#include "base/descriptor_table.hpp"
#include "base/system_error.hpp"

namespace netio::detail {

struct ForkHandlers {
  static void lock() noexcept {
    mutex().lock();
    DescriptorTable::hold();
  }
  static void unlock() noexcept {
    DescriptorTable::go_on();
    mutex().unlock();
  }
  static void in_child() noexcept {
    ++forks_before;
    for (ForkWatch* watch = first; watch != nullptr; watch = watch->next_) watch->in_child_();
    DescriptorTable::let_go();
    unlock();
  }
  // Throws Error.
  static void install() {
    static const int error = pthread_atfork(lock, unlock, in_child);
    if (error != 0) throw system_error("watch for fork()", error);
  }
  // Usable until the process ends, because contexts may be static objects.
  static std::mutex& mutex() noexcept {
    static_assert(std::is_trivially_destructible_v<std::mutex>);
    static std::mutex one;
    return one;
  }

  static inline ForkWatch* first = nullptr;
};

unsigned forks_before = 0;

ForkWatch::ForkWatch(std::function<void()> in_child) : in_child_(std::move(in_child)) {
  ForkHandlers::install();
  const std::lock_guard lock(ForkHandlers::mutex());
  prev_ = nullptr;
  next_ = ForkHandlers::first;
  if (next_ != nullptr) next_->prev_ = this;
  ForkHandlers::first = this;
}

ForkWatch::~ForkWatch() {
  const std::lock_guard lock(ForkHandlers::mutex());
  (prev_ == nullptr ? ForkHandlers::first : prev_->next_) = next_;
  if (next_ != nullptr) next_->prev_ = prev_;
}

}  // namespace netio::detail
