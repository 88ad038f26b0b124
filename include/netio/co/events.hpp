// Events of the loop to be awaited: time, a signal of another thread, POSIX signals, a descriptor.
// Each object is awaited by one coroutine at a time (a second one gets an Error, thrown from its
// co_await), and one that waits when the object is destroyed is told so by the loop.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <netio/co/waiter.hpp>

namespace netio::detail {

class SleepAwaiter {
 public:
  SleepAwaiter(Loop& loop, std::chrono::nanoseconds time)
      : time_(time), timer_(loop, [this] { waiting_.resume(); }) {}

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    timer_.start_once(time_);
  }
  static void await_resume() noexcept {}

 private:
  std::chrono::nanoseconds time_;
  std::coroutine_handle<> waiting_;
  Timer timer_;
};

}  // namespace netio::detail

namespace netio::co {

// co_await sleep(loop, 10ms): counted from the turn's time, as timers are.
[[nodiscard]] inline detail::SleepAwaiter sleep(Loop& loop, std::chrono::nanoseconds time) {
  return detail::SleepAwaiter(loop, time);
}

// Notified from any thread or signal handler. A notify() that nobody waits for is kept; several
// make one.
class Signal {
 public:
  // As netio::Signal: made and destroyed on the owner thread.
  explicit Signal(Loop& loop) : loop_(loop), signal_(loop, [this] { came(); }) {}
  ~Signal() { place_.resume_later(loop_, false); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void notify() noexcept { signal_.notify(); }  // any thread, async-signal-safe, never blocks
  // Gives true; false if this was destroyed.
  [[nodiscard]] auto wait() noexcept {
    return std::exchange(kept_, false) ? decltype(place_)::at_once(true) : place_.wait();
  }

 private:
  void came() noexcept {
    if (!place_.taken()) {
      kept_ = true;
    } else {
      place_.resume(true);
    }
  }

  Loop& loop_;
  detail::WaitingPlace<bool> place_;
  bool kept_ = false;
  netio::Signal signal_;
};

// SIGINT and others; blocks them as netio::PosixSignals does. Those that nobody waits for are kept,
// each once.
class PosixSignals {
 public:
  // As netio::PosixSignals. Throws Error for what is no signal.
  PosixSignals(Loop& loop, std::initializer_list<int> signals)
      : loop_(loop), signals_(loop, signals, [this](int number) { came(number); }) {}
  ~PosixSignals() { place_.resume_later(loop_, 0); }
  PosixSignals(const PosixSignals&) = delete;
  PosixSignals& operator=(const PosixSignals&) = delete;

  // Gives the number of a signal; 0 if this was destroyed.
  [[nodiscard]] auto wait() noexcept {
    if (kept_ == 0) return place_.wait();
    const int number = std::countr_zero(kept_) + 1;
    kept_ &= kept_ - 1;
    return decltype(place_)::at_once(number);
  }

 private:
  // Linux numbers them from 1 to 64.
  void came(int number) noexcept {
    if (!place_.taken()) {
      kept_ |= std::uint64_t{1} << (number - 1);
    } else {
      place_.resume(number);
    }
  }

  Loop& loop_;
  detail::WaitingPlace<int> place_;
  std::uint64_t kept_ = 0;
  netio::PosixSignals signals_;
};

// A file descriptor, which stays the caller's: close it after this.
class Descriptor {
 public:
  // Not watched before somebody waits.
  Descriptor(Loop& loop, int fd)
      : loop_(loop), watch_(loop, fd, 0, [this](std::uint32_t events) { ready(events); }) {}
  ~Descriptor() { place_.resume_later(loop_, 0); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // To be awaited at once: it watches from now on.
  // Waits for EPOLLIN, EPOLLOUT, ... of <sys/epoll.h>, and gives those that came, EPOLLERR and
  // EPOLLHUP among them; 0 if this was destroyed. Throws Error for what cannot be polled.
  [[nodiscard]] auto wait(std::uint32_t events) {
    place_.check_free();
    watch_.set_events(events);
    return place_.wait();
  }

 private:
  // Asked for again it is still watched: one system call less.
  void ready(std::uint32_t events) {
    if (!place_.taken()) {
      watch_.set_events(0);
    } else {
      place_.resume(events);
    }
  }

  Loop& loop_;
  detail::WaitingPlace<std::uint32_t> place_;
  Watch watch_;
};

}  // namespace netio::co
