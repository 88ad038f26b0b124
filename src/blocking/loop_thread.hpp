// A context that runs in a thread of its own: made there, used there by what is called or posted,
// destroyed there.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <pthread.h>
#include <type_traits>
#include <utility>

#include <netio/context.hpp>

#include "base/helper_thread.hpp"

namespace netio::detail {

// `Inside` is what lives in that thread beside the context: made from it and the options.
template <class Inside>
class LoopThread {
 public:
  // Throws what making the context or `Inside` throws.
  template <class... Arguments>
  explicit LoopThread(const ContextOptions& options, Arguments&... arguments) {
    // Shared: the thread may still be telling when it was told.
    const auto made = std::make_shared<std::promise<void>>();
    std::future<void> when_made = made->get_future();
    thread_ = start_joined("netio-loop", [this, &options, made, &arguments...]() noexcept {
      std::optional<Context> context;
      std::optional<Inside> inside;
      try {
        context.emplace(options);
        inside.emplace(*context, arguments...);
      } catch (...) {
        made->set_exception(std::current_exception());
        return;
      }
      context_ = &*context;
      inside_ = &*inside;
      made->set_value();
      context->run();
      may_go_.get_future().wait();
    });
    try {
      when_made.get();
    } catch (...) {
      (void)pthread_join(thread_, nullptr);
      throw;
    }
  }
  ~LoopThread() {
    if (copied_by_fork()) return;  // the thread runs in the parent
    context_->loop().post([this] { context_->stop(); });
    may_go_.set_value();  // not before post() is done with the loop
    (void)pthread_join(thread_, nullptr);
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
  pthread_t thread_{};
};

}  // namespace netio::detail
