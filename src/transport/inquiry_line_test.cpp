// Questions that block: by how many threads they are asked, and what becomes of those nobody wants.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <future>
#include <mutex>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/fork_watch.hpp"
#include "base/on_core.hpp"
#include "support/allocation_counter.hpp"
#include "transport/inquiry.hpp"

namespace netio::detail {
namespace {

using namespace std::chrono_literals;

struct Found {
  int number = 0;
  Down failure;
};

// A name service that answers when it is told to, and counts how many ask it at once.
class SlowService {
 public:
  int ask(int number) {
    std::unique_lock lock(mutex_);
    ++asking_;
    ++asked_;
    most_ = std::max(most_, asking_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return answers_; });
    --asking_;
    changed_.notify_all();
    return number;
  }
  void answer() {
    const std::lock_guard lock(mutex_);
    answers_ = true;
    changed_.notify_all();
  }
  void wait_until_asked_by(std::size_t askers) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asking_ == askers; });
  }
  std::size_t most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  std::size_t asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t asking_ = 0, asked_ = 0, most_ = 0;
  bool answers_ = false;
};

class InquiryLines : public testing::Test {
 protected:
  std::unique_ptr<Inquiry<Found>> inquire(int number) { return inquire(line_, number); }
  std::unique_ptr<Inquiry<Found>> inquire(InquiryLine& line, int number) {
    return inquire(line, number, std::to_string(number));
  }
  std::unique_ptr<Inquiry<Found>> inquire(InquiryLine& line, int number, std::string subject) {
    return std::make_unique<Inquiry<Found>>(
        line, loop_, std::move(subject),
        [service = service_, number] {
          return Found{service->ask(number), {}};
        },
        [this](const Found& found) { found_.push_back(found.number); });
  }
  void run_until_found(std::size_t count) {
    while (found_.size() < count) loop_.run_once(100ms);
  }

  Loop loop_;
  // The threads may outlive the test.
  std::shared_ptr<SlowService> service_ = std::make_shared<SlowService>();
  std::vector<int> found_;
  InquiryLine line_;
};

TEST_F(InquiryLines, many_questions_are_asked_by_a_few_threads_and_all_answered) {
  std::vector<std::unique_ptr<Inquiry<Found>>> inquiries;
  for (int i = 0; i < 500; ++i) inquiries.push_back(inquire(i));
  service_->wait_until_asked_by(InquiryLine::threads_max);
  service_->answer();
  run_until_found(500);
  EXPECT_EQ(service_->most(), InquiryLine::threads_max);
}

TEST_F(InquiryLines, questions_about_one_subject_leave_threads_for_the_others) {
  std::vector<std::unique_ptr<Inquiry<Found>>> inquiries;
  for (int i = 0; i < 500; ++i) inquiries.push_back(inquire(line_, i, "hangs"));
  service_->wait_until_asked_by(InquiryLine::threads_of_subject_max);
  const auto other = inquire(1000);
  service_->wait_until_asked_by(InquiryLine::threads_of_subject_max + 1);
  service_->answer();
  run_until_found(501);
  EXPECT_EQ(service_->most(), InquiryLine::threads_of_subject_max + 1);
}

TEST_F(InquiryLines, a_question_that_waits_is_never_asked_once_nobody_wants_the_answer) {
  std::vector<std::unique_ptr<Inquiry<Found>>> inquiries;
  for (int i = 0; i < 200; ++i) inquiries.push_back(inquire(i));
  service_->wait_until_asked_by(InquiryLine::threads_max);
  inquiries.clear();
  const auto last = inquire(1000);
  service_->answer();
  run_until_found(1);
  EXPECT_EQ(found_, std::vector<int>{1000});
  EXPECT_EQ(service_->asked(), InquiryLine::threads_max + 1);
}

TEST_F(InquiryLines, a_line_may_end_while_a_question_is_being_asked) {
  {
    InquiryLine shorter;
    const auto asked = inquire(shorter, 1);
    service_->wait_until_asked_by(1);
  }
  service_->answer();
  service_->wait_until_asked_by(0);
  while (loop_.run_once(0ns)) {
  }
  EXPECT_TRUE(found_.empty());
}

// Says whether the thread that asks takes the signal that ends programs, and how it is scheduled.
class WhoAsks final : public Question {
 public:
  WhoAsks() : Question("who asks") {}
  void ask() noexcept override {
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    ::sched_getaffinity(0, sizeof cores, &cores);
    asked.set_value({sigismember(&blocked, SIGTERM) == 1, CPU_COUNT(&cores)});
  }
  struct Seen {
    bool terminate_is_blocked;
    int cores;
  };
  std::promise<Seen> asked;
};

TEST_F(InquiryLines, a_question_is_asked_with_nothing_of_the_thread_that_has_it) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  ASSERT_EQ(::sched_getaffinity(0, sizeof cores, &cores), 0);
  std::size_t core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  const auto question = std::make_shared<WhoAsks>();
  const OnCore on_core(static_cast<int>(core));
  line_.join(question);
  const WhoAsks::Seen seen = question->asked.get_future().get();
  EXPECT_TRUE(seen.terminate_is_blocked);
  EXPECT_EQ(seen.cores, CPU_COUNT(&cores));
}

// Whoever wanted its answer is gone by the time the next question starts a thread.
TEST_F(InquiryLines, a_question_that_found_no_memory_is_never_asked) {
  service_->answer();
  std::size_t refused = 0;
  for (int n = 1;; ++n) {
    InquiryLine line;  // without threads
    std::unique_ptr<Inquiry<Found>> inquiry;
    test::fail_allocations(static_cast<std::uint64_t>(n), 1);
    try {
      const test::Armed armed;
      inquiry = inquire(line, n);
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    test::fail_allocations(0, 1);
    const bool let_in = inquiry != nullptr;
    if (!let_in) inquiry = inquire(line, -n);
    run_until_found(static_cast<std::size_t>(n));
    EXPECT_EQ(found_.back(), let_in ? n : -n);
    if (let_in) break;
  }
  EXPECT_GT(refused, 3U);
  EXPECT_EQ(service_->asked(), found_.size());
}

// Asked at once: who asks it is hardly ever without the mutex of the line, or waits for it.
class QuickQuestion final : public Question {
 public:
  QuickQuestion() : Question("quick") {}
  void ask() noexcept override {}
};

// The threads are not there to unlock what they had locked. A child that waits for it is killed.
TEST(InquiryLinesAtFork, a_child_waits_for_no_thread_of_its_parent) {
  const ForkWatch counts_forks([] {});  // as every loop has one
  for (int i = 0; i < 50; ++i) {
    const auto question = std::make_shared<QuickQuestion>();
    auto line = std::make_unique<InquiryLine>();
    for (int j = 0; j < 100; ++j) line->join(question);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      line->leave(question);
      line.reset();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "fork " << i;
  }
}

}  // namespace
}  // namespace netio::detail
