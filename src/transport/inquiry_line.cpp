// The line is a list under a mutex. A thread lives while there are questions: with none, there are
// no threads.
#include "transport/inquiry_line.hpp"

#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace netio::detail {

struct InquiryLine::Shared {
  std::mutex mutex;
  std::deque<std::shared_ptr<Question>> waiting;  // guarded by mutex
  std::size_t threads = 0;                        // guarded by mutex
};

InquiryLine::InquiryLine() : shared_(std::make_shared<Shared>()) {}

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
    std::thread([shared = shared_] { serve(shared); }).detach();
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
      if (shared->waiting.empty()) {
        --shared->threads;
        return;
      }
      question = std::move(shared->waiting.front());
      shared->waiting.pop_front();
    }
    question->ask();
  }
}

}  // namespace netio::detail
