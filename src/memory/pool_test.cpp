// Pool and Quota on their owner thread, and what comes home from another.
#include "memory/pool.hpp"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <netio/status.hpp>

namespace netio::detail {
namespace {

constexpr std::size_t block_bytes = 8192;

TEST(Pool, the_block_returned_last_is_taken_first) {
  const auto pool = Pool::create(block_bytes, 4);
  Lease first = pool->take();
  Lease second = pool->take();
  const Block* const returned_last = first.get();
  second.reset();
  first.reset();
  EXPECT_EQ(pool->take().get(), returned_last);
}

TEST(Pool, blocks_are_distinct_aligned_writable_and_fill_the_region) {
  const auto pool = Pool::create(block_bytes, 16);
  ASSERT_EQ(pool->region().size(), 16 * block_bytes);
  std::vector<Lease> leases;
  std::set<std::byte*> places;
  while (Lease lease = pool->take()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lease->data()) % 4096, 0U);
    EXPECT_EQ(lease->capacity(), block_bytes);
    std::memset(lease->data(), 0x5a, block_bytes);
    places.insert(lease->data());
    leases.push_back(std::move(lease));
  }
  EXPECT_EQ(places.size(), 16U);
  EXPECT_EQ(*places.begin(), pool->region().data());
  EXPECT_EQ(pool->blocks_out(), 16U);
  EXPECT_EQ(pool->blocks_free(), 0U);
}

TEST(Pool, a_region_of_some_size_lies_on_a_huge_page_boundary) {
  const auto pool = Pool::create(65536, 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool->region().data()) % huge_page_bytes, 0U);
}

TEST(Pool, an_empty_pool_answers_an_empty_lease) {
  const auto pool = Pool::create(block_bytes, 1);
  Lease only = pool->take();
  EXPECT_TRUE(only);
  EXPECT_FALSE(pool->take());
  only.reset();
  EXPECT_TRUE(pool->take());
}

TEST(Pool, a_block_is_out_until_its_last_count_is_dropped) {
  const auto pool = Pool::create(block_bytes, 1);
  Lease lease = pool->take();
  EXPECT_TRUE(lease->sole());
  Lease copy = lease;
  EXPECT_FALSE(lease->sole());
  lease.reset();
  EXPECT_TRUE(copy->sole());
  EXPECT_EQ(pool->blocks_out(), 1U);
  copy = Lease();
  EXPECT_EQ(pool->blocks_out(), 0U);
}

TEST(Pool, sizes_that_cannot_be_are_errors) {
  EXPECT_THROW(Pool::create(0, 1), Error);
  EXPECT_THROW(Pool::create(4097, 1), Error);
  EXPECT_THROW(Pool::create(4096, 0), Error);
  EXPECT_THROW(Pool::create(4096, SIZE_MAX), Error);
  EXPECT_THROW(Pool::create(SIZE_MAX & ~std::size_t{4095}, 1), Error);
  EXPECT_THROW(Pool::create(std::size_t{1} << 50U, 1), Error);
}

TEST(Pool, a_spent_quota_refuses_while_the_pool_has_blocks) {
  const auto pool = Pool::create(block_bytes, 8);
  const Quota::Ptr quota = Quota::create(2 * block_bytes + 1);
  Lease first = pool->take(quota.get());
  const Lease second = pool->take(quota.get());
  EXPECT_EQ(quota->bytes_used(), 2 * block_bytes);
  EXPECT_FALSE(pool->take(quota.get()));
  EXPECT_TRUE(pool->take());
  first.reset();
  EXPECT_EQ(quota->bytes_used(), block_bytes);
  EXPECT_TRUE(pool->take(quota.get()));
}

TEST(Pool, a_quota_outlives_its_socket_until_its_last_block_is_home) {
  const auto pool = Pool::create(block_bytes, 2);
  Lease lease;
  {
    const Quota::Ptr quota = Quota::create(block_bytes);
    lease = pool->take(quota.get());
  }
  EXPECT_EQ(lease->quota->bytes_used(), block_bytes);  // The address sanitizer sees the rest.
  lease.reset();
}

TEST(Pool, a_quota_never_fits_more_than_its_bound_whatever_the_sizes) {
  const Quota::Ptr quota = Quota::create(100);
  EXPECT_FALSE(quota->fits(SIZE_MAX));
  EXPECT_TRUE(quota->fits(100));
  quota->charge(60);
  EXPECT_FALSE(quota->fits(41));
  EXPECT_FALSE(quota->fits(SIZE_MAX - 59));
  EXPECT_TRUE(quota->fits(40));
  quota->discharge(60);
}

TEST(Pool, a_take_finds_what_other_threads_returned_when_it_finds_nothing_else) {
  const auto pool = Pool::create(block_bytes, 1);
  const Quota::Ptr quota = Quota::create(block_bytes);
  Lease lease = pool->take(quota.get());
  std::thread([&] { lease.reset(); }).join();
  EXPECT_EQ(pool->blocks_out(), 1U);
  EXPECT_EQ(quota->bytes_used(), block_bytes);  // Only the owner thread touches a quota.
  lease = pool->take(quota.get());
  EXPECT_TRUE(lease);
  EXPECT_EQ(quota->bytes_used(), block_bytes);
}

TEST(Pool, a_spent_quota_makes_a_take_look_for_returned_blocks) {
  const auto pool = Pool::create(block_bytes, 8);
  const Quota::Ptr quota = Quota::create(block_bytes);
  Lease lease = pool->take(quota.get());
  std::thread([&] { lease.reset(); }).join();
  EXPECT_TRUE(pool->take(quota.get()));
}

TEST(Pool, collect_brings_home_what_other_threads_returned) {
  const auto pool = Pool::create(block_bytes, 8);
  std::vector<Lease> leases;
  for (int index = 0; index < 5; ++index) leases.push_back(pool->take());
  std::thread([&] { leases.clear(); }).join();
  pool->collect();
  EXPECT_EQ(pool->blocks_out(), 0U);
  EXPECT_EQ(pool->blocks_free(), 8U);
}

TEST(Pool, returned_blocks_are_found_within_64_takes_of_a_pool_that_has_others) {
  const auto pool = Pool::create(block_bytes, 2);
  Lease lease = pool->take();
  std::thread([&] { lease.reset(); }).join();
  for (int take = 0; take < 64; ++take) EXPECT_TRUE(pool->take());
  EXPECT_EQ(pool->blocks_out(), 0U);
}

// That of its loop, in a turn: see store_test.cpp.
TEST(Pool, without_a_loop_belongs_to_the_thread_that_made_it) {
  const auto pool = Pool::create(block_bytes, 2);
  std::thread([&] {
    pool->take().reset();
    EXPECT_EQ(pool->blocks_free(), 1U);
  }).join();
  pool->take().reset();
  EXPECT_EQ(pool->blocks_free(), 1U);
  pool->collect();
  EXPECT_EQ(pool->blocks_free(), 2U);
}

}  // namespace
}  // namespace netio::detail
