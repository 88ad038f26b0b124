// A ring from one thread to another, of which neither waits for nothing.
#include "blocking/send_queue.hpp"

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

using namespace std::chrono_literals;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(SendQueue::Entry& entry) {
  if (entry.kind == SendQueue::Entry::Kind::message) return std::string(entry.message().text());
  const auto bytes = entry.copied();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string text(std::uint64_t number) {
  return std::to_string(number) + std::string(number * 7 % 600, 'x');  // short and long
}

TEST(SendQueue, takes_so_many_messages_of_any_size) {
  for (const std::size_t most : {1U, 2U, 5U, 64U}) {
    SendQueue queue(most);
    for (std::uint64_t round = 0; round < 20; ++round) {
      for (std::uint64_t i = 0; i < most; ++i) {
        ASSERT_TRUE(queue.put(bytes_of(text(round + i)), i, 0ns)) << most;
      }
      EXPECT_FALSE(queue.put({}, 0, 0ns));
      EXPECT_FALSE(queue.put({}, 0, 1ns));
      for (std::uint64_t i = 0; i < most; ++i) {
        SendQueue::Entry* const entry = queue.front();
        ASSERT_NE(entry, nullptr);
        EXPECT_EQ(text_of(*entry), text(round + i));
        EXPECT_EQ(entry->tag, i);
        queue.pop(*entry);
      }
      EXPECT_EQ(queue.front(), nullptr);
      queue.make_room();
    }
  }
}

TEST(SendQueue, lets_go_of_what_nobody_took) {
  SendQueue queue(8);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(queue.put(bytes_of(std::string(10'000, 'x')), 0, 0ns));
  }
}

TEST(SendQueue, tells_a_reader_that_waits_once) {
  SendQueue queue(8);
  EXPECT_TRUE(queue.reader_waits()) << "as it does at first";
  EXPECT_FALSE(queue.reader_waits());
  EXPECT_TRUE(queue.wait());
  ASSERT_TRUE(queue.put(bytes_of("first"), 0, 0ns));
  EXPECT_TRUE(queue.reader_waits());
  EXPECT_FALSE(queue.wait()) << "something is there";
  EXPECT_FALSE(queue.reader_waits());
}

TEST(SendQueue, carries_all_in_order_between_threads_that_wait_for_each_other) {
  constexpr std::uint64_t count = 200'000;
  SendQueue queue(16);
  std::atomic<bool> told{false};
  std::thread writer([&] {
    for (std::uint64_t number = 0; number < count; ++number) {
      ASSERT_TRUE(queue.put(bytes_of(text(number)), number, -1ns));
      if (queue.reader_waits()) told = true;
    }
  });
  std::uint64_t wrong = 0;
  bool waits = true;  // as at first
  for (std::uint64_t number = 0; number < count;) {
    while (waits && !told.exchange(false) && queue.front() == nullptr) std::this_thread::yield();
    while (SendQueue::Entry* const entry = queue.front()) {
      if (entry->tag != number || text_of(*entry) != text(number)) ++wrong;
      queue.pop(*entry);
      queue.make_room();
      ++number;
    }
    waits = queue.wait();
  }
  writer.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace netio::detail
