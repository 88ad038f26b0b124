// A context, and what becomes of its sockets: which of them have something to tell after a turn,
// and those that Python let go of on another thread. The loop turns without the lock of the
// interpreter; whatever a turn finds out is told after it, with the lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <thread>
#include <vector>

#include <netio/context.hpp>

#include "waiters.hpp"

namespace netio::python {

namespace nb = nanobind;

class SocketState;

class ContextState {
 public:
  explicit ContextState(const ContextOptions& options);
  // On another thread than its own the memory is left to the end of the process: nothing may be
  // destroyed there, and nobody is left who could do it elsewhere.
  ~ContextState();
  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;

  // The context. Throws ClosedError once it is closed, and Error on another thread or in a child of
  // fork().
  Context& use(const char* operation);
  // The same without a word: null where use() would throw.
  [[nodiscard]] Context* usable() const noexcept;
  [[nodiscard]] bool destroyed() const noexcept { return context_ == nullptr; }

  // One turn, which waits for work at most so long (negative: for ever). Then tells what it found.
  // Returns true if anything was done.
  bool turn(std::chrono::nanoseconds timeout);
  // Turns until `done` answers true, or the time is over, and looks for signals of Python (Ctrl-C)
  // meanwhile. A negative time is for ever. Returns what `done` answered last.
  template <class Done>
  bool turn_until(std::chrono::nanoseconds timeout, Done&& done);

  // Turns until something was done, in the same way. Returns whether it was.
  bool turn_until_work(std::chrono::nanoseconds timeout);

  // One turn from inside a task of asyncio, in place of a way through its event loop, while
  // messages stream in. False if it is time to let other tasks run.
  bool turn_in_task();
  void event_loop_is_here() noexcept { turns_in_task_ = 0; }

  // Begins to close all sockets; closed() is true when that is done.
  void close(std::chrono::nanoseconds linger);
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  // Destroys the sockets that are left, and then the context.
  void destroy();

  // A socket of this context. Owner thread.
  void add(SocketState& socket) { sockets_.push_back(&socket); }
  void remove(SocketState& socket) noexcept;
  // The socket has something to tell after this turn. Owner thread, without the lock.
  void tell(SocketState& socket) { telling_.push_back(&socket); }
  // Runs `work` in the next turn, which comes at once, without the lock. Any thread, with the lock.
  void post(std::function<void()> work) noexcept;
  // Nobody has the socket any more: it closes, now or with the next turn if this is another thread,
  // delivers what it has taken, and is destroyed.
  void bury(std::unique_ptr<SocketState> socket) noexcept;

  // The event loop of asyncio that turns this loop; none if there is none.
  nb::object asyncio_loop = nb::none();
  // Wait for the end of close().
  Waiters closing;

 private:
  void tell_all();
  void empty_grave() noexcept;
  void leave(std::unique_ptr<SocketState> socket) noexcept;
  static std::chrono::nanoseconds now() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  // The longest sleep between two looks for signals: one that comes just before a sleep ends it
  // only then.
  static constexpr std::chrono::nanoseconds sleep_max = std::chrono::milliseconds(100);
  static std::chrono::nanoseconds slice(std::chrono::nanoseconds timeout,
                                        std::chrono::nanoseconds begin) noexcept;
  void refuse_to_block();
  // Also before the first turn.
  [[nodiscard]] bool turned_here() const noexcept {
    return turned_by_ == std::thread::id() || turned_by_ == std::this_thread::get_id();
  }

  std::unique_ptr<Context> context_;
  // The thread whose context it is. A loop is nobody's between two turns, but code of Python runs
  // there that belongs to this thread.
  std::thread::id turned_by_;
  std::vector<SocketState*> sockets_;
  std::vector<SocketState*> telling_;
  static constexpr int turns_in_task_max = 4;
  int turns_in_task_ = 0;  // since the event loop was here
  // While code of Python runs in the middle of a walk over sockets, none is destroyed.
  class Walk {
   public:
    explicit Walk(int& walks) noexcept : walks_(walks) { ++walks_; }
    ~Walk() { --walks_; }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

   private:
    int& walks_;
  };
  int walks_ = 0;
  bool closed_ = false;
  bool closing_told_ = true;
  std::mutex grave_lock_;
  std::vector<std::unique_ptr<SocketState>> grave_;
  // Were let go of, and close; as long as close() of Python takes if it is not told.
  std::vector<std::unique_ptr<SocketState>> leaving_;
  static constexpr std::chrono::seconds linger_let_go{5};
};

template <class Done>
bool ContextState::turn_until(std::chrono::nanoseconds timeout, Done&& done) {
  if (done()) return true;
  refuse_to_block();
  const std::chrono::nanoseconds begin = now();
  while (true) {
    turn(slice(timeout, begin));
    if (done()) return true;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (timeout.count() >= 0 && now() - begin >= timeout) return false;
  }
}

void bind_context(nb::module_& module);

}  // namespace netio::python
