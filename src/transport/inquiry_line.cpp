// The line is a list under a mutex. A thread lives while there are questions: with none, there are
// no threads.
#include "transport/inquiry_line.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "base/helper_thread.hpp"

namespace netio::detail {

struct InquiryLine::Shared {
  std::mutex mutex;
  std::deque<std::shared_ptr<Question>> waiting;  // guarded by mutex
  std::size_t threads = 0;                        // guarded by mutex
  std::vector<const Question*> asked;             // one for each thread at most; guarded by mutex

  // With the mutex. The first one that waits and may be asked now; null if there is none.
  std::shared_ptr<Question> take_next() noexcept {
    const auto may_be_asked = [this](const std::shared_ptr<Question>& question) {
      const auto same = [&](const Question* other) {
        return other->subject() == question->subject();
      };
      return static_cast<std::size_t>(std::ranges::count_if(asked, same)) < threads_of_subject_max;
    };
    const auto next = std::ranges::find_if(waiting, may_be_asked);
    if (next == waiting.end()) return nullptr;
    std::shared_ptr<Question> question = std::move(*next);
    waiting.erase(next);
    asked.push_back(question.get());  // within its room
    return question;
  }
};

InquiryLine::InquiryLine() : shared_(std::make_shared<Shared>()) {
  shared_->asked.reserve(threads_max);
}

// Who held the mutex at a fork is not there to let go.
InquiryLine::~InquiryLine() {
  if (copied_by_fork()) return;
  for (;;) {
    std::shared_ptr<Question> dropped;  // destroyed without the mutex
    const std::lock_guard lock(shared_->mutex);
    if (shared_->waiting.empty()) return;
    dropped = std::move(shared_->waiting.front());
    shared_->waiting.pop_front();
  }
}

void InquiryLine::join(const std::shared_ptr<Question>& question) {
  const std::lock_guard lock(shared_->mutex);
  shared_->waiting.push_back(question);
  if (shared_->threads == threads_max) return;
  // The new thread waits for the mutex before it looks at the line.
  try {
    start_helper("netio-inquiry", [shared = shared_] { serve(shared); });
    ++shared_->threads;
  } catch (const std::exception&) {     // no thread is left, or no memory for one
    if (shared_->threads != 0) return;  // another thread will ask
    shared_->waiting.pop_back();
    throw;
  }
}

void InquiryLine::leave(const std::shared_ptr<Question>& question) noexcept {
  if (copied_by_fork()) return;
  const std::lock_guard lock(shared_->mutex);
  std::erase(shared_->waiting, question);
}

void InquiryLine::serve(const std::shared_ptr<Shared>& shared) noexcept {
  for (;;) {
    std::shared_ptr<Question> question;
    {
      const std::lock_guard lock(shared->mutex);
      question = shared->take_next();
      if (!question) {
        --shared->threads;
        return;
      }
    }
    question->ask();
    const std::lock_guard lock(shared->mutex);
    std::erase(shared->asked, question.get());
  }
}

}  // namespace netio::detail
