// When operations that nobody waits for are freed.
#include "fabric/completion_queue.hpp"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include "fabric/error.hpp"

namespace netio::detail {
namespace {

// Of a queue that is never empty at the first read of a turn.
bool first_read = true;
bool empty_behind_it = true;
ssize_t read_busy(fid_cq*, void* buffer, std::size_t) {
  if (!std::exchange(first_read, false) && empty_behind_it) return -FI_EAGAIN;
  *static_cast<fi_cq_msg_entry*>(buffer) = {};
  return 1;
}

class Completions : public testing::Test {
 protected:
  void SetUp() override {
    try {
      const Info info = Info::to_listen("tcp", "127.0.0.1", 0);
      fabric_.emplace(info);
      domain_.emplace(*fabric_, info);
      queue_.emplace(loop_, *fabric_, *domain_, 64, 64);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    own_ = queue_->get()->ops;
    busy_ = *own_;
    busy_.read = read_busy;
    empty_behind_it = true;
  }
  void TearDown() override {
    if (queue_) queue_->get()->ops = own_;
  }
  void bury_one() {
    queue_->will_bury();
    queue_->bury(std::vector<Operation>(3));
  }
  void turn() {
    first_read = true;
    (void)loop_.run_once(std::chrono::nanoseconds(0));
  }

  Loop loop_;
  std::optional<Fabric> fabric_;
  std::optional<Domain> domain_;
  std::optional<CompletionQueue> queue_;
  fi_ops_cq* own_ = nullptr;
  fi_ops_cq busy_{};
};

TEST_F(Completions, free_what_is_buried_once_the_queue_is_empty) {
  bury_one();
  EXPECT_EQ(queue_->graves(), 1U);
  turn();
  EXPECT_EQ(queue_->graves(), 0U);
}

TEST_F(Completions, free_what_is_buried_though_every_turn_brings_more) {
  queue_->get()->ops = &busy_;
  bury_one();
  turn();
  EXPECT_EQ(queue_->graves(), 0U);
}

TEST_F(Completions, free_nothing_before_the_queue_was_empty) {
  queue_->get()->ops = &busy_;
  empty_behind_it = false;
  bury_one();
  turn();
  EXPECT_EQ(queue_->graves(), 1U);
}

}  // namespace
}  // namespace netio::detail
