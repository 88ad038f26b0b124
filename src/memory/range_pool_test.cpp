// Ranges: what is out never overlaps, what is free is one piece again, memory is taken when used.
#include "memory/range_pool.hpp"

#include <cstdint>
#include <cstring>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::size_t kibi = 1024;
constexpr std::size_t mebi = kibi * kibi;

class Ranges : public testing::Test {
 protected:
  std::size_t taken_from_system() {
    struct stat status {};
    EXPECT_EQ(fstat(memory_->fd(), &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }

  std::shared_ptr<SharedMemory> memory_ =
      std::make_shared<SharedMemory>(SharedMemory::create("ranges", 8 * mebi, 1 * mebi));
  RangePool::Ptr pool_ = RangePool::create(memory_, 1 * mebi);
};

TEST_F(Ranges, lie_in_their_part_and_are_aligned) {
  const Lease lease = pool_->take(100);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->data(), memory_->bytes().data() + 1 * mebi);
  EXPECT_EQ(lease->capacity(), 4096U);
}

TEST_F(Ranges, are_scarce_with_less_than_a_quarter_or_no_piece_as_large_left) {
  EXPECT_TRUE(pool_->plenty());
  const Lease large = pool_->take(2 * mebi);
  std::vector<Lease> small;
  for (int i = 0; i < 5; ++i) small.push_back(pool_->take(1 * mebi));
  EXPECT_FALSE(pool_->plenty());
  EXPECT_TRUE(pool_->scarce(*large.get()));
  small[0].reset();
  EXPECT_TRUE(pool_->scarce(*small[1].get())) << "1 MiB of 7";
  small[2].reset();
  EXPECT_FALSE(pool_->scarce(*small[1].get()));
  EXPECT_TRUE(pool_->scarce(*large.get())) << "more than a quarter, and no piece of 2 MiB";
  std::thread([&small] { small[1].reset(); }).join();
  EXPECT_FALSE(pool_->scarce(*large.get())) << "what came home from elsewhere counts";
}

TEST_F(Ranges, take_memory_from_the_system_only_as_far_as_they_are_used) {
  EXPECT_EQ(taken_from_system(), 1 * mebi);
  Lease lease = pool_->take(2 * mebi);
  EXPECT_EQ(taken_from_system(), 3 * mebi);
  lease.reset();
  lease = pool_->take(2 * mebi);
  EXPECT_EQ(taken_from_system(), 3 * mebi);
}

TEST_F(Ranges, are_refused_when_none_is_large_enough_and_are_one_piece_again) {
  std::vector<Lease> all;
  while (Lease lease = pool_->take(1 * mebi)) all.push_back(std::move(lease));
  EXPECT_EQ(all.size(), 7U);
  EXPECT_FALSE(pool_->take(1));
  EXPECT_TRUE(pool_->could_ever_take(7 * mebi));
  EXPECT_FALSE(pool_->could_ever_take(7 * mebi + 1));
  for (const std::size_t i : {1U, 5U, 3U, 2U, 6U, 0U, 4U}) all[i].reset();
  EXPECT_TRUE(pool_->take(7 * mebi));
}

TEST_F(Ranges, that_came_home_last_go_out_first) {
  Lease low = pool_->take(64 * kibi);
  const Lease between = pool_->take(64 * kibi);
  const std::byte* const at = low->data();
  low.reset();
  EXPECT_EQ(pool_->take(64 * kibi)->data(), at);
}

TEST_F(Ranges, never_overlap) {
  constexpr std::uint32_t seed = 20'261;
  std::mt19937 random(seed);
  std::vector<Lease> out;
  for (int i = 0; i < 20'000; ++i) {
    if (out.size() > 60 || (!out.empty() && random() % 2 == 0)) {
      const std::size_t which = random() % out.size();
      const auto bytes = std::span(out[which]->data(), out[which]->capacity());
      ASSERT_EQ(bytes.front(), bytes.back()) << "seed " << seed << ", step " << i;
      std::swap(out[which], out.back());
      out.pop_back();
    } else if (Lease lease = pool_->take(1 + random() % (300 * kibi))) {
      const auto mark = static_cast<std::byte>(random());
      lease->data()[0] = lease->data()[lease->capacity() - 1] = mark;
      out.push_back(std::move(lease));
    }
  }
  out.clear();
  EXPECT_TRUE(pool_->take(7 * mebi));
}

TEST_F(Ranges, come_home_from_other_threads_and_after_the_pool) {
  Lease afar = pool_->take(100);
  Lease late = pool_->take(100);
  std::thread([lease = std::move(afar)]() mutable { lease.reset(); }).join();
  pool_->collect();
  EXPECT_EQ(pool_->blocks_out(), 1U);
  pool_.reset();
  memory_.reset();
  std::memset(late->data(), 1, late->capacity());
  std::thread([lease = std::move(late)]() mutable { lease.reset(); }).join();
}

TEST_F(Ranges, say_that_they_lacked_until_one_comes_home) {
  EXPECT_FALSE(pool_->lacked());
  Lease half = pool_->take(4 * mebi);
  EXPECT_FALSE(pool_->take(4 * mebi));
  EXPECT_TRUE(pool_->lacked());
  const Lease small = pool_->take(1);
  EXPECT_TRUE(pool_->lacked()) << "that a small one was there helps nobody";
  half.reset();
  EXPECT_FALSE(pool_->lacked());
}

TEST_F(Ranges, are_charged_to_strangers_until_they_come_home_or_the_pool_goes) {
  std::vector<Lease> out;
  for (int i = 0; i < 4; ++i) out.push_back(pool_->take(1 * mebi));
  for (const Lease& lease : out) Store::charge(*lease.get(), pool_->strangers());
  EXPECT_EQ(pool_->strangers().bytes_used(), 4 * mebi);
  EXPECT_TRUE(pool_->strangers().fits(1 * mebi));
  EXPECT_FALSE(pool_->strangers().fits(2 * mebi)) << "three quarters of 7 MiB";
  std::thread([&out] { out[1].reset(); }).join();
  out[2].reset();
  pool_->collect();
  EXPECT_EQ(pool_->strangers().bytes_used(), 2 * mebi);
  pool_.reset();
  std::thread([&out] { out.clear(); }).join();
}

}  // namespace
}  // namespace netio::detail
