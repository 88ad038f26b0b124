// Messages kept beyond their call-back: whole as long as they live, and bounded in what they hold.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Keep : public Conformance {
 protected:
  Keep() : Conformance(roomy_pool_bytes) {}

  static std::size_t size_of(std::uint64_t i) { return i % 20 == 0 ? 100'000 : 10 + i * 13 % 3000; }

  static void expect_whole(const std::vector<Message>& kept) {
    for (std::uint64_t i = 0; i < kept.size(); ++i) {
      ASSERT_EQ(kept[i].size(), size_of(i));
      ASSERT_TRUE(is_payload(kept[i].bytes(), i)) << i;
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(kept[i].data()) % 8, 0U);
    }
  }
};

TEST_P(Keep, kept_messages_stay_whole_beyond_their_call_back) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<Message> kept;
  pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
  join(pull, push);
  send_numbered(push, 0, 300, size_of);
  ASSERT_SOON(pump_, kept.size() == 300);
  expect_whole(kept);
}

TEST_P(Keep, a_message_may_be_kept_twice) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::vector<Message> first;
  std::vector<Message> second;
  pull.on_message([&](const MessageView& message) {
    first.push_back(message.keep());
    second.push_back(message.keep());
  });
  join(pull, push);
  send_numbered(push, 0, 100, size_of);
  ASSERT_SOON(pump_, first.size() == 100);
  first.clear();
  expect_whole(second);
}

TEST_P(Keep, kept_messages_outlive_their_socket_and_their_context) {
  std::vector<Message> kept;
  {
    Context there(small_context(GetParam().page_bytes));
    pump_.add(there);
    {
      Pull pull(there, options());
      Push push(here_, options());
      pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
      join(pull, push);
      send_numbered(push, 0, 100, size_of);
      ASSERT_SOON(pump_, kept.size() == 100);
    }
    pump_.turns(5);
    expect_whole(kept);
    pump_.remove(there);
  }
  expect_whole(kept);
  kept.clear();
}

TEST_P(Keep, kept_messages_are_released_on_any_thread) {
  SocketOptions small = options();
  small.receive_bytes_max = 2 * mebi;
  Pull pull(there_, small);
  Push push(here_, options());
  std::vector<Message> kept;
  std::vector<std::thread> threads;
  std::uint64_t count = 0;
  std::atomic<std::uint64_t> wrong = 0;
  const auto hand_over = [&] {
    const std::uint64_t first = count - kept.size();
    threads.emplace_back([&wrong, first, messages = std::move(kept)]() mutable {
      for (std::uint64_t i = 0; i < messages.size(); ++i) {
        if (!is_payload(messages[i].bytes(), first + i)) ++wrong;
      }
      messages.clear();
    });
    kept.clear();
  };
  pull.on_message([&](const MessageView& message) {
    kept.push_back(message.keep());
    ++count;
    if (kept.size() == 10) hand_over();
  });
  join(pull, push);
  // In sum much more than receive_bytes_max: it must come home from the other threads.
  send_numbered(push, 0, 600, [](std::uint64_t) { return std::size_t{30'000}; });
  EXPECT_SOON(pump_, count == 600);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
}

TEST_P(Keep, messages_are_released_on_another_thread_after_the_context_is_gone) {
  std::vector<Message> kept;
  {
    Context there(small_context(GetParam().page_bytes));
    pump_.add(there);
    {
      Pull pull(there, options());
      Push push(here_, options());
      pull.on_message([&](const MessageView& message) { kept.push_back(message.keep()); });
      join(pull, push);
      send_numbered(push, 0, 100, size_of);
      ASSERT_SOON(pump_, kept.size() == 100);
    }
    pump_.remove(there);
  }
  std::thread([messages = std::move(kept)] { expect_whole(messages); }).join();
}

TEST_P(Keep, who_keeps_everything_is_held_at_receive_bytes_max_and_goes_on_after_release) {
  SocketOptions limited = options();
  limited.receive_bytes_max = 2 * mebi;
  Pull hoarder(there_, limited);
  Push to_hoarder(here_, options());
  Pull other(there_, options());
  Push to_other(here_, options());
  std::vector<Message> kept;
  std::uint64_t count = 0;
  hoarder.on_message([&](const MessageView& message) {
    kept.push_back(message.keep());
    ++count;
  });
  std::uint64_t other_count = 0;
  other.on_message([&](const MessageView&) { ++other_count; });
  join(hoarder, to_hoarder);
  join(other, to_other);

  const std::size_t size = GetParam().page_bytes / 2;  // small enough for a page, not to be copied
  const std::uint64_t taken = send_until_again(to_hoarder, size);
  if (GetParam().address.starts_with("tcp")) {  // the kernel's buffers take the rest
    ASSERT_GT(taken, 2 * mebi / size);
  }
  EXPECT_GT(kept.size(), mebi / 2 / size);
  EXPECT_LE(kept.size() * size, 2 * mebi);
  EXPECT_LT(count, taken);
  if (!GetParam().read_in_place) {  // its pages are the sender's, who has fewer for each
    EXPECT_GT(hoarder.counters().starved, 0U);
  }
  EXPECT_GT(hoarder.fill(), 0.5);

  // Another socket of the same context does not notice.
  send_numbered(to_other, 0, 500, [](std::uint64_t) { return std::size_t{20'000}; });
  ASSERT_SOON(pump_, other_count == 500);
  EXPECT_EQ(other.counters().starved, 0U);

  // Released little by little, all of it comes; the sender is held, not cut.
  std::uint64_t wrong = 0;
  std::uint64_t checked = 0;
  ASSERT_SOON(pump_, [&] {
    for (const Message& message : kept) {
      if (!is_payload(message.bytes(), checked++)) ++wrong;
    }
    kept.clear();
    return count == taken;
  }());
  EXPECT_EQ(wrong, 0U);
  kept.clear();
  settle(to_hoarder);
  EXPECT_EQ(to_hoarder.books().acknowledged, taken);
  EXPECT_EQ(to_hoarder.counters().disconnects, 0U);
}

// One block for three senders, held by what is kept for as long as anything comes.
TEST_P(Keep, the_least_receive_bytes_max_lets_messages_of_every_size_through) {
  const std::size_t page = GetParam().page_bytes;
  SocketOptions least = options();
  least.receive_bytes_max = 4 * page - 1;
  EXPECT_THROW(Pull(there_, least), Error);
  least.receive_bytes_max = std::max<std::size_t>(4, 3 * GetParam().pages_per_connection) * page;
  Pull pull(there_, least);
  std::vector<Message> kept;
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (!is_payload(message.bytes(), number_of(message.bytes()))) ++wrong;
    kept.push_back(message.keep());
    ++count;
  });
  const std::string address = bind(pull);
  std::vector<std::unique_ptr<Push>> pushes;
  for (int i = 0; i < 3; ++i) {
    pushes.push_back(std::make_unique<Push>(here_, options()));
    pushes.back()->connect(address);
  }
  const std::array<std::size_t, 4> sizes = {100, page * 3 / 4, 3 * page, 300'000};
  constexpr std::uint64_t total = 60;
  std::uint64_t sent = 0;
  std::uint64_t before = 0;
  ASSERT_SOON(pump_, [&] {
    for (const auto& push : pushes) {
      if (sent < total && push->send(payload(sent, sizes[sent % 4])) == Status::ok) ++sent;
    }
    if (std::exchange(before, count) == count) kept.clear();
    return count == total;
  }());
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(pull.counters().disconnects, 0U);
}

// Without it, 64 bytes would hold 64 KiB and more.
TEST_P(Keep, small_kept_messages_do_not_pin_their_pages) {
  SocketOptions limited = options();
  limited.receive_bytes_max = 3 * mebi;
  Pull pull(there_, limited);
  Push push(here_, options());
  std::vector<Message> kept;
  std::uint64_t count = 0;
  pull.on_message([&](const MessageView& message) {
    // One message of each page or so.
    if (count++ % 20 == 0) kept.push_back(message.keep());
  });
  join(pull, push);
  // 1,000 messages kept of 20,000: of 500 pages of 64 KiB, or of as many smaller ones.
  // They have 1.6 MiB.
  const std::size_t size = GetParam().page_bytes / 40;
  send_numbered(push, 0, 20'000, [&](std::uint64_t) { return size; });
  ASSERT_SOON(pump_, count == 20'000);
  ASSERT_EQ(kept.size(), 1000U);
  for (std::uint64_t i = 0; i < kept.size(); ++i) {
    ASSERT_TRUE(is_payload(kept[i].bytes(), 20 * i)) << i;
  }
}

// Messages larger than a page come from memory that all sockets of a context share.
TEST_P(Keep, who_keeps_all_large_messages_leaves_enough_for_the_others) {
  ContextOptions tight = small_context(GetParam().page_bytes);
  tight.large_bytes_max = 24 * mebi;
  tight.large_kept_bytes_max = 8 * mebi;
  Context there(tight);
  pump_.add(there);
  {
    SocketOptions limited = options();
    limited.message_bytes_max = mebi;
    Pull hoarder(there, limited);
    Push to_hoarder(here_, limited);
    Pull other(there, limited);
    Push to_other(here_, limited);
    std::vector<Message> kept;
    std::uint64_t count = 0;
    std::uint64_t wrong = 0;
    hoarder.on_message([&](const MessageView& message) {
      if (!is_payload(message.bytes(), count++)) ++wrong;
      kept.push_back(message.keep());
    });
    std::uint64_t other_count = 0;
    other.on_message([&](const MessageView&) { ++other_count; });
    join(hoarder, to_hoarder);
    join(other, to_other);
    const std::uint64_t taken = send_until_again(to_hoarder, 900'000);
    EXPECT_LE(kept.size() * 900'000, 24 * mebi);
    EXPECT_LT(count, taken);
    send_numbered(to_other, 0, 30, [](std::uint64_t) { return std::size_t{900'000}; });
    ASSERT_SOON(pump_, other_count == 30);
    ASSERT_SOON(pump_, [&] {
      kept.clear();
      return count == taken;
    }());
    EXPECT_EQ(wrong, 0U);
    settle(to_hoarder);
    EXPECT_EQ(to_hoarder.counters().disconnects, 0U);
  }
  pump_.remove(there);
}

TEST_P(Keep, a_copy_in_memory_of_its_own_is_a_message_too) {
  const std::vector<std::byte> bytes = payload(1, 5000);
  Message message = Message::copy_of(bytes, 42);
  EXPECT_TRUE(message);
  EXPECT_EQ(message.tag(), 42U);
  EXPECT_NE(message.data(), bytes.data());
  EXPECT_TRUE(is_payload(message.bytes(), 1));
  Message moved = std::move(message);
  EXPECT_FALSE(message);  // NOLINT(bugprone-use-after-move): the contract
  EXPECT_EQ(moved.size(), 5000U);
  moved = Message::copy_of({}, 7);
  EXPECT_TRUE(moved) << "a message of no bytes is a message";
  EXPECT_EQ(moved.size(), 0U);
  EXPECT_EQ(moved.tag(), 7U);
}

ON_EVERY_TRANSPORT_AND_MODE(Keep);

}  // namespace
}  // namespace netio::test
