// The line of questions that block (host names, the way to an address on a fabric), and the few
// threads that ask them. Owner thread only. In a child of fork() nobody asks any more.
#pragma once

#include <cstddef>
#include <memory>

#include "base/fork_watch.hpp"

namespace netio::detail {

// Asked once, on a thread of the line.
class Question {
 public:
  virtual ~Question() = default;
  virtual void ask() noexcept = 0;
};

class InquiryLine {
 public:
  // A name service that does not answer holds a thread for many seconds. So many names may be
  // affected before the others wait behind them.
  static constexpr std::size_t threads_max = 8;

  InquiryLine();
  // Forgets the questions that wait. Does not wait for those that are being asked: a thread ends
  // when its question is answered.
  ~InquiryLine();
  InquiryLine(const InquiryLine&) = delete;
  InquiryLine& operator=(const InquiryLine&) = delete;

  // Asks `question` as soon as a thread is free. Never blocks. If there is no thread and
  // none can be started, throws std::system_error or std::bad_alloc; the line is unchanged then.
  void join(const std::shared_ptr<Question>& question);
  // A question that still waits is never asked. One that is being asked stays alive until it is
  // answered.
  void leave(const std::shared_ptr<Question>& question) noexcept;

 private:
  struct Shared;
  [[nodiscard]] bool copied_by_fork() const noexcept { return made_at_ != fork_depth(); }
  static void serve(const std::shared_ptr<Shared>& shared) noexcept;
  // The threads hold it too, because they may outlive the line.
  std::shared_ptr<Shared> shared_;
  unsigned made_at_ = fork_depth();
};

}  // namespace netio::detail
