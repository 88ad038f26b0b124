// The event loop: one thread, one epoll, nothing blocks. Owns nothing but its own descriptors;
// timers, signals, watches and sources register themselves and leave when destroyed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <netio/export.hpp>

struct epoll_event;

namespace netio {

class Loop;

// What a loop does when there is nothing to do.
enum class IdlePolicy : std::uint8_t {
  sleep,     // in epoll_wait, at once: no CPU, a wake-up's latency
  spin,      // never: lowest latency, one core
  adaptive,  // spin about as long as a wake-up costs, then sleep
};

// Work that has no descriptor of its own or is cheaper to poll than to be woken for.
class NETIO_API Source {
 public:
  virtual ~Source() = default;
  // Does ready work, at most about `budget` items, and never sleeps. True if it did any.
  virtual bool poll(int budget) noexcept = 0;
  // Called before the loop sleeps: arms the wake-up. False if work came meanwhile, or if this
  // source cannot be woken; the loop then polls again instead of sleeping.
  virtual bool may_sleep() noexcept = 0;
  // Becomes readable when there is work after may_sleep() said yes; -1 if some Watch does that.
  // Watched edge-triggered: nobody has to read it. Asked once, by add_source().
  [[nodiscard]] virtual int fd() const noexcept = 0;
};

namespace detail {

// Something to do at the end of the turn (of the next one, if none is under way). Scheduling it
// twice is scheduling it once. Leaves the list when destroyed.
class NETIO_API Deferred {
 public:
  Deferred() = default;
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;
  virtual ~Deferred() {
    if (next_ != nullptr) cancel();
  }
  virtual void run_deferred() noexcept = 0;
  void cancel() noexcept;
  [[nodiscard]] bool scheduled() const noexcept { return next_ != nullptr; }

 private:
  friend class netio::Loop;
  Deferred* next_ = nullptr;
  Deferred* prev_ = nullptr;
};

// The fixed point of a circular list of Deferred: its head, or a mark within it.
class NETIO_API DeferredMark final : public Deferred {
 public:
  void run_deferred() noexcept override {}
};

class ForkWatch;
class LoopInbox;
class LoopWake;
class TimerHeap;

}  // namespace detail

// Calls back once or periodically. Owner thread only: another one is refused (Error) by the
// constructor and the starts.
class NETIO_API Timer {
 public:
  // Not running yet. Destroying it stops it; the loop must outlive it.
  Timer(Loop& loop, std::function<void()> on_expiry);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Starting a running timer restarts it. Delays are counted from the turn's time, loop.now().
  void start_once(std::chrono::nanoseconds delay);
  // Missed periods (a turn that took longer) are not made up for: the next expiry is the next
  // multiple of the period after now. A period of zero expires once a turn.
  void start_periodic(std::chrono::nanoseconds period);
  void stop() noexcept;  // no call-back any more; also when it does not run
  // Started, and neither stopped nor, if once, expired.
  [[nodiscard]] bool running() const noexcept { return heap_index_ >= 0; }

 private:
  friend class detail::TimerHeap;
  friend class Loop;
  void start(std::int64_t delay_ns) noexcept;
  void expire() noexcept;

  Loop& loop_;
  std::function<void()> on_expiry_;
  std::int64_t period_ns_ = 0;
  std::ptrdiff_t heap_index_ = -1;
};

// Watches one file descriptor (level-triggered). Does not own it: close it after the watch.
class NETIO_API Watch {
 public:
  // `events` and the argument of the call-back are EPOLLIN, EPOLLOUT, ... of <sys/epoll.h>;
  // EPOLLERR and EPOLLHUP are always reported. Throws Error if the descriptor cannot be polled, and
  // on another thread than the owner's. The loop must outlive it.
  Watch(Loop& loop, int fd, std::uint32_t events, std::function<void(std::uint32_t)> on_ready);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // A no-op when nothing changes. With no events (0) the descriptor leaves the epoll, and its
  // errors are not reported either.
  void set_events(std::uint32_t events);
  // What is watched:
  [[nodiscard]] std::uint32_t events() const noexcept { return events_; }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  friend class Loop;
  void dispatch(std::uint32_t ready) noexcept;

  Loop& loop_;
  int fd_;
  std::uint32_t events_ = 0;
  std::function<void(std::uint32_t)> on_ready_;
};

// Wakes the loop from any thread or signal handler. Several notify() before the loop gets to it
// make one call-back. Construct and destroy on the owner thread, when no other will notify.
class NETIO_API Signal {
 public:
  // Throws Error if there is no descriptor left.
  Signal(Loop& loop, std::function<void()> on_notify);
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void notify() noexcept;  // any thread, async-signal-safe, never blocks

 private:
  Loop& loop_;
  int fd_ = -1;
  std::atomic<bool> pending_{false};
  std::unique_ptr<Watch> watch_;
};

// POSIX signals (SIGINT, ...) as events. Blocks them in the calling thread while it lives, so
// construct it before other threads are started, and destroy it on the same thread. Several may
// have the same signal: one of them is called each time it comes, and it stays blocked until the
// last of them is destroyed. Those still pending then are discarded.
class NETIO_API PosixSignals {
 public:
  // The call-back is given the number of the signal. Throws Error for what is no signal.
  PosixSignals(Loop& loop, std::initializer_list<int> signals, std::function<void(int)> on_signal);
  ~PosixSignals();
  PosixSignals(const PosixSignals&) = delete;
  PosixSignals& operator=(const PosixSignals&) = delete;

 private:
  int fd_ = -1;
  std::unique_ptr<Watch> watch_;
  std::vector<int> numbers_;
};

// One loop belongs to one thread: the one that first runs it. From other threads only post() and
// Signal::notify(). A turn is: timers, sources, descriptors, posted functions, deferred work.
// Call-backs may destroy whatever they like except the loop, must not throw (that ends the
// process) and must not run a turn themselves. Timers, watches and signals that outlive their loop
// end the process with a word on stderr.
//
// In a child of fork() a loop is a copy and of no use: run() and all that is made in it throw Error
// there, other calls do nothing. It may be destroyed, with what is in it, and the parent's is none
// the worse. A child forked inside a call-back should not return from it.
class NETIO_API Loop {
 public:
  // Throws Error if there is no descriptor left.
  explicit Loop(IdlePolicy policy = IdlePolicy::sleep);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Turns until stop(). Returns at once if stop() came before it since the last run(). Throws Error
  // from inside a call-back, which as a call-back must not throw ends the program with these words;
  // on another thread than the owner's; and in a child of fork().
  void run();
  // One turn. Waits for work at most `timeout` (negative: for ever; zero: not at all). True if
  // anything was done.
  bool run_once(std::chrono::nanoseconds timeout);
  // Ends run() after the current turn. Owner thread, or any thread through post().
  void stop() noexcept;
  // stop() came, and run() has not returned because of it.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  // Runs `work` in a later turn, on the owner thread. Any thread; may allocate. Throws Error in a
  // child of fork().
  void post(std::function<void()> work);

  // For foreign loops: readable whenever run_once(0) has something to do, the next timer
  // included. After run_once(0) it is quiet only if every source agreed to sleep.
  [[nodiscard]] int fd();

  // What it does when there is nothing to do:
  void set_idle_policy(IdlePolicy policy) noexcept { policy_ = policy; }
  [[nodiscard]] IdlePolicy idle_policy() const noexcept { return policy_; }

  // Steady time, constant within a turn; outside one it is read afresh.
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept;
  // Inside of run() or run_once(), and so of every call-back.
  [[nodiscard]] bool in_turn() const noexcept { return in_turn_; }
  // True on the thread the loop belongs to (any thread before the first turn).
  [[nodiscard]] bool on_owner_thread() const noexcept;
  // True in a child of fork(), where this is a copy of the parent's loop.
  [[nodiscard]] bool copied_by_fork() const noexcept { return copied_; }

  // Sources are polled every turn until removed; neither call is for the data path:
  void add_source(Source& source);
  void remove_source(Source& source) noexcept;

  // For the library. At the end of the turn; and when the loop, or the context that owns it, is
  // destroyed, while all of it still works. Work that is destroyed before leaves.
  void defer(detail::Deferred& work) noexcept;
  void at_end(detail::Deferred& work) noexcept;
  void run_endings() noexcept;

  // For the library. Throws Error on another thread than the owner's and in a child of fork():
  // `operation`, and what it was to be done to, is what was tried.
  void require_owner(std::string_view operation, std::string_view what = {}) const {
    if (copied_ || !on_owner_thread()) [[unlikely]]
      refuse(operation, what);
  }
  // For the library. Called in each child of fork() that the owner thread makes, before fork()
  // returns there.
  void at_fork(std::function<void()> work) noexcept { at_fork_ = std::move(work); }

 private:
  friend class Timer;
  friend class Watch;

  // A source and the descriptor it had when it was added.
  struct SourceEntry {
    Source* source;
    int fd;
  };

  [[noreturn]] void refuse(std::string_view operation, std::string_view what) const;
  void become_copy() noexcept;
  void claim_thread();
  bool gather(std::int64_t give_up_ns) noexcept;
  bool polls_sources_only() noexcept;
  bool wants_sleep() noexcept;
  bool expire_timers() noexcept;
  bool poll_sources() noexcept;
  void poll_sources(std::ptrdiff_t begin, std::ptrdiff_t end) noexcept;
  bool sources_may_sleep() noexcept;
  bool look(bool sleep, std::int64_t give_up_ns) noexcept;
  bool dispatch() noexcept;
  bool run_deferred() noexcept;
  void settle_foreign() noexcept;
  void timer_started() noexcept;
  void watch_destroyed(const Watch& watch) noexcept;
  [[nodiscard]] std::int64_t turn_ns() const noexcept;
  [[nodiscard]] bool has_deferred() const noexcept { return deferred_.next_ != &deferred_; }

  int epoll_fd_ = -1;
  IdlePolicy policy_;
  bool copied_ = false;
  bool in_turn_ = false;
  bool stopped_ = false;
  bool foreign_ = false;         // fd() was called: keep it up at the end of each turn
  bool worked_ = false;          // the last turn did something
  bool sources_worked_ = false;  // the last poll of the sources did something
  int source_polls_ = 0;         // since timers and descriptors were last looked at
  int ready_count_ = 0;          // of batch_
  int ready_next_ = 0;           // the first of batch_ that is not dispatched yet
  std::ptrdiff_t source_index_ = 0;
  std::ptrdiff_t first_polled_ = 0;   // in the last turn
  mutable std::int64_t turn_ns_ = 0;  // 0: not read yet in this turn
  std::int64_t last_work_ns_ = 0;     // kept up for IdlePolicy::adaptive only
  const void* calling_ = nullptr;     // the Timer or Watch being called; null once destroyed
  std::atomic<const void*> owner_{nullptr};
  detail::DeferredMark deferred_;
  detail::DeferredMark endings_;
  std::vector<SourceEntry> sources_;
  std::unique_ptr<epoll_event[]> batch_;
  std::unique_ptr<detail::TimerHeap> timers_;
  std::unique_ptr<detail::LoopWake> wake_;
  std::unique_ptr<detail::LoopInbox> inbox_;
  int process_;                    // that made it
  std::size_t watches_count_ = 0;  // that live
  std::function<void()> at_fork_;
  std::unique_ptr<detail::ForkWatch> fork_watch_;
};

}  // namespace netio
