// More links than a fabric has receive memory for: those that are there are served on, and who
// comes is told the reason.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class CrowdedFabric : public Conformance {};

TEST_P(CrowdedFabric, who_finds_no_receive_memory_is_told_so) {
  if (GetParam().pages_per_connection == 0) GTEST_SKIP() << "this wire needs nothing in advance";
  SocketOptions few = options();
  few.receive_bytes_max = 12 * GetParam().page_bytes;
  few.reconnect_after_min = 20ms;
  Pull pull(there_, few);
  Seen at_pull(pull);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  const std::string address = bind(pull);
  Push good(here_, options());
  good.connect(address);
  ASSERT_SOON(pump_, good.peers_connected() == 1);
  std::vector<std::unique_ptr<Push>> idle;
  std::unique_ptr<Seen> last;
  ASSERT_SOON(pump_, [&] {
    if (idle.empty() || idle.back()->peers_connected() == 1) {
      idle.push_back(std::make_unique<Push>(here_, options()));
      last = std::make_unique<Seen>(*idle.back());
      idle.back()->connect(address);
    }
    return !last->downs.empty();
  }());
  // Providers differ in what they say.
  const DownReason reason = last->downs.front().down.reason;
  EXPECT_TRUE(reason == DownReason::rejected || reason == DownReason::refused) << last->why();
  EXPECT_NE(last->why().find("turned the connection away"), std::string::npos) << last->why();
  EXPECT_TRUE(last->downs.front().peer.retrying);
  ASSERT_SOON(pump_, !at_pull.downs.empty());
  EXPECT_EQ(at_pull.downs.front().down.reason, DownReason::resources) << at_pull.why();
  EXPECT_NE(at_pull.why().find("receive_pool_bytes"), std::string::npos) << at_pull.why();
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(send(good, payload(i, 100)), Status::ok);
  ASSERT_SOON(pump_, received == 100);
  // There is room again once one goes.
  Push& refused = *idle.back();
  idle.erase(idle.begin());
  ASSERT_SOON(pump_, refused.peers_connected() == 1);
}

ON_EVERY_TRANSPORT(CrowdedFabric);

}  // namespace
}  // namespace netio::test
