// Unreleased: where acknowledgements stop while messages are kept.
#include "socket/unreleased.hpp"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <netio/message.hpp>

namespace netio::detail {
namespace {

class KeptInOrder : public testing::Test {
 protected:
  KeptInOrder() { memory_.note_blocks(); }

  // Keeps a message of so many bytes of a page that begins at this position.
  Message keep(std::uint64_t position, std::size_t bytes) {
    const Lease page = pool_->take(quota_.get());
    page->kept_memory = &memory_;
    Message kept = MessageView(page.get(), {page->data(), bytes}, 0).keep();
    EXPECT_TRUE(unreleased_.make_room());
    memory_.take_noted([&](Lease block) { unreleased_.add(position, std::move(block)); });
    return kept;
  }
  // The position of the first message that is not released; `none` if all are.
  static constexpr std::uint64_t none = UINT64_MAX;
  std::uint64_t first() {
    unreleased_.look(memory_);
    return unreleased_.empty() ? none : unreleased_.first();
  }

  static constexpr std::size_t block_bytes = 65536;
  static constexpr std::size_t shared = block_bytes / 2;
  Pool::Ptr pool_ = Pool::create(block_bytes, 32);
  Quota::Ptr quota_ = Quota::create(32 * block_bytes);
  KeptMemory memory_{*pool_, *quota_, [] {}};
  Unreleased unreleased_;
};

TEST_F(KeptInOrder, the_first_that_is_kept_holds_back_the_others) {
  Message first_kept = keep(3, shared);
  Message second_kept = keep(7, shared);
  second_kept = {};
  EXPECT_EQ(first(), 3U);
  first_kept = {};
  EXPECT_EQ(first(), none);
}

TEST_F(KeptInOrder, small_ones_go_with_the_last_in_their_block) {
  Message one = keep(0, 8);
  Message other = keep(5, 8);
  ASSERT_EQ(one.block(), other.block());
  one = {};
  EXPECT_EQ(first(), 0U);
  other = {};
  EXPECT_EQ(first(), none) << "what the open block has for the next ones is nobody's";
}

TEST_F(KeptInOrder, an_open_block_that_is_waited_for_does_not_begin_anew) {
  Message before = keep(0, 8);
  const Block* const block = before.block();
  before = {};
  // Nobody looks until the block is full.
  constexpr std::size_t bytes = 2048;
  static_assert(bytes < block_bytes / 16);
  std::uint64_t position = 1;
  for (std::size_t used = 8; used + bytes <= block_bytes; used += bytes) {
    EXPECT_EQ(keep(position++, bytes).block(), block);
  }
  const Message behind = keep(position, bytes);
  EXPECT_NE(behind.block(), block);
  EXPECT_EQ(first(), position);
}

TEST_F(KeptInOrder, many_blocks_come_home_in_any_order) {
  std::vector<Message> kept;
  for (std::uint64_t position = 0; position < 30; ++position) {
    kept.push_back(keep(position, shared));
  }
  for (std::size_t i = 1; i < kept.size(); i += 2) kept[i] = {};
  EXPECT_EQ(first(), 0U);
  EXPECT_EQ(pool_->blocks_free(), pool_->blocks() - 30) << "those in front are looked at";
  unreleased_.look_at_all(memory_);
  EXPECT_EQ(pool_->blocks_free(), pool_->blocks() - 15);
  EXPECT_EQ(first(), 0U);
  kept[0] = {};
  EXPECT_EQ(first(), 2U);
  kept.clear();
  EXPECT_EQ(first(), none);
  EXPECT_EQ(pool_->blocks_free(), pool_->blocks());
}

TEST_F(KeptInOrder, who_waits_no_more_lets_the_memory_go_when_the_user_does) {
  Message kept = keep(0, shared);
  unreleased_.clear();
  EXPECT_EQ(first(), none);
  kept = {};
  EXPECT_EQ(pool_->blocks_free(), pool_->blocks());
}

}  // namespace
}  // namespace netio::detail
