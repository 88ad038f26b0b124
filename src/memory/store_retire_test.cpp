// A store whose owner is gone lives until its last block is home, and dies once.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/fork_watch.hpp"
#include "memory/large_pool.hpp"
#include "memory/pool.hpp"

namespace netio::detail {
namespace {

// Blocks without memory, and a count of deletions.
class CountedStore final : public Store {
 public:
  CountedStore(std::atomic<int>& alive, std::size_t blocks)
      : Store(OwnerThread::calling()), alive_(alive) {
    ++alive_;
    for (std::size_t index = 0; index < blocks; ++index) {
      blocks_.push_back(std::make_unique<Block>(*this, nullptr, 1));
      recycle(*blocks_.back());
    }
  }
  Lease take(Quota* quota = nullptr) {
    if (free_ == nullptr) collect();
    return free_ == nullptr ? Lease() : hand_out(*std::exchange(free_, free_->next), quota);
  }

 private:
  ~CountedStore() override { --alive_; }
  void recycle(Block& block) noexcept override {
    block.next = free_;
    free_ = &block;
  }
  void discard(Block&) noexcept override {}
  void forget_quotas() noexcept override {
    for (auto& block : blocks_) forget_quota(*block);
  }

  std::atomic<int>& alive_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Block* free_ = nullptr;
};
using CountedPtr = std::unique_ptr<CountedStore, Store::Retire>;

TEST(StoreRetire, a_store_with_all_blocks_home_goes_with_its_owner) {
  std::atomic<int> alive{0};
  CountedPtr store(new CountedStore(alive, 3));
  store->take().reset();
  store.reset();
  EXPECT_EQ(alive, 0);
}

TEST(StoreRetire, blocks_returned_unseen_do_not_hold_a_store) {
  std::atomic<int> alive{0};
  CountedPtr store(new CountedStore(alive, 3));
  Lease lease = store->take();
  std::thread([&] { lease.reset(); }).join();
  store.reset();
  EXPECT_EQ(alive, 0);
}

TEST(StoreRetire, the_last_block_home_deletes_the_store_on_any_thread) {
  std::atomic<int> alive{0};
  CountedPtr store(new CountedStore(alive, 3));
  Lease here = store->take();
  Lease there = store->take();
  store.reset();
  here.reset();
  EXPECT_EQ(alive, 1);
  std::thread([&] { there.reset(); }).join();
  EXPECT_EQ(alive, 0);
}

TEST(StoreRetire, the_owner_thread_may_return_the_last_block) {
  std::atomic<int> alive{0};
  CountedPtr store(new CountedStore(alive, 1));
  Lease lease = store->take();
  store.reset();
  EXPECT_EQ(alive, 1);
  lease.reset();
  EXPECT_EQ(alive, 0);
}

TEST(StoreRetire, nobody_is_woken_after_it) {
  class Unserved final : public StoreWaiter {
    void on_memory() noexcept override { ADD_FAILURE(); }
  };
  std::atomic<int> alive{0};
  int wakes = 0;
  Unserved waiter;
  Lease lease;
  {
    CountedPtr store(new CountedStore(alive, 1));
    store->set_wake([&] { ++wakes; });
    lease = store->take();
    store->wait(waiter);
  }
  EXPECT_FALSE(waiter.waiting());
  std::thread([&] { lease.reset(); }).join();
  EXPECT_EQ(wakes, 0);
  EXPECT_EQ(alive, 0);
}

// At the fork another thread wakes the owner. It is not in the child, which must not wait for it.
TEST(StoreRetire, in_a_child_of_fork_waits_for_no_thread) {
  class Idle final : public StoreWaiter {
    void on_memory() noexcept override {}
  };
  const ForkWatch counts_forks([] {});
  std::atomic<int> alive{0};
  std::promise<void> woken;
  std::promise<void> go_on;
  Idle waiter;
  CountedPtr store(new CountedStore(alive, 2));
  store->set_wake([&] {
    woken.set_value();
    go_on.get_future().wait();
  });
  Lease lease = store->take();
  Lease other = store->take();
  store->wait(waiter);
  std::thread releases([&] { lease.reset(); });
  woken.get_future().wait();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // it would be killed by this
    other.reset();
    store.reset();
    ::_exit(0);
  }
  go_on.set_value();
  releases.join();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  waiter.stop_waiting();
}

TEST(StoreRetire, a_quota_is_free_of_blocks_that_are_still_out) {
  std::atomic<int> alive{0};
  const Quota::Ptr quota = Quota::create(100);
  CountedPtr store(new CountedStore(alive, 2));
  Lease lease = store->take(quota.get());
  EXPECT_EQ(quota->bytes_used(), 1U);
  store.reset();
  EXPECT_EQ(quota->bytes_used(), 0U);
  std::thread([&] { lease.reset(); }).join();
  EXPECT_EQ(alive, 0);
}

TEST(StoreRetire, a_quota_that_only_blocks_held_is_freed) {
  std::atomic<int> alive{0};
  CountedPtr store(new CountedStore(alive, 2));
  Lease lease;
  {
    const Quota::Ptr quota = Quota::create(100);
    lease = store->take(quota.get());
  }
  store.reset();  // The leak sanitizer sees whether the quota went.
  lease.reset();
  EXPECT_EQ(alive, 0);
}

TEST(StoreRetire, bytes_stay_whole_until_the_last_block_is_home) {
  auto pool = Pool::create(4096, 2);
  auto large = LargePool::create(std::size_t{8} << 20U, 0);
  const Quota::Ptr quota = Quota::create(std::size_t{8} << 20U);
  Lease small = pool->take(quota.get());
  Lease buffer = large->take(300000, quota.get());
  small->data()[4095] = std::byte{1};
  buffer->data()[299999] = std::byte{2};
  pool.reset();
  large.reset();
  EXPECT_EQ(quota->bytes_used(), 0U);
  std::thread([one = std::move(small), two = std::move(buffer)] {
    EXPECT_EQ(one->data()[4095], std::byte{1});
    EXPECT_EQ(two->data()[299999], std::byte{2});
  }).join();
}

class Idle final : public StoreWaiter {
 public:
  void on_memory() noexcept override {}
};

// The other thread is between its push and its wake-up when the owner, who saw the block come
// home, retires the store and destroys what the wake-up uses.
TEST(StoreRetireStress, a_wake_up_on_its_way_touches_neither_a_dead_store_nor_a_dead_owner) {
  std::atomic<int> alive{0};
  std::atomic<Block*> handed{nullptr};
  const std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (Block* block = handed.exchange(nullptr)) {
        Lease::adopt(block).reset();
      } else {
        std::this_thread::yield();
      }
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (int round = 0; round < 30000 && std::chrono::steady_clock::now() < end; ++round) {
    Idle waiter;
    auto wakes = std::make_unique<int>(0);
    CountedPtr store(new CountedStore(alive, 1));
    store->set_wake([counter = wakes.get()] { ++*counter; });
    Lease lease = store->take();
    store->wait(waiter);
    handed = lease.release();
    for (int looks = 0; store->blocks_out() > 0; ++looks) {
      if (looks % 256 == 255) std::this_thread::yield();
      store->collect();
    }
    store.reset();
    EXPECT_LE(*wakes, 1);
    wakes.reset();
  }
  while (handed.load() != nullptr || alive != 0) std::this_thread::yield();
}

// Threads return blocks, the first of which wakes, while the owner retires the store and then
// destroys what the wake-up uses.
TEST(StoreRetireStress, deletion_happens_once_and_no_wake_up_touches_a_dead_owner) {
  constexpr std::size_t threads = 3;
  std::atomic<int> alive{0};
  std::atomic<int> ready{0};
  std::atomic<int> round{0};
  constexpr int rounds = 3000;
  std::vector<std::vector<Lease>> leases(threads);
  std::vector<std::thread> others;
  for (std::size_t index = 0; index < threads; ++index) {
    others.emplace_back([&, index] {
      for (int mine = 1; mine <= rounds; ++mine) {
        while (round.load() < mine) std::this_thread::yield();
        leases[index].clear();
        ++ready;
      }
    });
  }
  for (int next = 1; next <= rounds; ++next) {
    Idle waiter;
    auto wakes = std::make_unique<std::atomic<int>>(0);
    CountedPtr store(new CountedStore(alive, 9));
    store->set_wake([&counter = *wakes] { ++counter; });
    {
      const Quota::Ptr quota = Quota::create(100);
      for (std::size_t block = 0; block < 8; ++block) {
        leases[block % threads].push_back(store->take(quota.get()));
      }
    }
    const Lease own = store->take();
    store->wait(waiter);
    round = next;
    for (int pause = next % 50; pause > 0; --pause) store->collect();
    store.reset();
    EXPECT_LE(*wakes, 1);
    wakes.reset();
    while (ready.load() < static_cast<int>(threads) * next) std::this_thread::yield();
    EXPECT_EQ(alive, 1);  // `own` is out
  }
  for (auto& other : others) other.join();
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace netio::detail
