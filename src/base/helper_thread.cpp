// pthread_create, for which std::thread has no attributes.
#include "base/helper_thread.hpp"

#include <cerrno>
#include <memory>
#include <sched.h>
#include <system_error>
#include <utility>

namespace netio::detail {

namespace {

struct Start {
  const char* name;
  std::function<void()> work;
};

extern "C" void* run_helper(void* given) noexcept {
  const std::unique_ptr<Start> start(static_cast<Start*>(given));
  (void)pthread_setname_np(pthread_self(), start->name);
  start->work();
  return nullptr;
}

class NormalPolicy {
 public:
  NormalPolicy() noexcept {
    constexpr sched_param no_priority{};
    pthread_attr_init(&attributes_);
    pthread_attr_setinheritsched(&attributes_, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes_, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes_, &no_priority);
  }
  ~NormalPolicy() { pthread_attr_destroy(&attributes_); }
  NormalPolicy(const NormalPolicy&) = delete;
  NormalPolicy& operator=(const NormalPolicy&) = delete;

  [[nodiscard]] const pthread_attr_t* get() const noexcept { return &attributes_; }

 private:
  pthread_attr_t attributes_;
};

void check(int error) {
  if (error != 0) throw std::system_error(error, std::generic_category(), "start a thread");
}

}  // namespace

void start_helper(const char* name, std::function<void()> work) {
  auto start = std::make_unique<Start>(Start{name, std::move(work)});
  const HelpersStart helpers;
  const NormalPolicy normal;
  pthread_t thread{};
  int error = pthread_create(&thread, normal.get(), run_helper, start.get());
  // Some containers let no thread choose a policy.
  if (error == EPERM) error = pthread_create(&thread, nullptr, run_helper, start.get());
  check(error);
  static_cast<void>(start.release());
  (void)pthread_detach(thread);
}

pthread_t start_joined(const char* name, std::function<void()> work) {
  auto start = std::make_unique<Start>(Start{name, std::move(work)});
  const NoSignals no_signals;
  const OffCore off_core(OffCore::Cores::of_thread);
  pthread_t thread{};
  check(pthread_create(&thread, nullptr, run_helper, start.get()));
  static_cast<void>(start.release());
  return thread;
}

}  // namespace netio::detail
