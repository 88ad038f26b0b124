// Bytes come out as they went in, and memory that was used is used again.
#include "base/byte_queue.hpp"

#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

std::vector<std::byte> bytes_of(std::size_t size, unsigned number) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(number + i);
  return bytes;
}

TEST(ByteQueue, bytes_come_out_in_order_and_in_one_piece) {
  ByteQueue queue;
  std::deque<std::vector<std::byte>> there;
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time
  for (unsigned i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0 || there.empty()) {
      there.push_back(bytes_of(random() % 700, i));
      ASSERT_TRUE(queue.push(there.back()));
    } else {
      const std::span<const std::byte> front = queue.front(there.front().size());
      ASSERT_TRUE(std::equal(front.begin(), front.end(), there.front().begin())) << i;
      queue.pop(front.size());
      there.pop_front();
    }
  }
}

TEST(ByteQueue, what_was_popped_makes_room) {
  ByteQueue queue;
  const std::vector<std::byte> bytes = bytes_of(100, 1);
  ASSERT_TRUE(queue.push(bytes));
  const std::byte* const begin = queue.front(100).data();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(queue.push(bytes));
    queue.pop(100);
    EXPECT_LT(queue.front(100).data(), begin + 1024);
    EXPECT_GE(queue.front(100).data(), begin);
  }
}

TEST(ByteQueue, it_may_be_cleared) {
  ByteQueue queue;
  ASSERT_TRUE(queue.push(bytes_of(10, 1)));
  queue.clear();
  ASSERT_TRUE(queue.push(bytes_of(3, 5)));
  EXPECT_EQ(queue.front(3)[0], std::byte{5});
}

}  // namespace
}  // namespace netio::detail
