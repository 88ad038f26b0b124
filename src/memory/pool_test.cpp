// Pool and Quota on their owner thread, and what comes home from another.
#include "memory/pool.hpp"

#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <netio/status.hpp>

#include "support/fake_groups.hpp"

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

// --- Memory that is taken as it is used.

using test::mib;
constexpr std::size_t page_bytes = 64U << 10U;

std::size_t resident_bytes(std::span<std::byte> memory) {
  std::vector<unsigned char> pages(memory.size() / small_page_bytes);
  EXPECT_EQ(::mincore(memory.data(), memory.size(), pages.data()), 0);
  std::size_t resident = 0;
  for (const unsigned char page : pages) resident += page & 1U;
  return resident * small_page_bytes;
}

std::vector<Lease> take(Pool& pool, std::size_t blocks) {
  std::vector<Lease> leases;
  while (leases.size() < blocks) {
    leases.push_back(pool.take());
    if (!leases.back()) {
      leases.pop_back();
      break;
    }
    std::memset(leases.back()->data(), 0x5a, leases.back()->capacity());
  }
  return leases;
}

class PoolAsUsed : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t blocks = 512;  // 32 MiB
  Pool::Ptr create(std::size_t each_bytes = page_bytes) {
    std::shared_ptr<SharedMemory> shared;
    if (GetParam()) {
      shared =
          std::make_shared<SharedMemory>(SharedMemory::create("as used", blocks * each_bytes, 0));
    }
    return Pool::create_as_used(each_bytes, blocks, &room_, OwnerThread::calling(), shared);
  }
  void SetUp() override {
    if (create()->huge_pages()) GTEST_SKIP() << "this machine has reserved huge pages";
    room_.when_refused = [this] { ++refused_; };
  }

  const test::FakeGroups group_{1024 * mib};
  MemoryRoom room_{ControlGroup(group_.root())};
  int refused_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Memory, PoolAsUsed, testing::Bool(), [](const auto& shared) {
  return std::string(shared.param ? "shared" : "own");
});

TEST_P(PoolAsUsed, takes_no_more_memory_than_blocks_were_out_at_a_time) {
  const auto pool = create();
  EXPECT_EQ(pool->blocks_free(), blocks);
  EXPECT_EQ(resident_bytes(pool->region()), 0U);
  for (int round = 0; round < 1000; ++round) {
    ASSERT_EQ(take(*pool, 8).size(), 8U);
    if (round == 0) {
      EXPECT_LE(resident_bytes(pool->region()), 2 * mib);
    }
  }
  EXPECT_LE(resident_bytes(pool->region()), 2 * mib) << "8 blocks of 64 KiB";
  const auto half = take(*pool, 256);
  EXPECT_LE(resident_bytes(pool->region()), 16 * mib);
  EXPECT_EQ(pool->blocks_free(), 256U);
}

TEST_P(PoolAsUsed, has_all_its_blocks_and_each_of_them_once) {
  for (const std::size_t size : {std::size_t{4096}, page_bytes, std::size_t{68} << 10U, 3 * mib}) {
    SCOPED_TRACE(size);
    const auto pool = create(size);
    std::set<std::byte*> places;
    std::vector<Lease> leases;
    while (Lease lease = pool->take()) {
      lease->data()[0] = lease->data()[size - 1] = std::byte{1};
      places.insert(lease->data());
      leases.push_back(std::move(lease));
      if (leases.size() * size > 256 * mib) break;
    }
    EXPECT_EQ(places.size(), leases.size());
    EXPECT_EQ(*places.begin(), pool->region().data());
    EXPECT_EQ(*places.rbegin(), pool->region().data() + (places.size() - 1) * size);
    EXPECT_EQ(pool->blocks_free(), blocks - leases.size());
    EXPECT_EQ(refused_, 0);
  }
}

TEST_P(PoolAsUsed, is_smaller_where_the_group_has_no_room_and_goes_on_when_it_has) {
  const auto pool = create();
  group_.use(1024 * mib - 40 * mib);
  auto leases = take(*pool, 64);
  ASSERT_EQ(leases.size(), 64U);
  group_.use(1024 * mib - 10 * mib);
  EXPECT_FALSE(pool->take());
  EXPECT_FALSE(pool->take());
  EXPECT_EQ(refused_, 1) << "it asks once a round";
  EXPECT_EQ(pool->blocks_free(), 0U);
  EXPECT_TRUE(pool->runs_low());
  leases.resize(60);
  EXPECT_EQ(pool->blocks_free(), 4U);
  for (Lease& lease : take(*pool, 4)) leases.push_back(std::move(lease));
  EXPECT_EQ(leases.size(), 64U) << "what comes home goes out again";
  EXPECT_EQ(pool->blocks_free(), 0U);
  room_.retry();
  EXPECT_EQ(pool->blocks_free(), blocks - 64) << "who waits for more than one asks again";
  EXPECT_FALSE(pool->take());
  EXPECT_EQ(refused_, 2);
  group_.use(0);
  room_.retry();
  for (Lease& lease : take(*pool, blocks)) leases.push_back(std::move(lease));
  EXPECT_EQ(leases.size(), blocks);
  leases.clear();
  EXPECT_EQ(pool->blocks_free(), blocks);
}

TEST_P(PoolAsUsed, gives_all_of_it_at_once_to_who_registers_it) {
  const auto pool = create();
  group_.use(1024 * mib - 10 * mib);
  EXPECT_FALSE(pool->take_all());
  group_.use(0);
  room_.retry();
  EXPECT_TRUE(pool->take_all());
  EXPECT_EQ(pool->blocks_free(), blocks);
  EXPECT_EQ(take(*pool, blocks).size(), blocks);
}

// Memory that cannot be faulted in is address space that is not there: as if the system had none.
TEST(Pool, answers_an_empty_lease_where_the_system_refuses_memory) {
  MemoryRoom room;
  const auto pool = Pool::create_as_used(page_bytes, 512, &room);
  if (pool->huge_pages()) GTEST_SKIP() << "this machine has reserved huge pages";
  ASSERT_TRUE(pool->take());
  const std::span<std::byte> rest = pool->region().subspan(2 * mib);
  ASSERT_EQ(::munmap(rest.data(), rest.size()), 0);
  const auto leases = take(*pool, 512);
  EXPECT_EQ(leases.size(), 32U);
  EXPECT_FALSE(pool->take());
  ASSERT_EQ(::mmap(rest.data(), rest.size(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            rest.data());
  room.retry();
  EXPECT_EQ(take(*pool, 512).size(), 480U);
}

}  // namespace
}  // namespace netio::detail
