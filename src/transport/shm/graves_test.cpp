// What peers that have gone hold is counted, and is free again when they let go of it.
#include "transport/shm/graves.hpp"

#include <array>
#include <chrono>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

class Graves : public testing::Test {
 protected:
  static constexpr std::size_t blocks = 8;
  static constexpr std::size_t block_bytes = 4096;

  // A peer that holds one block, and its end of the lifeline.
  struct Holder {
    std::list<ShmGrave> grave = std::list<ShmGrave>(1);
    FileDescriptor lifeline;
  };
  Holder holder() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    Holder made;
    made.lifeline.reset(ends[1]);
    ShmGrave& grave = made.grave.front();
    grave.lifeline.reset(ends[0]);
    grave.holds.push_back({arena_->take(), 1});
    grave.arena_bytes = block_bytes;
    return made;
  }
  std::string why_full() { return graves_.why_full(*arena_, *loans_); }
  void turn() { (void)loop_.run_once(std::chrono::nanoseconds(0)); }

  Loop loop_;
  std::shared_ptr<SharedMemory> memory_ = std::make_shared<SharedMemory>(
      SharedMemory::create("graves", (blocks + 8) * block_bytes, blocks* block_bytes));
  Pool::Ptr arena_ = Pool::create(block_bytes, blocks, OwnerThread::calling(), memory_);
  RangePool::Ptr loans_ = RangePool::create(memory_, blocks* block_bytes);
  ShmGraves graves_{loop_};
};

TEST_F(Graves, are_open_when_the_peer_lets_go) {
  Holder one = holder();
  graves_.bury(std::move(one.grave));
  turn();
  EXPECT_EQ(graves_.count(), 1U);
  EXPECT_EQ(arena_->blocks_free(), blocks - 1);
  one.lifeline.reset();
  turn();
  EXPECT_EQ(graves_.count(), 0U);
  EXPECT_EQ(arena_->blocks_free(), blocks);
}

TEST_F(Graves, are_full_with_more_than_half_of_the_memory) {
  std::array<Holder, blocks / 2 + 1> all;
  for (Holder& each : all) {
    EXPECT_EQ(why_full(), "");
    each = holder();
    graves_.bury(std::move(each.grave));
  }
  EXPECT_NE(why_full(), "");
  all[2].lifeline.reset();
  turn();
  EXPECT_EQ(why_full(), "");
}

// A descriptor that is watched already stands for a system that has no room for a watch.
TEST_F(Graves, that_found_no_room_for_a_watch_are_watched_later) {
  Holder one = holder();
  std::optional<Watch> in_the_way;
  in_the_way.emplace(loop_, one.grave.front().lifeline.get(), EPOLLIN, [](std::uint32_t) {});
  graves_.bury(std::move(one.grave));
  in_the_way.reset();
  one.lifeline.reset();
  turn();
  ASSERT_EQ(graves_.count(), 1U) << "it found room: nothing was shown";
  EXPECT_EQ(why_full(), "");
  turn();
  EXPECT_EQ(graves_.count(), 0U);
  EXPECT_EQ(arena_->blocks_free(), blocks);
}

}  // namespace
}  // namespace netio::detail
