// A context that runs in a thread of its own: made there, used there by what is called or posted,
// destroyed there.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include <netio/context.hpp>

namespace netio::detail {

// While it lives, the calling thread takes no signals, nor will threads that it starts.
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

// `Inside` is what lives in that thread beside the context: made from it and the options.
template <class Inside>
class LoopThread {
 public:
  // Throws what making the context or `Inside` throws.
  template <class... Arguments>
  explicit LoopThread(const ContextOptions& options, Arguments&... arguments) {
    std::promise<void> promise;
    std::future<void> when_made = promise.get_future();
    const NoSignals no_signals;  // they are for the threads that the user knows of
    thread_ = std::thread([this, &options, made = std::move(promise), &arguments...]() mutable {
      std::optional<Context> context;
      std::optional<Inside> inside;
      try {
        context.emplace(options);
        inside.emplace(*context, arguments...);
      } catch (...) {
        made.set_exception(std::current_exception());
        return;
      }
      context_ = &*context;
      inside_ = &*inside;
      made.set_value();
      context->run();
      may_go_.get_future().wait();
    });
    try {
      when_made.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  ~LoopThread() {
    if (copied_by_fork()) {
      // The thread runs in the parent; here is none to join. What is left is never destroyed.
      alignas(std::thread) std::array<std::byte, sizeof(std::thread)> left;
      ::new (left.data()) std::thread(std::move(thread_));
      return;
    }
    context_->loop().post([this] { context_->stop(); });
    may_go_.set_value();  // not before post() is done with the loop
    thread_.join();
  }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // This is a child of fork(), and the thread is the parent's.
  [[nodiscard]] bool copied_by_fork() const noexcept { return context_->loop().copied_by_fork(); }

  // Of what it is said that any thread may use it.
  [[nodiscard]] Inside& inside() const noexcept { return *inside_; }

  // Runs `work(inside)` there and waits for what it returns or throws.
  template <class Work>
  auto call(Work&& work) {
    using Task = std::packaged_task<std::invoke_result_t<Work, Inside&>()>;
    // Shared: the other thread may still be at its end when the result is here.
    const auto task = std::make_shared<Task>([&] { return work(*inside_); });
    auto result = task->get_future();
    context_->loop().post([task] { (*task)(); });
    return result.get();
  }

 private:
  Context* context_ = nullptr;
  Inside* inside_ = nullptr;
  std::promise<void> may_go_;
  std::thread thread_;
};

}  // namespace netio::detail
