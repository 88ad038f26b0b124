// One question that blocks (a host name, the way to it), asked on a thread of its own. Destroying
// the inquiry forgets the answer; the thread ends when who was asked lets it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <netio/loop.hpp>
#include <netio/status.hpp>

namespace netio::detail {

// Answer: movable, made empty, with a member `Down failure`.
template <typename Answer>
class Inquiry {
 public:
  // `ask` runs on the thread and must not throw; `on_answer` from the loop, once.
  Inquiry(Loop& loop, std::function<Answer()> ask, std::function<void(Answer)> on_answer)
      : state_(std::make_shared<State>()) {
    state_->loop = &loop;
    state_->on_answer = std::move(on_answer);
    try {
      std::thread([state = state_, ask = std::move(ask)] {
        auto answer = std::make_shared<Answer>(ask());
        const std::lock_guard lock(state->mutex);
        if (state->loop != nullptr) State::post(state, std::move(answer));
      }).detach();
    } catch (const std::system_error& error) {
      auto answer = std::make_shared<Answer>();
      answer->failure = {
          DownReason::resources,
          std::string("cannot start a thread for the name service: ") + error.what()};
      State::post(state_, std::move(answer));
    }
  }
  ~Inquiry() {
    state_->on_answer = nullptr;
    const std::lock_guard lock(state_->mutex);
    state_->loop = nullptr;
  }
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

 private:
  // Shared by the thread and the loop: whoever is last frees it.
  struct State {
    std::mutex mutex;
    Loop* loop = nullptr;                   // null once nobody waits; guarded by mutex
    std::function<void(Answer)> on_answer;  // loop thread only

    // Function objects are copied: the answer goes behind a pointer.
    static void post(std::shared_ptr<State> self, std::shared_ptr<Answer> answer) {
      Loop& loop = *self->loop;
      loop.post([self = std::move(self), answer = std::move(answer)] {
        // Taken out first: the call may destroy the inquiry.
        if (auto call = std::exchange(self->on_answer, nullptr)) call(std::move(*answer));
      });
    }
  };
  std::shared_ptr<State> state_;
};

}  // namespace netio::detail
