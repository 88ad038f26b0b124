// A bounded queue between two threads.
#include "blocking/queue.hpp"

#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

using namespace std::chrono_literals;
using Item = std::unique_ptr<int>;

TEST(BlockingQueue, takes_so_many_items_and_keeps_their_order) {
  for (const std::size_t most : {1U, 2U, 5U, 64U}) {
    Queue<Item> queue(most);
    EXPECT_EQ(queue.items_max(), most);
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < most; ++i) {
        ASSERT_TRUE(queue.put(std::make_unique<int>(round + static_cast<int>(i)))) << most;
      }
      Item more = std::make_unique<int>(0);
      EXPECT_FALSE(queue.put(std::move(more)));
      EXPECT_NE(more, nullptr) << "nothing was done";  // NOLINT(bugprone-use-after-move)
      Item item;
      for (std::size_t i = 0; i < most; ++i) {
        ASSERT_TRUE(queue.take(item, 0ns));
        EXPECT_EQ(*item, round + static_cast<int>(i));
      }
      EXPECT_FALSE(queue.take(item, 0ns));
      EXPECT_FALSE(queue.take(item, 1ns));
    }
  }
}

TEST(BlockingQueue, lets_go_of_what_nobody_took) {
  const auto item = std::make_shared<int>();
  {
    Queue<std::shared_ptr<int>> queue(8);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(queue.put(std::shared_ptr<int>(item)));
    EXPECT_EQ(item.use_count(), 6);
  }
  EXPECT_EQ(item.use_count(), 1);
}

TEST(BlockingQueue, carries_all_in_order_between_threads) {
  constexpr int count = 100'000;
  Queue<Item> queue(16);
  std::thread writer([&] {
    for (int number = 0; number < count; ++number) {
      Item item = std::make_unique<int>(number);
      while (!queue.put(std::move(item))) std::this_thread::yield();
    }
  });
  int wrong = 0;
  for (int number = 0; number < count; ++number) {
    Item item;
    ASSERT_TRUE(queue.take(item, -1ns));
    if (*item != number) ++wrong;
  }
  writer.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace netio::detail
