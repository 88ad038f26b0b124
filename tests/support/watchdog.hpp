// Ends the process with a message if a test hangs: a lost wake-up fails instead of waiting for
// ever. One at a time; uses SIGALRM.
#pragma once

#include <csignal>
#include <string_view>
#include <unistd.h>

namespace netio::test {

class Watchdog {
 public:
  explicit Watchdog(unsigned seconds = 60) {
    previous_ = std::signal(SIGALRM, [](int) {
      constexpr std::string_view text = "watchdog: the test hangs (a wake-up was lost?)\n";
      static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
      ::_exit(1);
    });
    ::alarm(seconds);
  }
  ~Watchdog() {
    ::alarm(0);
    std::signal(SIGALRM, previous_);
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void (*previous_)(int);
};

}  // namespace netio::test
