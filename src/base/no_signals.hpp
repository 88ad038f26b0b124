// Keeps the program's signals away from threads that it does not know of.
#pragma once

#include <csignal>

namespace netio::detail {

// While it lives, the calling thread takes no signals, and the threads that it starts never do.
class NoSignals {
 public:
  NoSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace netio::detail
