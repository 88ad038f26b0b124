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
  sleep,     // sleeps at once, in epoll_wait: takes no CPU; a wake-up adds to the latency
  spin,      // never sleeps: the lowest latency, takes a core
  adaptive,  // spins about as long as a wake-up costs, then sleeps
};

// Work that has no descriptor of its own, or that is cheaper to poll than to be woken for.
class NETIO_API Source {
 public:
  virtual ~Source() = default;
  // Does work that is ready, at most about `budget` items, and never sleeps. Returns true if it did
  // any.
  virtual bool poll(int budget) noexcept = 0;
  // Called before the loop sleeps: arms the wake-up. Returns false if work came meanwhile, or if
  // this source cannot be woken; the loop then polls again and does not sleep.
  virtual bool may_sleep() noexcept = 0;
  // A descriptor that becomes readable when there is work after may_sleep() answered true; -1 if a
  // Watch wakes the loop instead. It is watched edge-triggered, so nobody has to read it. Asked for
  // once, by add_source().
  [[nodiscard]] virtual int fd() const noexcept = 0;
};

namespace detail {

// Work that is done once at the end of the turn (of the next one, if none is under way). If it is
// scheduled twice, it still runs once. Leaves the list when destroyed.
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
class OwnerThread;
class TimerHeap;

}  // namespace detail

// Calls back once or periodically. Owner thread only: while another thread runs the loop, the
// constructor and the starts throw Error.
class NETIO_API Timer {
 public:
  // Not running yet. Destroying it stops it; the loop must outlive it.
  Timer(Loop& loop, std::function<void()> on_expiry);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Starting a running timer restarts it. Delays are counted from the turn's time, loop.now().
  void start_once(std::chrono::nanoseconds delay);
  // If a turn takes longer than a period, the periods that were missed are not made up for: the
  // next expiry is the next multiple of the period. A period of zero expires once a turn.
  void start_periodic(std::chrono::nanoseconds period);
  void stop() noexcept;  // no call-back comes any more; allowed if it does not run
  // True from a start until stop(), or until the expiry if it was started once.
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
  // while another thread runs the loop. The loop must outlive the watch.
  Watch(Loop& loop, int fd, std::uint32_t events, std::function<void(std::uint32_t)> on_ready);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Changes what is watched; costs nothing if nothing changes. With no events (0) the descriptor
  // leaves the epoll, and its errors are not reported either.
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

// Wakes the loop from any thread or signal handler. If notify() is called several times before the
// loop gets to it, there is one call-back. Construct it on the owner thread. Destroy it there too,
// when no other thread will call notify() any more.
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

// POSIX signals (SIGINT, ...) as events. While the object lives, a handler of netio takes them, on
// whichever thread they come. The handler that was there before is not called meanwhile, and is
// back once the last object with the signal is destroyed. Signals that have not been told by then
// are discarded. No signal mask is changed: threads may be started before and after, and processes
// that are started get their signals as ever. Only a signal that was ignored before is not ignored
// by a program that posix_spawn() starts. A signal that the program has blocked in all its threads
// arrives too.
//
// Several objects may have the same signal, also in different loops: each time it comes, one of
// them is called. A system call in which a thread of the program waits may end with EINTR, as with
// any handler; netio's own calls go on (signal(7), SA_RESTART).
//
// In a child of fork() the signals do what they did before the objects were made.
class NETIO_API PosixSignals {
 public:
  // The call-back is given the number of the signal. Throws Error if a number is not that of a
  // signal, if the signal cannot be taken (SIGKILL, SIGSTOP), and if it tells of a fault (SIGSEGV,
  // SIGBUS, SIGFPE, SIGILL).
  PosixSignals(Loop& loop, std::initializer_list<int> signals, std::function<void(int)> on_signal);
  ~PosixSignals();
  PosixSignals(const PosixSignals&) = delete;
  PosixSignals& operator=(const PosixSignals&) = delete;

 private:
  struct Lines;
  std::unique_ptr<Lines> lines_;
};

// A loop belongs to the thread that is in run() or run_once(), until the call returns. Meanwhile
// other threads may only call post() and Signal::notify(). A loop that does not run belongs to
// nobody: any thread may use it, or run it, one at a time. So one thread may make the objects in
// the loop, another may run it, and the first may destroy them when the other has ended. The
// program has to put the threads in order, as for any object (by join(), a mutex or a queue).
//
// A turn is: timers, sources, descriptors, posted functions, deferred work. Call-backs may destroy
// whatever they like except the loop. They must not throw, which ends the process, and must not run
// a turn. If a timer, watch or signal outlives its loop, the process ends with a sentence on
// stderr.
//
// In a child of fork() a loop is a copy that cannot be used: run(), and making anything in it,
// throw Error; other calls do nothing. The copy may be destroyed, with all that is in it; this does
// not disturb the loop of the parent. A child that was forked inside a call-back should not return
// from that call-back.
class NETIO_API Loop {
 public:
  // Throws Error if there is no descriptor left.
  explicit Loop(IdlePolicy policy = IdlePolicy::sleep);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs turns until stop(). If stop() was called since the last run(), it returns at once. Throws
  // Error if another thread runs the loop, in a child of fork(), and from inside a call-back; there
  // the Error ends the process, as any exception that leaves a call-back does.
  void run();
  // Runs one turn. Waits for work at most `timeout` (negative: for ever; zero: not at all). Returns
  // true if anything was done.
  bool run_once(std::chrono::nanoseconds timeout);
  // Ends run() after the current turn. Owner thread, or any thread through post().
  void stop() noexcept;
  // True from stop() until run() has returned because of it.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  // Runs `work` in a later turn, on the owner thread. Any thread; may allocate. Throws Error in a
  // child of fork().
  void post(std::function<void()> work);

  // A descriptor for foreign loops: it is readable whenever run_once(0) has something to do, the
  // next timer included. After run_once(0) it is not readable, if every source agreed to sleep.
  [[nodiscard]] int fd();

  // What the loop does when there is nothing to do:
  void set_idle_policy(IdlePolicy policy) noexcept { policy_ = policy; }
  [[nodiscard]] IdlePolicy idle_policy() const noexcept { return policy_; }

  // The steady time. It does not change within a turn; outside of a turn it is read afresh.
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept;
  // True inside of run() or run_once(), and so in every call-back.
  [[nodiscard]] bool in_turn() const noexcept { return in_turn_; }
  // True on the thread that runs the loop; on any thread while none does.
  [[nodiscard]] bool on_owner_thread() const noexcept;
  // True in a child of fork(), where this is a copy of the parent's loop.
  [[nodiscard]] bool copied_by_fork() const noexcept { return copied_; }

  // A source is polled in every turn until it is removed. Neither call is for the data path:
  void add_source(Source& source);
  void remove_source(Source& source) noexcept;

  // For the library. As run(); calls `begun`, which must not throw, when the loop is this thread's.
  void run_from(const std::function<void()>& begun);

  // For the library. run() pins its thread to this core while it runs; -1: it does not.
  void run_on(int cpu) noexcept { cpu_ = cpu; }

  // For the library. defer(): the work is done at the end of the turn. at_end(): it is done when
  // the loop, or the context that owns it, is destroyed, while all of it still works. Work that is
  // destroyed before leaves the lists.
  void defer(detail::Deferred& work) noexcept;
  void at_end(detail::Deferred& work) noexcept;
  void run_endings() noexcept;

  // For the library. Throws Error while another thread runs the loop, and in a child of fork(). The
  // Error says that `operation` was tried, on `what`.
  void require_owner(std::string_view operation, std::string_view what = {}) const {
    if (copied_ || !on_owner_thread()) [[unlikely]]
      refuse(operation, what);
  }
  // For the library. True on the thread that is in run() or run_once(), and nowhere while none is.
  // Any thread.
  [[nodiscard]] bool runs_here() const noexcept;
  // For the library. Who that is, for what outlives the loop.
  [[nodiscard]] std::shared_ptr<const detail::OwnerThread> owner() const noexcept { return owner_; }
  // For the library. Called at the beginning of run() and run_once(); must not throw.
  void at_begin(std::function<void()> work) noexcept { at_begin_ = std::move(work); }
  // For the library. Called in each child of fork() that the owner thread makes, or any thread
  // while the loop does not run, before fork() returns there.
  void at_fork(std::function<void()> work) noexcept { at_fork_ = std::move(work); }

 private:
  friend class Timer;
  friend class Watch;
  class Owning;

  // A source and the descriptor it had when it was added.
  struct SourceEntry {
    Source* source;
    int fd;
  };

  [[noreturn]] void refuse(std::string_view operation, std::string_view what) const;
  void become_copy() noexcept;
  bool turn(std::chrono::nanoseconds timeout);
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
  int cpu_ = -1;
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
  const std::shared_ptr<detail::OwnerThread> owner_;
  detail::DeferredMark deferred_;
  detail::DeferredMark endings_;
  std::vector<SourceEntry> sources_;
  std::unique_ptr<epoll_event[]> batch_;
  std::unique_ptr<detail::TimerHeap> timers_;
  std::unique_ptr<detail::LoopWake> wake_;
  std::unique_ptr<detail::LoopInbox> inbox_;
  int process_;                    // that made it
  std::size_t watches_count_ = 0;  // that live
  std::function<void()> at_begin_;
  std::function<void()> at_fork_;
  std::unique_ptr<detail::ForkWatch> fork_watch_;
};

}  // namespace netio
