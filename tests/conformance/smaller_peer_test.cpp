// A peer that returns with smaller limits: what was taken for the one before goes to it as far as
// it takes that, and the connection lasts.
#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class SmallerPeer : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    pump_.add(narrow_);
  }

  // A paused receiver comes and goes, and leaves up to `count` messages of `size`, as many as are
  // taken; a receiver with `limits` comes to its place, and is sent one message more.
  void replace(std::size_t count, std::size_t size, const SocketOptions& limits) {
    Push push(here_, patient(eager()));
    Seen at_push(push);
    std::string address;
    {
      Pull first(there_, options());
      first.pause();
      address = bind(first);
      push.connect(address);
      ASSERT_SOON(pump_, push.peers_connected() == 1);
      while (taken_ < count && push.send(payload(taken_, size)) == Status::ok) ++taken_;
      pump_.turns(3);
    }
    ASSERT_SOON(pump_, push.peers_connected() == 0);
    at_push.downs.clear();
    Pull second(narrow_, limits);
    std::vector<std::uint64_t> received;
    second.on_message([&](const MessageView& message) {
      received.push_back(number_of(message.bytes()));
      EXPECT_TRUE(is_payload(message.bytes(), received.back()));
    });
    (void)second.bind(address);
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    ASSERT_EQ(send(push, payload(taken_, 100)), Status::ok);
    push.flush();
    settle(push);
    EXPECT_TRUE(at_push.was_down_for(DownReason::refused) || at_push.downs.empty());
    EXPECT_FALSE(at_push.was_down_for(DownReason::lost)) << at_push.why();
    ASSERT_FALSE(received.empty());
    EXPECT_EQ(received.back(), taken_);
    books_ = push.books();
    EXPECT_TRUE(add_up(books_));
    EXPECT_EQ(books_.sent, taken_ + 1);
    EXPECT_EQ(books_.acknowledged, received.size());
  }
  [[nodiscard]] std::uint64_t not_sent() const {
    return books_.dropped_by[static_cast<std::size_t>(DropReason::not_sent)];
  }
  [[nodiscard]] bool buffered() const { return GetParam().mode == Mode::buffered; }
  // A large message; else it is posted whole, and lost with the connection.
  [[nodiscard]] bool in_parts() const { return buffered() && !GetParam().read_in_place; }

  Context narrow_{small_context(4U << 10U)};
  std::uint64_t taken_ = 0;
  Books books_;
};

TEST_P(SmallerPeer, in_its_pages_is_not_sent_a_page_that_is_too_large_now) {
  replace(20, 1000, options());
  const bool too_large = buffered() && GetParam().page_bytes > 4U << 10U;
  EXPECT_EQ(not_sent(), too_large ? 20U : 0U);
}

TEST_P(SmallerPeer, in_its_pages_is_sent_a_large_message_under_way_in_smaller_parts) {
  replace(1, 16 * mebi, options());
  EXPECT_EQ(not_sent(), 0U);
  EXPECT_EQ(books_.acknowledged, in_parts() ? 2U : 1U);
}

TEST_P(SmallerPeer, in_its_messages_is_not_sent_a_large_one_under_way) {
  SocketOptions limits = options();
  limits.message_bytes_max = mebi;
  replace(1, 16 * mebi, limits);
  EXPECT_EQ(not_sent(), in_parts() ? 1U : 0U);
}

TEST_P(SmallerPeer, in_its_messages_is_not_sent_gathered_ones_that_are_too_large_now) {
  SocketOptions limits = options();
  limits.message_bytes_max = 500;
  replace(3, 1000, limits);
  EXPECT_EQ(not_sent(), buffered() ? 3U : 0U);
}

ON_EVERY_TRANSPORT_AND_MODE(SmallerPeer);

}  // namespace
}  // namespace netio::test
