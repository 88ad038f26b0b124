// KeptMemory: what is packed and what is shared, at the bound and when others lack memory.
#include "memory/kept_memory.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <netio/message.hpp>

#include "support/allocation_counter.hpp"

namespace netio::detail {
namespace {

constexpr std::size_t arrival_block_bytes = 65536;

class KeptMemoryTest : public testing::Test {
 protected:
  // A block as a socket hands it up.
  Lease receive() {
    Lease lease = pool_->take(quota_.get());
    if (lease) lease->kept_memory = &*memory_;
    return lease;
  }
  static MessageView view(const Lease& lease, std::size_t bytes, std::size_t at = 0) {
    return {lease.get(), {lease->data() + at, bytes}, 0};
  }
  [[nodiscard]] std::size_t blocks_used() const {
    return quota_->bytes_used() / arrival_block_bytes;
  }

  int wanted_ = 0;
  Pool::Ptr pool_ = Pool::create(arrival_block_bytes, 8);
  Quota::Ptr quota_ = Quota::create(4 * arrival_block_bytes);
  std::optional<KeptMemory> memory_{std::in_place, *pool_, *quota_, [this] { ++wanted_; }};
};

TEST_F(KeptMemoryTest, small_messages_are_packed_behind_each_other_at_multiples_of_8) {
  Lease lease = receive();
  std::vector<Message> kept;
  for (char c = 'a'; c < 'e'; ++c) {
    std::memset(lease->data(), c, 13);
    kept.push_back(view(lease, 13).keep());
  }
  lease.reset();
  EXPECT_EQ(blocks_used(), 1U);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].text(), std::string(13, static_cast<char>('a' + i)));
    EXPECT_EQ(kept[i].data(), kept[0].data() + 16 * i);
  }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept[0].data()) % 8, 0U);
}

TEST_F(KeptMemoryTest, shares_or_packs_whatever_the_size_if_it_is_asked_to) {
  Lease lease = receive();
  std::memset(lease->data(), 'a', 40'000);
  const Kept shared = KeptMemory::share(*lease.get(), {lease->data(), 8});
  EXPECT_EQ(shared.block, lease.get());
  EXPECT_EQ(quota_->kept_bytes(), arrival_block_bytes);
  shared.block->drop_count();

  KeptMemory pages(*pool_, *quota_);
  const Kept first = pages.pack(*lease.get(), {lease->data(), 40'000});
  const Kept second = pages.pack(*lease.get(), {lease->data(), 20'000});
  ASSERT_NE(first.block, lease.get());
  EXPECT_EQ(second.data, first.data + 40'000);
  EXPECT_EQ(std::memcmp(first.data, lease->data(), 40'000), 0);
  // What is kept of a page that was packed goes where all small messages go.
  const Message small = MessageView(first.block, {first.data, 8}, 0).keep();
  EXPECT_NE(small.block(), first.block);
  EXPECT_NE(small.block(), lease.get());
  // Without memory the block is shared.
  std::vector<Lease> all;
  while (Lease taken = pool_->take(quota_.get())) all.push_back(std::move(taken));
  const Kept third = pages.pack(*lease.get(), {lease->data(), 20'000});
  EXPECT_EQ(third.block, lease.get());
  for (const Kept& kept : {first, second, third}) kept.block->drop_count();
}

TEST_F(KeptMemoryTest, a_sixteenth_of_its_memory_is_shared_and_less_is_packed) {
  const Lease lease = receive();
  const MessageView sixteenth = view(lease, arrival_block_bytes / 16, 32);
  const Message shared = sixteenth.keep();
  EXPECT_EQ(shared.data(), sixteenth.data());
  EXPECT_EQ(blocks_used(), 1U);
  const MessageView smaller = view(lease, arrival_block_bytes / 16 - 1, 32);
  const Message packed = smaller.keep();
  EXPECT_NE(packed.data(), smaller.data());
  EXPECT_EQ(blocks_used(), 2U);
}

TEST_F(KeptMemoryTest, messages_without_bytes_are_kept_for_as_long_as_there_is_room) {
  const Lease lease = receive();
  std::vector<Message> kept(2 * arrival_block_bytes / 8);
  for (Message& message : kept) {
    message = view(lease, 0).keep();
    ASSERT_TRUE(message);
  }
  EXPECT_EQ(blocks_used(), 3U);  // with that of the view
  kept.clear();
  memory_->close();
  EXPECT_EQ(blocks_used(), 1U);
}

TEST_F(KeptMemoryTest, a_block_comes_home_when_it_is_full_and_its_last_message_is_released) {
  const Lease lease = receive();
  std::vector<Message> kept;
  for (std::size_t i = 0; i < arrival_block_bytes / 1024 + 1; ++i)
    kept.push_back(view(lease, 1024).keep());
  EXPECT_EQ(blocks_used(), 3U);
  kept.erase(kept.begin() + 1, kept.end());
  EXPECT_EQ(blocks_used(), 3U);
  kept.clear();
  EXPECT_EQ(blocks_used(), 2U);
}

TEST_F(KeptMemoryTest, a_full_block_whose_messages_were_released_is_used_again) {
  const Lease lease = receive();
  const std::byte* const first = view(lease, 1024).keep().data();
  for (std::size_t i = 1; i < arrival_block_bytes / 1024; ++i) {
    EXPECT_NE(view(lease, 1024).keep().data(), first);
  }
  EXPECT_EQ(view(lease, 1024).keep().data(), first);
  EXPECT_EQ(blocks_used(), 2U);
}

TEST_F(KeptMemoryTest, at_the_bound_a_small_message_shares_the_block_it_lies_in) {
  Lease lease = receive();
  std::vector<Message> kept;
  const MessageView small = view(lease, 64, 8);
  while (kept.empty() || kept.back().data() != small.data()) kept.push_back(small.keep());
  EXPECT_EQ(blocks_used(), 4U);
  EXPECT_EQ(kept.size(), 3 * arrival_block_bytes / 64 + 1);
  EXPECT_FALSE(receive());
  lease.reset();
  EXPECT_EQ(blocks_used(), 4U);
  kept.pop_back();
  EXPECT_EQ(blocks_used(), 3U);
  lease = receive();
  EXPECT_TRUE(lease);
}

TEST_F(KeptMemoryTest, a_message_shares_its_block_where_the_pool_is_empty) {
  const Lease lease = receive();
  std::vector<Lease> others;
  for (Lease other = pool_->take(); other; other = pool_->take()) others.push_back(other);
  const Message shared = view(lease, 64, 8).keep();
  EXPECT_EQ(shared.data(), lease->data() + 8);
  others.clear();
  const Message packed = view(lease, 64, 8).keep();
  EXPECT_NE(packed.data(), lease->data() + 8);
}

TEST_F(KeptMemoryTest, kept_bytes_are_the_blocks_that_kept_messages_lie_in) {
  Lease lease = receive();
  EXPECT_EQ(quota_->kept_bytes(), 0U);
  Message packed = view(lease, 64).keep();
  EXPECT_EQ(quota_->kept_bytes(), arrival_block_bytes);
  Message shared = view(lease, arrival_block_bytes / 2).keep();
  const Message again = view(lease, arrival_block_bytes / 2).keep();
  EXPECT_EQ(quota_->kept_bytes(), 2 * arrival_block_bytes);
  EXPECT_EQ(memory_->idle_bytes(), 0U);
  packed = Message();
  EXPECT_EQ(memory_->idle_bytes(), arrival_block_bytes);
  shared = Message();
  lease.reset();
  EXPECT_EQ(quota_->kept_bytes(), 2 * arrival_block_bytes);
}

TEST_F(KeptMemoryTest, kept_bytes_follow_what_is_released_and_used_again) {
  Lease lease = receive();
  Message shared = view(lease, arrival_block_bytes / 2).keep();
  shared = Message();
  Store::forget_kept(*lease.get());
  EXPECT_EQ(quota_->kept_bytes(), 0U);
  shared = view(lease, arrival_block_bytes / 2).keep();
  lease.reset();
  shared = Message();
  EXPECT_EQ(quota_->kept_bytes(), 0U);
  EXPECT_EQ(quota_->bytes_used(), 0U);
}

TEST_F(KeptMemoryTest, an_open_block_without_messages_is_given_up_to_who_lacks_memory) {
  Lease lease = receive();
  (void)view(lease, 64).keep();
  EXPECT_EQ(blocks_used(), 2U);
  std::vector<Lease> own;  // the quota is spent
  for (Lease more = receive(); more; more = receive()) own.push_back(more);
  EXPECT_EQ(own.size(), 3U);
  own.clear();
  (void)view(lease, 64).keep();
  std::vector<Lease> others;  // the pool is empty
  for (Lease more = pool_->take(); more; more = pool_->take()) others.push_back(more);
  EXPECT_EQ(others.size(), 7U);
  EXPECT_EQ(wanted_, 0);
}

TEST_F(KeptMemoryTest, an_open_block_with_messages_is_wanted_and_closes_once_it_is_idle) {
  Lease lease = receive();
  Message kept = view(lease, 64).keep();
  std::vector<Lease> own;
  for (Lease more = receive(); more; more = receive()) own.push_back(more);
  EXPECT_EQ(own.size(), 2U);
  EXPECT_GT(wanted_, 0);
  EXPECT_FALSE(memory_->close_if_idle());
  const Message beside = view(lease, 64).keep();
  EXPECT_EQ(beside.data(), kept.data() + 64);
  kept = Message();
  EXPECT_FALSE(memory_->close_if_idle());
  EXPECT_FALSE(receive());
  EXPECT_TRUE(beside);
}

TEST_F(KeptMemoryTest, several_messages_are_kept_as_one_range) {
  Lease lease = receive();
  std::memset(lease->data(), 'r', 512);
  const Kept kept = KeptMemory::keep(*lease.get(), {lease->data(), 512});
  EXPECT_NE(kept.data, lease->data());
  EXPECT_EQ(std::memcmp(kept.data, lease->data(), 512), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.data) % 8, 0U);
  const Message owner(kept.block, {kept.data, 512}, 0);
  EXPECT_EQ(owner.block()->quota, quota_.get());
}

TEST_F(KeptMemoryTest, a_packed_message_that_is_kept_again_is_shared) {
  const Lease lease = receive();
  const Message first = view(lease, 64).keep();
  const Message second = MessageView::of_kept(first.block(), first.bytes(), 0).keep();
  EXPECT_EQ(first.data(), second.data());
}

// As a blocking receive() gives it: one of many in a page that was kept.
TEST_F(KeptMemoryTest, a_small_message_of_a_packed_page_is_kept_apart) {
  const Lease lease = receive();
  const Message kept = view(lease, 64).keep();
  const Message apart = MessageView(kept.block(), kept.bytes().first(8), 0).keep();
  EXPECT_NE(apart.data(), kept.data());
  EXPECT_EQ(std::memcmp(apart.data(), kept.data(), 8), 0);
}

TEST_F(KeptMemoryTest, keeping_takes_no_memory_from_the_heap) {
  const Lease lease = receive();
  std::vector<Message> kept(3 * arrival_block_bytes / 64 + 100);
  EXPECT_EQ(test::allocations_during([&] {
              for (Message& message : kept) message = view(lease, 64).keep();
            }),
            0U);
}

TEST_F(KeptMemoryTest, messages_are_released_on_another_thread_while_more_are_kept) {
  const Lease lease = receive();
  const std::byte* const original = lease->data();
  std::vector<std::vector<Message>> rounds(200);
  std::size_t packed = 0;
  std::thread releasing;
  for (auto& round : rounds) {
    for (int i = 0; i < 500; ++i) {
      std::memset(lease->data(), i, 64);
      round.push_back(view(lease, 64).keep());
      if (round.back().data() != original) ++packed;
    }
    if (releasing.joinable()) releasing.join();
    releasing = std::thread([messages = std::move(round), original]() mutable {
      for (std::size_t i = 0; i < messages.size(); ++i) {
        if (messages[i].data() == original) continue;
        EXPECT_EQ(messages[i].bytes().back(), static_cast<std::byte>(i));
      }
      messages.clear();
    });
  }
  releasing.join();
  EXPECT_EQ(packed, 200U * 500U);
  memory_->close();
  pool_->collect();
  EXPECT_EQ(blocks_used(), 1U);
}

TEST_F(KeptMemoryTest, messages_outlive_the_socket_its_quota_and_the_pool) {
  Lease lease = receive();
  std::memset(lease->data(), 'z', 64);
  Message kept = view(lease, 64).keep();
  lease.reset();
  memory_.reset();
  quota_.reset();
  EXPECT_EQ(kept.text(), std::string(64, 'z'));
  pool_.reset();
  std::thread([message = std::move(kept)] {
    EXPECT_EQ(message.text(), std::string(64, 'z'));
  }).join();
}

}  // namespace
}  // namespace netio::detail
