// A program restarts, and until it listens again something else answers in its place: at the very
// first attempt, when no netio was met there yet.
#include <optional>
#include <vector>

#include "conformance/evil.hpp"

namespace netio::test {
namespace {

using FirstAnswer = EvilReceiver;

TEST_F(FirstAnswer, to_the_first_attempt_is_told_once_and_does_not_end_the_peer) {
  constexpr std::string_view http = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
  Push push(here_, wary_options());
  Seen at_push(push);
  std::string address;
  {
    RawListener proxy;
    address = proxy.address();
    push.connect(address);
    std::vector<RawTcp> callers;
    ASSERT_SOON(pump_, [&] {
      if (auto caller = proxy.accept()) {
        caller->send(std::as_bytes(std::span(http)));
        callers.push_back(std::move(*caller));
      }
      for (RawTcp& each : callers) {
        if (each.ended()) each.close();
      }
      return callers.size() == 2 && callers.back().ended();
    }());
    good_messages();
  }
  ASSERT_EQ(at_push.downs.size(), 1U) << at_push.why();
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::foreign_protocol) << at_push.why();
  EXPECT_TRUE(at_push.downs[0].peer.retrying);
  EXPECT_FALSE(at_push.downs[0].peer.was_up);

  Pull pull(there_, wary_options());
  std::uint64_t arrived = 0;
  pull.on_message([&](const MessageView&) { ++arrived; });
  (void)pull.bind(address);
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  ASSERT_EQ(push.send(payload(1, 50)), Status::ok);
  ASSERT_SOON(pump_, arrived == 1);
  good_messages();
}

}  // namespace
}  // namespace netio::test
