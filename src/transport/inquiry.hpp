// One question that blocks (a host name, the way to it), asked in the line of its context.
// Destroying the inquiry takes a question that still waits out of the line, and forgets the answer
// of one that is being asked. Owner thread only.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include <netio/loop.hpp>
#include <netio/status.hpp>

#include "base/out_of_memory.hpp"
#include "transport/inquiry_line.hpp"

namespace netio::detail {

// Answer: movable, made empty, with a member `Down failure`.
template <typename Answer>
class Inquiry {
 public:
  // `ask` runs on a thread of `line` and must not throw; `on_answer` is called from the loop, once.
  // `subject`: what is asked about. Too many questions about one subject do not hold up the others.
  Inquiry(InquiryLine& line, Loop& loop, std::string subject, std::function<Answer()> ask,
          std::function<void(Answer)> on_answer)
      : line_(line),
        asked_(std::make_shared<Asked>(loop, std::move(subject), std::move(ask),
                                       std::move(on_answer))) {
    try {
      line_.join(asked_);
    } catch (const std::system_error& error) {
      auto answer = std::make_shared<Answer>();
      answer->failure = {
          DownReason::resources,
          std::string("cannot start a thread for the name service: ") + error.what()};
      Asked::post(asked_, std::move(answer));
    }
  }
  ~Inquiry() {
    line_.leave(asked_);
    asked_->forget();
  }
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

 private:
  // Reference-counted, because the thread may still be asking when the inquiry is destroyed, and
  // running its last lines when the owner has the answer.
  class Asked final : public Question, public std::enable_shared_from_this<Asked> {
   public:
    Asked(Loop& loop, std::string subject, std::function<Answer()> ask,
          std::function<void(Answer)> on_answer)
        : Question(std::move(subject)),
          ask_(std::move(ask)),
          loop_(&loop),
          on_answer_(std::move(on_answer)) {}

    // Without memory there is no answer: who asks gives up in time.
    void ask() noexcept override {
      guard_memory([this] { answer(); }, []() noexcept {});
    }
    void answer() {
      auto answer = std::make_shared<Answer>(ask_());
      const std::lock_guard lock(mutex_);
      if (loop_ != nullptr) post(this->shared_from_this(), std::move(answer));
    }
    void forget() {
      on_answer_ = nullptr;
      if (loop_->copied_by_fork()) return;  // the mutex may be locked by who is not here
      const std::lock_guard lock(mutex_);
      loop_ = nullptr;
    }
    // Function objects are copied, so the answer travels behind a pointer.
    static void post(std::shared_ptr<Asked> self, std::shared_ptr<Answer> answer) {
      Loop& loop = *self->loop_;
      loop.post([self = std::move(self), answer = std::move(answer)] {
        // Taken out first, because the call may destroy the inquiry.
        if (auto call = std::exchange(self->on_answer_, nullptr)) call(std::move(*answer));
      });
    }

   private:
    const std::function<Answer()> ask_;
    std::mutex mutex_;
    Loop* loop_;                             // null once nobody waits; guarded by mutex_
    std::function<void(Answer)> on_answer_;  // loop thread only
  };

  InquiryLine& line_;
  std::shared_ptr<Asked> asked_;
};

}  // namespace netio::detail
