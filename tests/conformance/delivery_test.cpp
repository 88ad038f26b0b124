// What is sent arrives: in order, unchanged, of every size, with its tag.
#include <array>
#include <limits>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Delivery : public Conformance {
 protected:
  // Sends messages of these sizes, tagged where `tagged`, and checks what arrives.
  void expect_delivery(const std::vector<std::size_t>& sizes, bool tagged) {
    Pull pull(there_, options());
    Push push(here_, options());
    Inbox inbox(pull);
    join(pull, push);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::uint64_t tag = tagged ? mix(i) : 0;
      ASSERT_EQ(send(push, payload(i, sizes[i]), tag), Status::ok) << sizes[i] << " bytes";
    }
    ASSERT_SOON(pump_, inbox.size() == sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_EQ(inbox[i].bytes.size(), sizes[i]) << "message " << i;
      ASSERT_TRUE(is_payload(inbox[i].bytes, i)) << "message " << i << ", " << sizes[i] << " bytes";
      ASSERT_EQ(inbox[i].tag, tagged ? mix(i) : 0) << "message " << i;
    }
    settle(push);
    EXPECT_EQ(push.books().acknowledged, sizes.size());
    EXPECT_EQ(pull.books().delivered, sizes.size());
  }
};

TEST_P(Delivery, messages_arrive_in_order_and_unchanged) {
  Random random(1);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 5000; ++i) sizes.push_back(random.below(2000));
  expect_delivery(sizes, false);
}

TEST_P(Delivery, messages_of_no_bytes_arrive_one_by_one) {
  expect_delivery(std::vector<std::size_t>(500, 0), false);
  expect_delivery(std::vector<std::size_t>(500, 0), true);
}

TEST_P(Delivery, every_size_around_a_frames_padding_arrives) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 130; ++size) sizes.push_back(size);
  expect_delivery(sizes, false);
  expect_delivery(sizes, true);
}

TEST_P(Delivery, every_size_around_the_end_of_a_page_arrives) {
  const std::size_t page = GetParam().page_bytes;
  std::vector<std::size_t> sizes;
  for (std::size_t size = page - 80; size <= page + 20; ++size) sizes.push_back(size);
  for (std::size_t size = 2 * page - 120; size <= 2 * page + 20; ++size) sizes.push_back(size);
  expect_delivery(sizes, false);
  expect_delivery(sizes, true);
}

// The open page is filled to `filler` bytes, and the next message must find its place.
TEST_P(Delivery, every_rest_of_a_page_takes_the_next_message_whole_or_not_at_all) {
  const std::size_t page = GetParam().page_bytes;
  std::vector<std::size_t> sizes;
  for (std::size_t left = 0; left <= 64; ++left) {
    sizes.push_back(page - 32 - 8 - 8 - left);
    sizes.push_back(left % 24);
    sizes.push_back(40);
  }
  expect_delivery(sizes, false);
  expect_delivery(sizes, true);
}

TEST_P(Delivery, small_and_large_messages_keep_their_order) {
  const std::size_t page = GetParam().page_bytes;
  Random random(2);
  const std::array<std::size_t, 7> choice = {0, 8, 100, page / 2, page, 3 * page + 5, 1U << 20U};
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 100; ++i) sizes.push_back(choice.at(random.below(choice.size())));
  expect_delivery(sizes, true);
}

TEST_P(Delivery, tags_of_every_value_arrive_and_none_is_zero) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  join(pull, push);
  const std::vector<std::uint64_t> tags = {
      0, 1, 7, 0xffffffffU, std::uint64_t{1} << 63U, std::numeric_limits<std::uint64_t>::max(), 0};
  for (const std::uint64_t tag : tags) ASSERT_EQ(push.send("tagged", tag), Status::ok);
  ASSERT_EQ(push.send("untagged"), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == tags.size() + 1);
  for (std::size_t i = 0; i < tags.size(); ++i) EXPECT_EQ(inbox[i].tag, tags[i]);
  EXPECT_EQ(inbox[tags.size()].tag, 0U);
}

TEST_P(Delivery, payloads_start_at_a_multiple_of_8) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::size_t count = 0;
  std::size_t unaligned = 0;
  pull.on_message([&](const MessageView& message) {
    ++count;
    if (reinterpret_cast<std::uintptr_t>(message.data()) % 8 != 0) ++unaligned;
  });
  join(pull, push);
  for (std::size_t i = 1; i <= 300; ++i) {
    const std::size_t size = i % 50 == 0 ? i * 1000 : i;
    ASSERT_EQ(send(push, payload(i, size), i % 3), Status::ok);
  }
  ASSERT_SOON(pump_, count == 300);
  EXPECT_EQ(unaligned, 0U);
}

TEST_P(Delivery, the_bytes_are_the_callers_again_after_send) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  join(pull, push);
  constexpr std::uint64_t count = 200;
  std::vector<std::byte> message;
  for (std::uint64_t i = 0; i < count; ++i) {
    message.resize(i % 10 == 9 ? 200'000 : 100 + i);
    fill_payload(message, i);
    ASSERT_EQ(send(push, message), Status::ok);
    std::fill(message.begin(), message.end(), std::byte{0xee});
  }
  ASSERT_SOON(pump_, inbox.size() == count);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(is_payload(inbox[i].bytes, i)) << i;
}

// The two ends need not agree on a page size or a mode.
TEST_P(Delivery, contexts_of_different_page_sizes_understand_each_other) {
  for (const std::size_t other : {4U << 10U, 16U << 10U, 256U << 10U}) {
    Context there(small_context(other));
    pump_.add(there);
    {
      SocketOptions other_mode = options();
      other_mode.mode = options().mode == Mode::buffered ? Mode::unbuffered : Mode::buffered;
      Pair left(here_, options());
      Pair right(there, other_mode);
      Inbox left_inbox(left);
      Inbox right_inbox(right);
      join(right, left);
      const auto size_of = [](std::uint64_t i) { return std::size_t{8} + (i * 977) % 100'000; };
      send_numbered(left, 0, 100, size_of);
      send_numbered(right, 0, 100, size_of);
      ASSERT_SOON(pump_, left_inbox.size() == 100 && right_inbox.size() == 100);
      for (std::uint64_t i = 0; i < 100; ++i) {
        ASSERT_EQ(left_inbox[i].bytes.size(), size_of(i));
        ASSERT_TRUE(is_payload(left_inbox[i].bytes, i));
        ASSERT_EQ(right_inbox[i].bytes.size(), size_of(i));
        ASSERT_TRUE(is_payload(right_inbox[i].bytes, i));
      }
    }
    pump_.remove(there);
  }
}

ON_EVERY_TRANSPORT_MODE_AND_SPELLING(Delivery);

}  // namespace
}  // namespace netio::test
