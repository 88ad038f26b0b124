// What is kept until it is acknowledged: where each message is found again, and what it holds.
#include "socket/resend_queue.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "socket/front_page.hpp"

namespace netio::detail {
namespace {

constexpr std::size_t kept_block_bytes = 4096;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class Resend : public testing::Test {
 protected:
  Resend() {
    queue.use(*pool);
    queue.set_bytes_max(std::size_t{64} << 10U);
  }

  void copy(std::uint64_t position, std::string_view text) {
    ASSERT_TRUE(queue.make_room_to_copy(OpenPage::frame_bytes(text.size(), 0)));
    queue.copy_message(position, bytes_of(text), 0);
  }
  void keep(std::uint64_t position, std::string_view text) {
    ASSERT_TRUE(queue.make_room());
    const Lease lease = pool->take();
    ASSERT_TRUE(lease);
    std::memcpy(lease->data(), text.data(), text.size());
    queue.add_message(position, lease, {lease->data(), text.size()}, 7);
  }
  [[nodiscard]] std::string text_at(std::uint64_t position) const {
    const ResendQueue::Item* const item = queue.find(position);
    if (item == nullptr) return "nothing";
    const auto text = [](const std::byte* data, std::size_t bytes) {
      return std::string(reinterpret_cast<const char*>(data), bytes);
    };
    if (!item->framed) return text(item->data, item->bytes);
    FrameWalker walker(item->data, item->bytes);
    Frame frame;
    for (std::uint64_t i = item->position; i <= position; ++i) {
      if (!walker.next(frame)) return "too few frames";
    }
    return text(frame.payload, frame.size);
  }

  // Behind a front, as of a message whose last segment lies elsewhere.
  void keep_behind(std::uint64_t position, std::string_view front, std::string_view text) {
    ASSERT_TRUE(queue.make_room());
    if (!fronts.has_room(front.size())) fronts.open(pool->take());
    const PostBody before = fronts.add(front.size());
    std::memcpy(const_cast<std::byte*>(before.data), front.data(), front.size());
    const Lease lease = pool->take();
    queue.add_message(position, lease, {lease->data(), text.size()}, 7, before);
  }

  Pool::Ptr pool = Pool::create(kept_block_bytes, 8);
  FrontPage fronts;
  ResendQueue queue;
};

TEST_F(Resend, fronts_lie_behind_each_other) {
  keep_behind(0, "front of 0......", "zero");
  keep_behind(1, "front of 1......", "one");
  EXPECT_EQ(pool->blocks_free(), 8U - 3U);
  const PostBody& front = queue.find(1)->front;
  EXPECT_EQ(front.bytes, 16U);
  EXPECT_EQ(std::memcmp(front.data, "front of 1......", 16), 0);
  EXPECT_GE(front.data - queue.find(0)->front.data, 16 + front_room_before + front_room_behind);
  queue.release(1);
  EXPECT_FALSE(fronts.unused());
  queue.release(2);
  EXPECT_TRUE(fronts.unused());
}

// Also if others stand between them.
TEST_F(Resend, fronts_give_way_with_all_that_lie_in_their_page) {
  std::array<std::byte, 64> bytes{};
  const Pool::Ptr elsewhere = Pool::create(kept_block_bytes, 8);
  const auto keep_elsewhere = [&](std::uint64_t position, const PostBody& front) {
    ASSERT_TRUE(queue.make_room());
    const Lease lease = elsewhere->take();
    queue.add_message(position, lease, {lease->data(), bytes.size()}, 7, front);
  };
  fronts.open(pool->take());
  keep_elsewhere(0, fronts.add(16));
  keep_elsewhere(1, {});
  keep_elsewhere(2, fronts.add(16));
  keep_elsewhere(3, {});
  queue.give_up_some({pool.get()});
  fronts.close();
  EXPECT_EQ(pool->blocks_free(), 8U);
  EXPECT_EQ(queue.find(2), nullptr);
  EXPECT_NE(queue.find(3), nullptr);
}

TEST_F(Resend, pages_of_fronts_are_a_part_of_its_share) {
  const Pool::Ptr elsewhere = Pool::create(kept_block_bytes, 8);
  for (std::uint64_t position = 0; position < 6; ++position) {
    EXPECT_EQ(queue.has_its_share(), position > 4);
    fronts.open(pool->take());
    ASSERT_TRUE(queue.make_room());
    const Lease lease = elsewhere->take();
    queue.add_message(position, lease, {lease->data(), 8}, 7, fronts.add(16));
  }
  fronts.close();
  for (std::uint64_t position = 0; position <= 6; ++position) queue.release(position);
  EXPECT_FALSE(queue.has_its_share());
  EXPECT_EQ(pool->blocks_free(), 8U);
}

TEST_F(Resend, small_messages_lie_behind_each_other_in_one_page) {
  for (std::uint64_t i = 0; i < 50; ++i) copy(100 + i, "event " + std::to_string(i));
  EXPECT_EQ(pool->blocks_out(), 1U);
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(text_at(100 + i), "event " + std::to_string(i));
  EXPECT_EQ(text_at(99), "nothing");
  EXPECT_EQ(text_at(150), "nothing");
  EXPECT_EQ(queue.oldest(150), 100U);
  queue.release(149);
  EXPECT_EQ(text_at(149), "event 49") << "a page stays as long as one message in it is needed";
  queue.release(150);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.oldest(150), 150U);
  EXPECT_EQ(pool->blocks_out(), 0U);
  EXPECT_EQ(queue.bytes_held(), 0U);
}

TEST_F(Resend, messages_of_all_kinds_are_found_by_their_position) {
  std::uint64_t position = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    for (std::uint64_t i = 0; i < 3; ++i, ++position) copy(position, std::to_string(position));
    keep(position, std::to_string(position));
    ++position;
    for (std::uint64_t i = position - 4; i < position; ++i) {
      EXPECT_EQ(text_at(i), std::to_string(i));
    }
    queue.release(position - 2);  // the page of three stays, as its last one is not acknowledged
    EXPECT_EQ(queue.oldest(position), position - 4);
  }
}

// On a connection in between nothing could be kept.
TEST_F(Resend, what_does_not_reach_to_the_next_message_is_of_no_use) {
  keep(0, "a");
  EXPECT_EQ(queue.oldest(1), 0U);
  EXPECT_EQ(queue.oldest(2), 2U);
}

TEST_F(Resend, gives_up_no_more_than_it_takes_to_let_go_of_what_is_lacked) {
  const Pool::Ptr other = Pool::create(kept_block_bytes, 2);
  keep(0, "a");
  keep(1, "b");
  queue.give_up_some({other.get()});
  EXPECT_EQ(queue.given_up(), 0U);
  queue.give_up_some({pool.get()});
  EXPECT_EQ(queue.given_up(), 1U);
  EXPECT_EQ(queue.oldest(2), 1U);
}

TEST_F(Resend, full_by_the_memory_that_is_held) {
  queue.set_bytes_max(3 * kept_block_bytes);
  keep(0, "a");
  keep(1, "b");
  EXPECT_FALSE(queue.full());
  keep(2, "c");
  EXPECT_TRUE(queue.full());
  queue.release(1);
  EXPECT_FALSE(queue.full());
  queue.set_bytes_max(1);
  EXPECT_TRUE(queue.full());
  queue.clear();
  EXPECT_FALSE(queue.full()) << "a single message is always taken";
}

TEST_F(Resend, has_its_share_where_no_more_is_left_for_others) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_FALSE(queue.has_its_share()) << i;
    keep(i, "a");
  }
  EXPECT_TRUE(queue.has_its_share()) << "of 8 blocks, 5 are kept";
}

TEST_F(Resend, what_is_sealed_does_not_change) {
  copy(0, "a");
  const ResendQueue::Item before = *queue.find(0);
  queue.seal();
  copy(1, "b");
  EXPECT_EQ(queue.find(0)->bytes, before.bytes);
  EXPECT_NE(queue.find(1), queue.find(0));
}

TEST_F(Resend, memory_that_lies_idle_is_given_up_when_the_pool_is_empty) {
  copy(0, "a");
  copy(1, "b");
  keep(2, "c");
  queue.lie_idle();
  ResendQueue moved = std::move(queue);
  std::array<Lease, 8> all;
  for (std::size_t i = 0; i < 6; ++i) all[i] = pool->take();
  EXPECT_EQ(moved.given_up(), 0U);
  all[6] = pool->take();
  EXPECT_TRUE(all[6]);
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(moved.given_up(), 3U);
}

TEST_F(Resend, memory_in_use_is_not_given_up) {
  copy(0, "a");
  queue.lie_idle();
  queue.work();
  std::array<Lease, 8> all;
  for (Lease& lease : all) lease = pool->take();
  EXPECT_FALSE(all[7]);
  EXPECT_EQ(text_at(0), "a");
}

}  // namespace
}  // namespace netio::detail
