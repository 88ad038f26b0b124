// LargePool: classes, bounds, what is kept, and sizes that nobody has.
#include "memory/large_pool.hpp"

#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/fake_groups.hpp"

namespace netio::detail {
namespace {

using test::mib;
constexpr std::size_t kib = 1024;

TEST(LargePool, a_buffer_is_a_multiple_of_128_kib_and_from_a_mib_on_of_an_eighth) {
  const auto pool = LargePool::create(64 * mib, 0);
  EXPECT_EQ(pool->take(0)->capacity(), 128 * kib);
  EXPECT_EQ(pool->take(1)->capacity(), 128 * kib);
  EXPECT_EQ(pool->take(128 * kib)->capacity(), 128 * kib);
  EXPECT_EQ(pool->take(128 * kib + 1)->capacity(), 256 * kib);
  EXPECT_EQ(pool->take(1 * mib + 1)->capacity(), 1 * mib + 128 * kib);
  EXPECT_EQ(pool->take(5 * mib)->capacity(), 5 * mib);
  EXPECT_EQ(pool->take(5 * mib + 1)->capacity(), 5 * mib + 512 * kib);
}

TEST(LargePool, is_scarce_with_less_than_a_quarter_or_no_other_buffer_of_the_size_left) {
  const auto pool = LargePool::create(16 * mib, 0);
  EXPECT_TRUE(pool->plenty());
  const Lease first = pool->take(4 * mib);
  EXPECT_TRUE(pool->plenty());
  EXPECT_FALSE(pool->scarce(*first.get()));
  Lease large = pool->take(8 * mib);
  EXPECT_FALSE(pool->plenty());
  EXPECT_FALSE(pool->scarce(*first.get()));
  EXPECT_TRUE(pool->scarce(*large.get())) << "there is no other one of 8 MiB";
  const Lease small = pool->take(128 * kib);
  EXPECT_TRUE(pool->scarce(*small.get())) << "less than 4 MiB are left";
  std::thread([&large] { large.reset(); }).join();
  EXPECT_FALSE(pool->scarce(*small.get())) << "what came home from elsewhere counts";
}

TEST(LargePool, buffers_are_aligned_and_writable_to_their_end) {
  const auto pool = LargePool::create(64 * mib, 64 * mib);
  for (const std::size_t bytes : {200 * kib, 1 * mib, 3 * mib}) {
    const Lease lease = pool->take(bytes);
    ASSERT_TRUE(lease);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lease->data()) % 4096, 0U);
    std::memset(lease->data(), 1, lease->capacity());
  }
}

TEST(LargePool, a_lie_about_a_size_costs_address_space_only) {
  const auto pool = LargePool::create(std::size_t{1} << 40U, 0);
  const Lease lease = pool->take(std::size_t{1} << 38U);  // 256 GiB
  if (!lease) GTEST_SKIP() << "this machine bounds address space";
  lease->data()[(std::size_t{1} << 38U) - 1] = std::byte{1};
}

TEST(LargePool, absurd_sizes_are_refused) {
  const auto pool = LargePool::create(SIZE_MAX, SIZE_MAX);
  for (const std::size_t bytes :
       {SIZE_MAX, SIZE_MAX - 4095, (SIZE_MAX >> 1U) + 2, LargePool::buffer_bytes_max + 1}) {
    EXPECT_FALSE(pool->take(bytes)) << bytes;
    EXPECT_FALSE(pool->could_ever_take(bytes, nullptr)) << bytes;
    EXPECT_EQ(LargePool::charged_bytes(bytes), 0U) << bytes;
  }
  EXPECT_EQ(pool->bytes_out(), 0U);
}

TEST(LargePool, what_is_out_is_counted_by_whole_buffers_and_bounded) {
  const auto pool = LargePool::create(1 * mib, 1 * mib);
  Lease half = pool->take(400 * kib);
  EXPECT_EQ(pool->bytes_out(), 512 * kib);
  const Lease quarter = pool->take(200 * kib);
  EXPECT_EQ(pool->bytes_out(), 768 * kib);
  EXPECT_FALSE(pool->take(257 * kib));
  EXPECT_TRUE(pool->could_ever_take(257 * kib, nullptr));
  EXPECT_FALSE(pool->could_ever_take(1 * mib + 1, nullptr));
  half.reset();
  EXPECT_EQ(pool->bytes_out(), 256 * kib);
  EXPECT_TRUE(pool->take(257 * kib));
}

TEST(LargePool, a_quota_is_charged_whole_buffers) {
  const auto pool = LargePool::create(16 * mib, 0);
  const Quota::Ptr quota = Quota::create(1 * mib);
  Lease lease = pool->take(1 * mib - 1, quota.get());
  EXPECT_EQ(quota->bytes_used(), 1 * mib);
  EXPECT_FALSE(pool->take(1, quota.get()));
  EXPECT_TRUE(pool->could_ever_take(1, quota.get()));
  EXPECT_FALSE(pool->could_ever_take(1 * mib + 1, quota.get()));
  lease.reset();
  EXPECT_EQ(quota->bytes_used(), 0U);
  EXPECT_TRUE(pool->take(1, quota.get()));
}

TEST(LargePool, the_largest_take_is_known_before) {
  const auto quota = Quota::create(5 * mib + 7);
  for (const std::size_t bound : {1UL, 128 * kib - 1, 128 * kib, 300 * kib, 1 * mib, 1 * mib + 1,
                                  3 * mib - 5, 4 * mib, 9 * mib, 1024 * mib + 1, SIZE_MAX}) {
    const auto pool = LargePool::create(bound, 0);
    for (const Quota* each : std::initializer_list<const Quota*>{nullptr, quota.get()}) {
      const std::size_t most = pool->largest(each);
      EXPECT_LE(most, bound);
      EXPECT_EQ(pool->could_ever_take(most, each), most != 0) << most << " of " << bound;
      EXPECT_FALSE(pool->could_ever_take(most + 1, each)) << most << " of " << bound;
    }
  }
}

TEST(LargePool, a_piece_of_a_shared_quota_leaves_room_for_others) {
  const auto pool = LargePool::create(64 * mib, 0);
  const Quota::Ptr quota = Quota::create_shared(16 * mib, [] {});
  {
    const Lease all = pool->take(16 * mib, quota.get());
    EXPECT_TRUE(all) << "nobody else has anything";
    EXPECT_FALSE(pool->take(1, quota.get()));
  }
  const Lease large = pool->take(10 * mib, quota.get());
  EXPECT_FALSE(pool->take(4 * mib, quota.get())) << "2 MiB would be left";
  const Lease small = pool->take(3 * mib, quota.get());
  EXPECT_TRUE(small) << "3 MiB are left";
  EXPECT_FALSE(pool->take(2 * mib, quota.get()));
  EXPECT_TRUE(quota->waited_for());
  EXPECT_TRUE(pool->take(1 * mib, quota.get()));
}

TEST(LargePool, what_the_system_refuses_while_nothing_is_out_does_not_come_home) {
  constexpr std::size_t absurd = std::size_t{1} << 46U;
  const auto pool = LargePool::create(4 * absurd, 0);
  std::vector<Lease> leases;
  for (Lease lease = pool->take(absurd); lease; lease = pool->take(absurd)) {
    leases.push_back(std::move(lease));
    if (leases.size() == 4) GTEST_SKIP() << "this machine has more address space than others";
  }
  EXPECT_EQ(pool->system_refused(), leases.empty()) << "one may come home";
  leases.clear();
  if (const bool taken = static_cast<bool>(pool->take(absurd)); !taken) {
    EXPECT_TRUE(pool->system_refused());
  }
  EXPECT_TRUE(pool->take(1 * mib)) << "less may be there";
  EXPECT_FALSE(pool->system_refused());
  EXPECT_TRUE(pool->take_refusal());
  EXPECT_FALSE(pool->take_refusal()) << "told once";
}

TEST(LargePool, the_buffer_returned_last_is_taken_first) {
  const auto pool = LargePool::create(16 * mib, 16 * mib);
  Lease first = pool->take(1 * mib);
  Lease second = pool->take(1 * mib);
  const Block* const returned_last = first.get();
  second.reset();
  first.reset();
  EXPECT_EQ(pool->bytes_kept(), 2 * mib);
  const Lease again = pool->take(1 * mib);
  EXPECT_EQ(again.get(), returned_last);
  EXPECT_EQ(pool->bytes_kept(), 1 * mib);
}

TEST(LargePool, no_more_is_kept_than_its_bound) {
  const auto pool = LargePool::create(64 * mib, 3 * mib);
  std::vector<Lease> leases;
  for (int index = 0; index < 5; ++index) leases.push_back(pool->take(1 * mib));
  leases.push_back(pool->take(4 * mib));
  leases.clear();
  EXPECT_EQ(pool->bytes_out(), 0U);
  EXPECT_EQ(pool->bytes_kept(), 3 * mib);
}

TEST(LargePool, the_buffer_that_comes_home_is_kept_before_older_ones) {
  const auto pool = LargePool::create(64 * mib, 2 * mib);
  Lease large = pool->take(2 * mib);
  Lease small = pool->take(1 * mib);
  large.reset();
  EXPECT_EQ(pool->bytes_kept(), 2 * mib);
  const Block* const newest = small.get();
  small.reset();
  EXPECT_EQ(pool->bytes_kept(), 1 * mib);
  EXPECT_EQ(pool->take(1 * mib).get(), newest);
}

TEST(LargePool, kept_buffers_of_other_sizes_make_room_at_the_bound) {
  const auto pool = LargePool::create(4 * mib, 4 * mib);
  pool->take(4 * mib).reset();
  EXPECT_EQ(pool->bytes_kept(), 4 * mib);
  const Lease lease = pool->take(1 * mib);
  EXPECT_TRUE(lease);
  EXPECT_LE(pool->bytes_out() + pool->bytes_kept(), 4 * mib);
}

TEST(LargePool, a_take_that_fails_frees_nothing_that_is_kept) {
  const auto pool = LargePool::create(4 * mib, 4 * mib);
  const Lease out = pool->take(2 * mib);
  pool->take(1 * mib).reset();
  EXPECT_FALSE(pool->take(4 * mib));
  EXPECT_EQ(pool->bytes_kept(), 1 * mib);
}

TEST(LargePool, buffers_released_on_another_thread_come_home_at_the_next_take) {
  const auto pool = LargePool::create(1 * mib, 1 * mib);
  const Quota::Ptr quota = Quota::create(1 * mib);
  Lease lease = pool->take(1 * mib, quota.get());
  const Block* const only = lease.get();
  std::thread([&] { lease.reset(); }).join();
  lease = pool->take(1 * mib, quota.get());
  EXPECT_EQ(lease.get(), only);
}

TEST(LargePool, a_retired_pool_gives_its_buffers_back_from_any_thread) {
  auto pool = LargePool::create(64 * mib, 64 * mib);
  pool->take(2 * mib).reset();
  std::vector<Lease> leases;
  for (int index = 0; index < 6; ++index) leases.push_back(pool->take(1 * mib));
  std::thread other([mine = std::vector<Lease>(leases.begin(), leases.begin() + 3)] {});
  leases.erase(leases.begin(), leases.begin() + 3);
  pool.reset();
  leases.clear();
  other.join();
}

TEST(LargePool, says_that_it_lacked_until_a_buffer_comes_home) {
  const auto pool = LargePool::create(16 * mib, 0);
  const Quota::Ptr quota = Quota::create(1 * mib);
  EXPECT_FALSE(pool->take(2 * mib, quota.get()));
  Lease large = pool->take(8 * mib);
  Lease other = pool->take(1 * mib, quota.get());
  EXPECT_FALSE(pool->take(1 * mib, quota.get()));
  EXPECT_FALSE(pool->lacked()) << "a quota that is spent is no lack of memory";
  EXPECT_FALSE(pool->take(8 * mib));
  EXPECT_TRUE(pool->lacked());
  other.reset();
  EXPECT_FALSE(pool->lacked());
  EXPECT_FALSE(pool->take(16 * mib));
  std::thread([&large] { large.reset(); }).join();
  EXPECT_TRUE(pool->lacked());
  pool->collect();
  EXPECT_FALSE(pool->lacked());
}

TEST(LargePool, charges_a_buffer_to_another_quota_than_before) {
  const auto pool = LargePool::create(16 * mib, 0);
  const Quota::Ptr receivers = Quota::create(8 * mib);
  Lease kept = pool->take(2 * mib, receivers.get());
  EXPECT_EQ(receivers->bytes_used(), 2 * mib);
  Store::charge(*kept.get(), pool->strangers());
  EXPECT_EQ(receivers->bytes_used(), 0U);
  EXPECT_EQ(pool->strangers().bytes_used(), 2 * mib);
  EXPECT_EQ(pool->strangers().bytes_max(), 12 * mib);
  kept.reset();
  EXPECT_EQ(pool->strangers().bytes_used(), 0U);
}

TEST(LargePool, asks_the_control_group_before_it_takes_new_memory) {
  const test::FakeGroups group(512 * mib);
  MemoryRoom room{ControlGroup(group.root())};
  int refused = 0;
  room.when_refused = [&] { ++refused; };
  const auto pool = LargePool::create(1024 * mib, 512 * mib, OwnerThread::calling(), &room);
  Lease first = pool->take(200 * mib);
  ASSERT_TRUE(first);
  Lease second = pool->take(200 * mib);
  ASSERT_TRUE(second);
  EXPECT_FALSE(pool->take(200 * mib)) << "two are granted, though nothing was written to them";
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(pool->lacked());
  EXPECT_FALSE(pool->system_refused()) << "it may come home";
  second.reset();
  EXPECT_TRUE(pool->take(200 * mib)) << "a kept buffer needs no more memory";
  EXPECT_EQ(refused, 1);
}

TEST(LargePool, waits_for_memory_that_others_of_the_group_have) {
  const test::FakeGroups group(512 * mib);
  MemoryRoom room{ControlGroup(group.root())};
  const auto pool = LargePool::create(256 * mib, 0, OwnerThread::calling(), &room);
  group.use(400 * mib);
  EXPECT_FALSE(pool->take(200 * mib));
  EXPECT_FALSE(pool->system_refused()) << "nothing is out, and all the same it may come back";
  group.use(100 * mib);
  EXPECT_TRUE(pool->take(200 * mib));
}

TEST(LargePool, gives_what_it_keeps_back_where_memory_is_tight) {
  const test::FakeGroups group(512 * mib);
  MemoryRoom room{ControlGroup(group.root())};
  const auto pool = LargePool::create(512 * mib, 512 * mib, OwnerThread::calling(), &room);
  pool->take(256 * mib).reset();
  EXPECT_EQ(pool->bytes_kept(), 256 * mib);
  const Lease larger = pool->take(320 * mib);
  EXPECT_TRUE(larger);
  EXPECT_EQ(pool->bytes_kept(), 0U);
}

}  // namespace
}  // namespace netio::detail
