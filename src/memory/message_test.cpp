// Message and MessageView: what is shared, what is copied, who may outlive whom.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <netio/message.hpp>

#include "memory/pool.hpp"

namespace netio {
namespace {

using detail::Lease;
using detail::Pool;

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TEST(Message, an_empty_one_owns_nothing) {
  const Message message;
  EXPECT_FALSE(message);
  EXPECT_EQ(message.size(), 0U);
}

TEST(Message, a_copy_has_its_own_aligned_bytes_and_the_tag) {
  std::string text = "the quick brown fox";
  const Message message = Message::copy_of(bytes_of(text), 77);
  text.assign(text.size(), 'x');
  EXPECT_TRUE(message);
  EXPECT_EQ(message.text(), "the quick brown fox");
  EXPECT_EQ(message.tag(), 77U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.data()) % 16, 0U);
}

TEST(Message, a_copy_of_nothing_is_a_message_of_no_bytes) {
  const Message message = Message::copy_of({});
  EXPECT_TRUE(message);
  EXPECT_EQ(message.size(), 0U);
}

TEST(Message, moving_leaves_an_empty_one_behind) {
  Message first = Message::copy_of(bytes_of("first"));
  Message second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is the fact
  EXPECT_EQ(second.text(), "first");
  second = Message::copy_of(bytes_of("second"));
  EXPECT_EQ(second.text(), "second");
}

TEST(Message, moving_it_to_itself_keeps_it) {
  Message message = Message::copy_of(bytes_of("still here"));
  Message& same = message;
  message = std::move(same);
  EXPECT_EQ(message.text(), "still here");
}

TEST(MessageView, a_message_of_a_sixteenth_of_its_memory_shares_it) {
  const auto pool = Pool::create(65536, 1);
  Lease lease = pool->take();
  const MessageView view(lease.get(), {lease->data() + 32, 4096}, 5);
  Message kept = view.keep();
  EXPECT_EQ(kept.data(), view.data());
  EXPECT_EQ(kept.tag(), 5U);
  lease.reset();
  EXPECT_EQ(pool->blocks_out(), 1U);
  kept = Message();
  EXPECT_EQ(pool->blocks_out(), 0U);
}

TEST(MessageView, a_smaller_message_that_no_socket_received_shares_its_memory) {
  const auto pool = Pool::create(65536, 1);
  Lease lease = pool->take();
  const MessageView view(lease.get(), {lease->data(), 100}, 6);
  Message kept = view.keep();
  EXPECT_EQ(kept.data(), view.data());
  EXPECT_EQ(kept.tag(), 6U);
  lease.reset();
  EXPECT_EQ(pool->blocks_out(), 1U);
  kept = Message();
  EXPECT_EQ(pool->blocks_out(), 0U);
}

TEST(MessageView, a_kept_copy_can_be_kept_again_without_another) {
  const Message first = Message::copy_of(bytes_of("once"));
  const Message second = MessageView(first.block(), first.bytes(), first.tag()).keep();
  EXPECT_EQ(first.data(), second.data());
}

TEST(Message, messages_outlive_their_pool_on_any_thread) {
  auto pool = Pool::create(65536, 4);
  std::vector<Message> kept;
  for (int index = 0; index < 4; ++index) {
    const Lease lease = pool->take();
    std::memset(lease->data(), '0' + index, 65536);
    kept.push_back(MessageView(lease.get(), {lease->data(), 65536}, 0).keep());
  }
  pool.reset();
  std::thread([messages = std::move(kept)]() mutable {
    for (int index = 0; index < 4; ++index) {
      EXPECT_EQ(messages[static_cast<std::size_t>(index)].text().back(), '0' + index);
    }
    messages.clear();
  }).join();
}

}  // namespace
}  // namespace netio
