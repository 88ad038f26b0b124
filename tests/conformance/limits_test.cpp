// The largest message: refused by who would send it, and by who would have to take it.
#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Limits : public Conformance {
 protected:
  SocketOptions at_most(std::size_t bytes) const {
    SocketOptions limited = options();
    limited.message_bytes_max = bytes;
    return limited;
  }
};

TEST_P(Limits, a_message_of_exactly_the_limit_passes_and_one_more_byte_is_too_big) {
  for (const std::size_t limit : {std::size_t{100}, GetParam().page_bytes, std::size_t{300'000}}) {
    Pull pull(there_, options());
    Push push(here_, at_most(limit));
    Inbox inbox(pull);
    join(pull, push);
    const std::vector<std::byte> larger = payload(1, limit + 1);
    EXPECT_EQ(push.send(larger), Status::too_big);
    EXPECT_EQ(push.lend(larger, 1), Status::too_big);
    EXPECT_EQ(push.send(Message::copy_of(larger)), Status::too_big);
    EXPECT_EQ(push.books().sent, 0U);
    ASSERT_EQ(send(push, payload(2, limit)), Status::ok);
    ASSERT_SOON(pump_, inbox.size() == 1);
    EXPECT_TRUE(is_payload(inbox[0].bytes, 2));
    EXPECT_EQ(inbox[0].bytes.size(), limit);
  }
}

TEST_P(Limits, the_senders_limit_is_known_before_a_peer_came) {
  Push push(here_, at_most(100));
  EXPECT_EQ(push.send(payload(1, 101)), Status::too_big);
  EXPECT_EQ(push.send(payload(1, 100)), Status::not_connected);
}

TEST_P(Limits, the_receivers_limit_is_the_senders_too) {
  for (const std::size_t limit : {std::size_t{100}, GetParam().page_bytes, std::size_t{300'000}}) {
    Pull pull(there_, at_most(limit));
    Push push(here_, options());
    Inbox inbox(pull);
    Seen at_push(push);
    join(pull, push);
    EXPECT_EQ(push.send(payload(1, limit + 1)), Status::too_big) << limit;
    ASSERT_EQ(send(push, payload(2, limit)), Status::ok);
    ASSERT_SOON(pump_, inbox.size() == 1);
    EXPECT_TRUE(is_payload(inbox[0].bytes, 2));
    settle(push);
    EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
    EXPECT_EQ(push.books().acknowledged, push.books().sent);
  }
}

TEST_P(Limits, too_big_asks_for_no_second_try) {
  Pull pull(there_, options());
  Push push(here_, at_most(100));
  pull.on_message([](const MessageView&) {});
  int writable = 0;
  push.on_writable([&] { ++writable; });
  join(pull, push);
  EXPECT_EQ(push.send(payload(1, 101)), Status::too_big);
  pump_.run_for(30ms);
  EXPECT_EQ(writable, 0);
}

// Where several peers take different sizes, a large message goes to those that take it.
TEST_P(Limits, a_message_too_big_for_one_peer_goes_to_another) {
  Pull small(there_, at_most(1000));
  Pull large(there_, options());
  Push push(here_, options());
  Inbox small_inbox(small);
  Inbox large_inbox(large);
  Seen at_push(push);
  join(small, push);
  join(large, push);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Status status = push.send(payload(i, 2000));
    ASSERT_EQ(status, Status::ok) << "message " << i;
  }
  for (std::uint64_t i = 0; i < 20; ++i) ASSERT_EQ(send(push, payload(i, 500)), Status::ok);
  ASSERT_SOON(pump_, small_inbox.size() + large_inbox.size() == 40);
  for (const auto& message : small_inbox.messages) EXPECT_LE(message.bytes.size(), 1000U);
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
}

ON_EVERY_TRANSPORT_AND_MODE(Limits);

}  // namespace
}  // namespace netio::test
