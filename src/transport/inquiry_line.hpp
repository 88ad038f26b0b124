// The line of questions that block (host names, the way to an address on a fabric), and the
// threads that ask them. Owner thread only. In a child of fork() nobody asks any more.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/fork_watch.hpp"

namespace netio::detail {

// Asked once, on a thread of the line.
class Question {
 public:
  explicit Question(std::string subject) : subject_(std::move(subject)) {}
  virtual ~Question() = default;
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  // A host name: what else is asked about it takes as long.
  [[nodiscard]] const std::string& subject() const noexcept { return subject_; }
  virtual void ask() noexcept = 0;

 private:
  const std::string subject_;
};

class InquiryLine {
 public:
  // A name service that does not answer holds a thread for many seconds: eight for one name at
  // most. The other names wait only if all threads are held.
  static constexpr std::size_t threads_max = 64;
  static constexpr std::size_t threads_of_subject_max = 8;

  InquiryLine();
  // Forgets the questions that wait. Does not wait for those that are being asked: a thread ends
  // when its question is answered.
  ~InquiryLine();
  InquiryLine(const InquiryLine&) = delete;
  InquiryLine& operator=(const InquiryLine&) = delete;

  // Asks `question` as soon as a thread is free for its subject. Never blocks. If there is no
  // thread and none can be started, throws std::system_error or std::bad_alloc; the line is
  // unchanged then.
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
