#include "interrupt.hpp"

#include <atomic>
#include <csignal>
#include <unistd.h>
#include <utility>

namespace netio::cli {

namespace {

std::atomic<Signal*> to_notify{nullptr};
std::atomic<bool> was_requested{false};
static_assert(std::atomic<Signal*>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler uses them");

extern "C" void handle_interrupt(int) {
  was_requested.store(true);
  if (Signal* const signal = to_notify.load(); signal != nullptr) signal->notify();
  // A system call that began between our looking and blocking is woken a second later.
  ::alarm(1);
}

extern "C" void handle_alarm(int) { ::alarm(1); }

void handle(int signo, void (*handler)(int)) noexcept {
  struct sigaction action {};
  action.sa_handler = handler;  // No SA_RESTART: blocking calls are to end.
  ::sigaction(signo, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt(Loop& loop, std::function<void()> on_interrupt)
    : signal_(loop, std::move(on_interrupt)) {
  to_notify.store(&signal_);
  handle(SIGALRM, handle_alarm);
  handle(SIGINT, handle_interrupt);
  handle(SIGTERM, handle_interrupt);
  struct sigaction before {};
  ::sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) handle(SIGHUP, handle_interrupt);  // else as nohup wants it
}

Interrupt::~Interrupt() {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
  struct sigaction hang_up {};
  ::sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) handle(SIGHUP, SIG_DFL);
  ::alarm(0);
  to_notify.store(nullptr);
}

bool Interrupt::requested() noexcept { return was_requested.load(); }

}  // namespace netio::cli
