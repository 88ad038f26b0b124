// Waiting for memory, and the way home of blocks from other threads. The retirement of stores is
// in store_retire_test.cpp.
#include "memory/store.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "memory/pool.hpp"

namespace netio::detail {
namespace {

constexpr std::size_t store_block_bytes = 4096;

void store_number(Block& block, std::uint64_t number) {
  std::memcpy(block.data(), &number, sizeof number);
}
std::uint64_t load_number(const Block& block) {
  std::uint64_t number = 0;
  std::memcpy(&number, block.data(), sizeof number);
  return number;
}

class Waiter final : public StoreWaiter {
 public:
  explicit Waiter(std::function<void()> work) : work_(std::move(work)) {}
  void on_memory() noexcept override { work_(); }

 private:
  std::function<void()> work_;
};

class StoreWait : public testing::Test {
 protected:
  StoreWait() {
    pool_->set_wake([this] { ++wakes_; });
  }
  void return_on_other_thread(Lease& lease) {
    std::thread([&] { lease.reset(); }).join();
  }

  std::atomic<int> wakes_{0};
  Pool::Ptr pool_ = Pool::create(store_block_bytes, 2);
  Lease first_ = pool_->take();
  Lease second_ = pool_->take();
  int served_ = 0;
  Waiter waiter_{[this] { ++served_; }};
};

TEST_F(StoreWait, nobody_is_woken_when_nobody_waits) {
  return_on_other_thread(first_);
  second_.reset();
  EXPECT_EQ(wakes_, 0);
  pool_->serve_waiters();
  EXPECT_EQ(served_, 0);
}

TEST_F(StoreWait, one_wait_wakes_once_however_many_blocks_other_threads_return) {
  pool_->wait(waiter_);
  EXPECT_EQ(wakes_, 0);
  return_on_other_thread(first_);
  return_on_other_thread(second_);
  EXPECT_EQ(wakes_, 1);
}

TEST_F(StoreWait, one_wait_wakes_once_however_many_blocks_the_owner_returns) {
  pool_->wait(waiter_);
  first_.reset();
  second_.reset();
  EXPECT_EQ(wakes_, 1);
}

TEST_F(StoreWait, a_waiter_is_served_from_the_loop_and_once) {
  pool_->wait(waiter_);
  first_.reset();
  EXPECT_EQ(served_, 0);
  EXPECT_TRUE(waiter_.waiting());
  pool_->serve_waiters();
  EXPECT_EQ(served_, 1);
  EXPECT_FALSE(waiter_.waiting());
  second_.reset();
  pool_->serve_waiters();
  EXPECT_EQ(served_, 1);
  EXPECT_EQ(wakes_, 1);
}

TEST_F(StoreWait, a_block_returned_between_the_failed_take_and_the_wait_wakes) {
  EXPECT_FALSE(pool_->take());
  return_on_other_thread(first_);
  pool_->wait(waiter_);
  EXPECT_EQ(wakes_, 1);
  pool_->serve_waiters();
  EXPECT_EQ(served_, 1);
  EXPECT_TRUE(pool_->take());
}

TEST_F(StoreWait, looking_for_returned_blocks_does_not_forget_who_waits) {
  pool_->wait(waiter_);
  pool_->collect();
  EXPECT_FALSE(pool_->take());
  return_on_other_thread(first_);
  EXPECT_EQ(wakes_, 1);
}

TEST_F(StoreWait, a_later_wait_wakes_again) {
  pool_->wait(waiter_);
  return_on_other_thread(first_);
  pool_->serve_waiters();
  pool_->wait(waiter_);
  return_on_other_thread(second_);
  EXPECT_EQ(wakes_, 2);
  pool_->serve_waiters();
  EXPECT_EQ(served_, 2);
}

TEST_F(StoreWait, waiters_are_served_in_the_order_of_their_wait) {
  std::string order;
  Waiter a([&] { order += 'a'; });
  Waiter b([&] { order += 'b'; });
  Waiter c([&] { order += 'c'; });
  for (Waiter* waiter : {&b, &a, &c}) pool_->wait(*waiter);
  first_.reset();
  pool_->serve_waiters();
  EXPECT_EQ(order, "bac");
}

TEST_F(StoreWait, who_waits_again_while_served_is_served_in_the_next_round) {
  int rounds = 0;
  Waiter stubborn([] {});
  Waiter again([&] {
    ++rounds;
    pool_->wait(stubborn);
  });
  Waiter* self = nullptr;
  Waiter repeating([&] {
    ++rounds;
    pool_->wait(*self);
  });
  self = &repeating;
  pool_->wait(repeating);
  pool_->wait(again);
  first_.reset();
  pool_->serve_waiters();
  EXPECT_EQ(rounds, 2);
  EXPECT_TRUE(stubborn.waiting());
  pool_->serve_waiters();
  EXPECT_EQ(rounds, 3);
}

// One block is not enough for two: the second waits on, and its wake-up is not lost.
TEST_F(StoreWait, of_two_waiters_each_gets_a_block_when_one_comes_home) {
  std::vector<Lease> got;
  const auto take = [&](Waiter& waiter) {
    Lease lease = pool_->take();
    if (lease) {
      got.push_back(std::move(lease));
    } else {
      pool_->wait(waiter);
    }
  };
  Waiter one([&] { take(one); });
  Waiter two([&] { take(two); });
  for (const bool elsewhere : {false, true}) {
    wakes_ = 0;
    got.clear();
    pool_->wait(one);
    pool_->wait(two);
    first_.reset();
    EXPECT_EQ(wakes_, 1);
    pool_->serve_waiters();
    EXPECT_EQ(got.size(), 1U);
    EXPECT_FALSE(one.waiting());
    EXPECT_TRUE(two.waiting());
    if (elsewhere) {
      return_on_other_thread(second_);
    } else {
      second_.reset();
    }
    EXPECT_EQ(wakes_, 2);
    pool_->serve_waiters();
    ASSERT_EQ(got.size(), 2U);
    EXPECT_FALSE(two.waiting());
    first_ = std::move(got[0]);
    second_ = std::move(got[1]);
  }
}

TEST_F(StoreWait, what_comes_home_is_for_who_waits_and_not_for_who_comes_by) {
  pool_->wait(waiter_);
  first_.reset();
  return_on_other_thread(second_);
  EXPECT_FALSE(pool_->take());
  pool_->serve_waiters();
  EXPECT_TRUE(pool_->take());
}

// Both want all they can get: who got something waits behind who did not.
TEST_F(StoreWait, two_who_always_want_more_get_the_same) {
  Lease got;
  std::string order;
  const auto take = [&](Waiter& waiter, char name) {
    if (Lease lease = pool_->take()) {
      got = std::move(lease);
      order += name;
    }
    pool_->wait(waiter);
  };
  Waiter one([&] { take(one, '1'); });
  Waiter two([&] { take(two, '2'); });
  pool_->wait(one);
  pool_->wait(two);
  for (int round = 0; round < 4; ++round) {
    (round == 0 ? first_ : got).reset();
    pool_->serve_waiters();
  }
  EXPECT_EQ(order, "1212");
}

TEST_F(StoreWait, who_was_served_and_got_nothing_keeps_the_place_in_line) {
  Lease got;
  std::string order;
  const auto take = [&](Waiter& waiter, char name) {
    Lease lease = pool_->take();
    if (!lease) {
      pool_->wait(waiter);
      return;
    }
    got = std::move(lease);
    order += name;
  };
  Waiter one([&] { take(one, '1'); });
  Waiter two([&] { take(two, '2'); });
  Waiter three([&] { take(three, '3'); });
  for (Waiter* waiter : {&one, &two, &three}) pool_->wait(*waiter);
  got = std::move(first_);
  for (int round = 0; round < 6; ++round) {
    got.reset();
    pool_->serve_waiters();
    // Who got the block wants another.
    for (Waiter* waiter : {&one, &two, &three}) {
      if (!waiter->waiting()) pool_->wait(*waiter);
    }
  }
  EXPECT_EQ(order, "123123");
}

TEST_F(StoreWait, a_waiter_may_destroy_itself_and_others_while_served) {
  auto victim = std::make_unique<Waiter>([this] { ++served_; });
  Waiter stopped([this] { ++served_; });
  std::unique_ptr<Waiter> suicide;
  suicide = std::make_unique<Waiter>([&] {
    victim.reset();
    stopped.stop_waiting();
    const auto last_breath = std::move(suicide);
  });
  pool_->wait(*suicide);
  pool_->wait(*victim);
  pool_->wait(stopped);
  pool_->wait(waiter_);
  first_.reset();
  pool_->serve_waiters();
  EXPECT_EQ(served_, 1);  // waiter_ alone
}

TEST_F(StoreWait, waiting_twice_is_waiting_once) {
  pool_->wait(waiter_);
  pool_->wait(waiter_);
  first_.reset();
  pool_->serve_waiters();
  EXPECT_EQ(served_, 1);
}

// A pool of a loop: only a thread that is in a turn is known to be the one that uses the pool.
class StoreOwner : public testing::Test {
 protected:
  const std::shared_ptr<OwnerThread> owner_ = std::make_shared<OwnerThread>();
  Pool::Ptr pool_ = Pool::create(store_block_bytes, 4, owner_);
};

TEST_F(StoreOwner, what_is_released_in_a_turn_is_home_at_once) {
  ASSERT_TRUE(owner_->claim());
  Lease lease = pool_->take();
  const Block* const block = lease.get();
  lease.reset();
  EXPECT_EQ(pool_->blocks_free(), 4U);
  lease = pool_->take();
  EXPECT_EQ(lease.get(), block);
}

TEST_F(StoreOwner, what_is_released_outside_of_a_turn_is_found_by_the_next_take) {
  Lease lease = pool_->take();
  const Block* const block = lease.get();
  lease.reset();
  EXPECT_EQ(pool_->blocks_free(), 3U);
  lease = pool_->take();
  EXPECT_EQ(lease.get(), block);
  EXPECT_EQ(pool_->blocks_free(), 3U);
}

TEST_F(StoreOwner, what_is_released_outside_of_a_turn_is_plenty_again) {
  std::array<Lease, 4> leases;
  for (Lease& lease : leases) lease = pool_->take();
  EXPECT_FALSE(pool_->plenty());
  for (Lease& lease : leases) lease.reset();
  EXPECT_EQ(pool_->blocks_free(), 0U);
  EXPECT_TRUE(pool_->plenty());
}

TEST_F(StoreOwner, the_thread_of_an_earlier_turn_is_any_other_thread) {
  ASSERT_TRUE(owner_->claim());
  Lease lease = pool_->take();
  owner_->release();
  std::promise<void> runs;
  std::promise<void> released;
  std::thread next([&] {
    ASSERT_TRUE(owner_->claim());
    runs.set_value();
    released.get_future().wait();
    EXPECT_EQ(pool_->blocks_free(), 3U);
    pool_->collect();
    EXPECT_EQ(pool_->blocks_free(), 4U);
    owner_->release();
  });
  runs.get_future().wait();
  lease.reset();
  released.set_value();
  next.join();
}

// The thread sanitizer sees whether one takes a block while the other puts one back.
TEST_F(StoreOwner, the_thread_of_an_earlier_turn_releases_while_the_next_one_takes) {
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(owner_->claim());
    std::array<Lease, 2> leases{pool_->take(), pool_->take()};
    owner_->release();
    std::thread next([&] {
      ASSERT_TRUE(owner_->claim());
      for (int take = 0; take < 100; ++take) ASSERT_TRUE(pool_->take());
      owner_->release();
    });
    for (Lease& lease : leases) lease.reset();
    next.join();
  }
  pool_->collect();
  EXPECT_EQ(pool_->blocks_free(), 4U);
}

// It may be destroyed in a turn, and messages live on.
TEST_F(StoreOwner, a_pool_whose_end_came_in_a_turn_takes_its_last_block_home) {
  ASSERT_TRUE(owner_->claim());
  Lease lease = pool_->take();
  const std::weak_ptr<OwnerThread> watched = owner_;
  pool_.reset();
  EXPECT_EQ(watched.use_count(), 2);  // the pool's, and ours
  lease.reset();
  EXPECT_EQ(watched.use_count(), 1);
}

TEST_F(StoreWait, a_waiter_may_outlive_the_store) {
  pool_->wait(waiter_);
  pool_.reset();
  EXPECT_FALSE(waiter_.waiting());
}

// The last block comes home from another thread while the owner registers its wait: the wake-up
// must come whichever is first. The semaphore's time-out is what a lost one looks like.
TEST(StoreStress, no_wake_up_is_lost_between_a_failed_take_and_the_wait) {
  const auto pool = Pool::create(store_block_bytes, 1);
  std::binary_semaphore woken(0);
  pool->set_wake([&] { woken.release(); });
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
  Waiter waiter([] {});
  int waits = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (int round = 0; round < 50000 && std::chrono::steady_clock::now() < end; ++round) {
    Lease lease = pool->take();
    ASSERT_TRUE(lease);
    handed = lease.release();
    for (Lease next; !next;) {
      next = pool->take();
      if (next) break;
      pool->wait(waiter);
      ++waits;
      ASSERT_TRUE(woken.try_acquire_for(std::chrono::seconds(20))) << "in round " << round;
      pool->serve_waiters();
    }
  }
  RecordProperty("waits", waits);
}

TEST(StoreStress, blocks_released_on_many_threads_all_come_home) {
  constexpr int threads = 3;
  constexpr std::uint64_t rounds = 30000;
  const auto pool = Pool::create(store_block_bytes, 32);
  const Quota::Ptr quota = Quota::create(20 * store_block_bytes);
  std::counting_semaphore<> woken(0);
  pool->set_wake([&] { woken.release(); });
  std::atomic<std::uint64_t> bad{0};
  std::array<std::atomic<Block*>, threads> handed{};
  std::vector<std::jthread> others;
  for (auto& slot : handed) {
    others.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        Block* const block = slot.exchange(nullptr);
        if (block == nullptr) {
          std::this_thread::yield();
          continue;
        }
        const Lease lease = Lease::adopt(block);
        if (load_number(*block) != reinterpret_cast<std::uintptr_t>(block)) ++bad;
        const Lease copy = lease;
      }
    });
  }
  Waiter waiter([] {});
  for (std::uint64_t round = 0; round < rounds;) {
    Lease lease = pool->take(quota.get());
    if (!lease) {
      pool->wait(waiter);
      ASSERT_TRUE(woken.try_acquire_for(std::chrono::seconds(20)));
      pool->serve_waiters();
      continue;
    }
    // Written by each owner in turn: the thread sanitizer sees whether reuse is ordered.
    store_number(*lease.get(), reinterpret_cast<std::uintptr_t>(lease.get()));
    Block* empty = nullptr;
    auto& slot = handed[round % threads];
    if (slot.compare_exchange_strong(empty, lease.get())) lease.release();
    ++round;
  }
  others.clear();
  for (auto& slot : handed) {
    if (Block* block = slot.exchange(nullptr)) Lease::adopt(block).reset();
  }
  pool->collect();
  EXPECT_EQ(bad, 0U);
  EXPECT_EQ(pool->blocks_out(), 0U);
  EXPECT_EQ(pool->blocks_free(), 32U);
  EXPECT_EQ(quota->bytes_used(), 0U);
}

TEST_F(StoreWait, those_who_wait_are_counted_by_what_they_lack) {
  using Lack = StoreWaiter::Lack;
  CallingWaiter for_memory([] {});
  CallingWaiter stranger([] {}, Lack::strangers_quota);
  CallingWaiter for_share([] {}, Lack::share);
  for (CallingWaiter* waiter : {&stranger, &for_share, &for_memory}) pool_->wait(*waiter);
  pool_->wait(waiter_);
  EXPECT_EQ(pool_->count_waiters(Lack::memory), 2U);
  EXPECT_EQ(pool_->count_waiters(Lack::strangers_quota), 1U);
  EXPECT_EQ(pool_->count_waiters(Lack::share), 1U);
  for_memory.stop_waiting();
  EXPECT_EQ(pool_->count_waiters(Lack::memory), 1U);
}

}  // namespace
}  // namespace netio::detail
