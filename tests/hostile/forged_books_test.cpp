// A peer that claims to have sent what cannot have been: the books of what was missed are not its
// to write.
#include "conformance/evil.hpp"

namespace netio::test {
namespace {

class ForgedBooks : public EvilSender {
 protected:
  // Comes (back) on this stream, and says what it will send next.
  RawTcp come(std::uint64_t next) {
    detail::Hello hello = sound_hello(detail::WirePattern::push, 77);
    hello.epoch = ++epoch_;
    RawTcp raw = RawTcp::connect(address());
    raw.send(hello_of(hello));
    EXPECT_SOON(pump_, hello_in(raw.received()).nonce != 0);
    raw.confirm(next);
    return raw;
  }

 private:
  std::uint64_t epoch_ = 0;
};

TEST_F(ForgedBooks, a_stream_that_jumps_ahead_by_more_than_can_have_been_is_ended) {
  constexpr std::uint64_t far = std::uint64_t{1} << 54U;
  {
    RawTcp raw = come(0);
    raw.send(message_page(0, payload(0, 100)));
    ASSERT_SOON(pump_, evil_received_.size() == 1);
  }
  (void)next_down();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    RawTcp raw = come(i * far);
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error);
    // The first lie ends the stream: what comes then would be another one.
    const char* const why = i == 1 ? "more messages" : "on a stream that is new";
    EXPECT_NE(gone.down.detail.find(why), std::string::npos) << gone.down.detail;
    ASSERT_SOON(pump_, raw.ended());
    good_messages(3);
  }
  EXPECT_EQ(pull_.books().missed, 0U);
}

// Where a stream begins is no matter of belief.
TEST_F(ForgedBooks, a_new_stream_that_does_not_begin_at_nothing_is_refused) {
  for (const std::uint64_t next : {std::uint64_t{1}, std::uint64_t{1000}}) {
    RawTcp raw = come(next);
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::protocol_error);
    EXPECT_NE(gone.down.detail.find("is new"), std::string::npos) << gone.down.detail;
    EXPECT_FALSE(gone.peer.was_up);
    ASSERT_SOON(pump_, raw.ended());
  }
  EXPECT_EQ(pull_.books().missed, 0U);
}

// What can have been lost with a connection is believed.
TEST_F(ForgedBooks, a_stream_that_lost_some_with_its_connection_goes_on) {
  {
    RawTcp raw = come(0);
    raw.send(message_page(0, payload(0, 100)));
    ASSERT_SOON(pump_, evil_received_.size() == 1);
  }
  (void)next_down();
  RawTcp raw = come(1001);
  raw.send(message_page(1001, payload(0, 100)));
  ASSERT_SOON(pump_, evil_received_.size() == 2);
  EXPECT_EQ(pull_.books().missed, 1000U);
}

}  // namespace
}  // namespace netio::test
