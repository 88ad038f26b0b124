// Task: a coroutine that does not run before it is awaited or spawned. It runs on one thread, that
// of its loop. The owner of a Task owns its frame; destroying the Task ends the coroutine where it
// waits.
#pragma once

#if defined(__clang__) && !defined(__cpp_impl_coroutine)
#define __cpp_impl_coroutine 201902L  // clang 14 has coroutines, and does not tell <coroutine>
#endif
#include <coroutine>
#ifndef __cpp_lib_coroutine
#error "clang 14: include netio/coroutine.hpp before <coroutine>"
#endif
#include <exception>
#include <optional>
#include <utility>

#include <netio/context.hpp>
#include <netio/loop.hpp>

namespace netio {

template <class T = void>
class Task;

namespace detail {

class TaskPromise {
 public:
  // A coroutine that comes to its end resumes the one that awaits it. If that one is still starting
  // it, it finds out by itself.
  struct AtEnd {
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    static std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      const std::coroutine_handle<> waiting = ended.promise().waiting_;
      return waiting ? waiting : std::noop_coroutine();
    }
    static void await_resume() noexcept {}
  };

  static std::suspend_always initial_suspend() noexcept { return {}; }
  static AtEnd final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  void set_waiting(std::coroutine_handle<> waiting) noexcept { waiting_ = waiting; }

 protected:
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::coroutine_handle<> waiting_;
  std::exception_ptr error_;
};

template <class T>
class TaskResult : public TaskPromise {
 public:
  template <class Value>
  void return_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
  }
  T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class TaskResult<void> : public TaskPromise {
 public:
  static void return_void() noexcept {}
  void take() const { rethrow(); }
};

}  // namespace detail

// What a coroutine returns: `netio::Task<int> f()` is awaited for an int, or for the exception that
// left f. A call of f takes memory for its frame; awaiting takes none.
template <class T>
class [[nodiscard]] Task {
 public:
  // For the library: what the compiler makes a coroutine of.
  struct promise_type : detail::TaskResult<T> {
    Task get_return_object() noexcept {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  // Movable, not copyable:
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Task() {
    if (frame_) frame_.destroy();
  }

  // Starts the coroutine, and gives what it returns, or throws the exception that left it: co_await
  // std::move(task).
  auto operator co_await() && noexcept { return Awaiter{frame_}; }

 private:
  // Starts the coroutine by a call, and not by a transfer of control. Some compilers make a call of
  // a transfer, and then a loop over tasks that never wait would grow the stack.
  struct Awaiter {
    std::coroutine_handle<promise_type> frame;

    static bool await_ready() noexcept { return false; }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiting) const noexcept {
      frame.resume();
      if (frame.done()) return false;
      frame.promise().set_waiting(waiting);
      return true;
    }
    [[nodiscard]] T await_resume() const { return frame.promise().take(); }
  };

  explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

// Owns a spawned task. It is destroyed when the task comes to its end, or with the loop.
struct Spawned {
  struct promise_type final : Deferred {
    promise_type(Loop& loop, Task<>& /*task*/) noexcept { loop.at_end(*this); }
    static Spawned get_return_object() noexcept { return {}; }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }
    void run_deferred() noexcept override {
      std::coroutine_handle<promise_type>::from_promise(*this).destroy();
    }
  };
};

inline Spawned run_spawned(Loop& /*loop*/, Task<> task) { co_await std::move(task); }

}  // namespace detail

// Runs `task` until it waits for the first time, and from then on in the loop. The loop owns the
// task. When the loop or its context is destroyed, tasks that still wait end where they are: their
// variables are destroyed (sockets among them), and nothing more of them runs. An exception that
// leaves a spawned task ends the process, as one that leaves a call-back does. A task may wait only
// for objects of its own loop; two contexts need two tasks:
inline void spawn(Loop& loop, Task<> task) { detail::run_spawned(loop, std::move(task)); }
inline void spawn(Context& context, Task<> task) { spawn(context.loop(), std::move(task)); }

}  // namespace netio
