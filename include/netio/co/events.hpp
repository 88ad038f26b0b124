// Events of the loop that coroutines await: time, a signal of another thread, POSIX signals, a
// descriptor. One coroutine at a time may await an object; a second one gets an Error, thrown from
// its co_await. If an object is destroyed while a coroutine waits for it, the loop tells the
// coroutine.
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

// Waits for this time: co_await sleep(loop, 10ms). It is counted from the time of the turn, as that
// of timers is.
[[nodiscard]] inline detail::SleepAwaiter sleep(Loop& loop, std::chrono::nanoseconds time) {
  return detail::SleepAwaiter(loop, time);
}

// A signal that any thread or signal handler may notify. If notify() is called while no coroutine
// waits, it is kept for the next wait(); several are kept as one.
class Signal {
 public:
  // Make and destroy it on the owner thread, as netio::Signal.
  explicit Signal(Loop& loop) : loop_(loop), signal_(loop, [this] { came(); }) {}
  ~Signal() { place_.resume_later(loop_, false); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void notify() noexcept { signal_.notify(); }  // any thread, async-signal-safe, never blocks
  // Waits for a notify(), and gives true; false if this object was destroyed.
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

// SIGINT and others; takes them as netio::PosixSignals does. Signals that come while no coroutine
// waits are kept for the next wait(), each number once.
class PosixSignals {
 public:
  // As netio::PosixSignals. Throws Error if a number is not that of a signal.
  PosixSignals(Loop& loop, std::initializer_list<int> signals)
      : loop_(loop), signals_(loop, signals, [this](int number) { came(number); }) {}
  ~PosixSignals() { place_.resume_later(loop_, 0); }
  PosixSignals(const PosixSignals&) = delete;
  PosixSignals& operator=(const PosixSignals&) = delete;

  // Waits for a signal, and gives its number; 0 if this object was destroyed.
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

// A file descriptor. It stays the caller's: close it after this object was destroyed.
class Descriptor {
 public:
  // It is not watched before a coroutine waits.
  Descriptor(Loop& loop, int fd)
      : loop_(loop), watch_(loop, fd, 0, [this](std::uint32_t events) { ready(events); }) {}
  ~Descriptor() { place_.resume_later(loop_, 0); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Waits for EPOLLIN, EPOLLOUT, ... of <sys/epoll.h>, and gives those that came, EPOLLERR and
  // EPOLLHUP among them; 0 if this object was destroyed. The descriptor is watched from this call
  // on, so await the result at once. Throws Error if the descriptor cannot be polled.
  [[nodiscard]] auto wait(std::uint32_t events) {
    place_.check_free();
    watch_.set_events(events);
    return place_.wait();
  }

 private:
  // If a coroutine waits again at once, the descriptor is still watched: that saves a system call.
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
