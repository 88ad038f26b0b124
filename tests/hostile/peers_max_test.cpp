// More peers than a socket is to have: those that are there are served on, who comes is told why it
// is refused, and comes in when there is room.
#include <array>
#include <memory>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/raw_shm.hpp"
#include "support/seen.hpp"

namespace netio::test {
namespace {

class PeersMax : public Conformance {
 protected:
  [[nodiscard]] SocketOptions two() const {
    SocketOptions options = this->options();
    options.peers_max = 2;
    return options;
  }
};

TEST_P(PeersMax, who_comes_beyond_it_is_refused_until_somebody_goes) {
  Pull pull(there_, two());
  Seen at_pull(pull);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  const std::string address = bind(pull);
  std::vector<std::unique_ptr<Push>> good;
  for (int i = 0; i < 2; ++i) {
    good.push_back(std::make_unique<Push>(here_, options()));
    good.back()->connect(address);
  }
  ASSERT_SOON(pump_, pull.peers_connected() == 2);

  Push third(here_, options());
  Seen at_third(third);
  third.connect(address);
  std::uint64_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    for (const auto& push : good) {
      if (push->send(payload(0, 100)) == Status::ok) ++sent;
    }
    return pull.counters().rejected >= 3;  // it tries again
  }());
  ASSERT_SOON(pump_, received == sent);
  EXPECT_EQ(pull.peers_connected(), 2U);
  ASSERT_FALSE(at_third.downs.empty());
  EXPECT_EQ(at_third.downs.front().down.reason, DownReason::rejected);
  EXPECT_TRUE(at_third.downs.front().peer.retrying);
  EXPECT_NE(at_third.downs.front().down.detail.find("peers_max"), std::string::npos)
      << at_third.downs.front().down.detail;
  EXPECT_EQ(good[0]->books().acknowledged + good[1]->books().acknowledged +
                good[0]->books().unsettled() + good[1]->books().unsettled(),
            sent);

  good.pop_back();
  ASSERT_SOON(pump_, third.peers_connected() == 1 && pull.peers_connected() == 2);
}

// They are the user's own doing.
TEST_P(PeersMax, peers_that_are_connected_to_are_not_refused) {
  Push push(here_, two());
  std::vector<std::unique_ptr<Pull>> pulls;
  for (int i = 0; i < 3; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    push.connect(bind(*pulls.back()));
  }
  ASSERT_SOON(pump_, push.peers_connected() == 3);
}

// Both get an answer to their first hello. One is refused when it says its second one, or where it
// stands.
class PeersMaxInSharedMemory : public testing::TestWithParam<bool> {};

TEST_P(PeersMaxInSharedMemory, is_asked_for_again_when_a_peer_is_up) {
  Context context(small_context());
  Pump pump{&context};
  SocketOptions one;
  one.peers_max = 1;
  Pull pull(context, one);
  Seen at_pull(pull);
  const std::string address = pull.bind("shm://*");
  std::array<RawShm, 2> raws{RawShm(address), RawShm(address)};
  const auto hello = [](std::size_t i) {
    return hello_of(sound_hello(detail::WirePattern::push, static_cast<std::uint8_t>(50 + i)));
  };
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(raws.at(i).send(hello(i), raws.at(i).descriptors()));
    ASSERT_SOON(pump, raws.at(i).answered());
  }
  ASSERT_TRUE(raws[0].send(hello(0)));
  if (GetParam()) {
    ASSERT_TRUE(raws[1].send(hello(1)));
  }
  pump.run_for(20ms);
  raws[0].confirm();
  ASSERT_SOON(pump, pull.peers_connected() == 1);
  if (!GetParam()) {
    ASSERT_TRUE(raws[1].send(hello(1)));
  }
  raws[1].confirm();
  ASSERT_SOON(pump, pull.peers_connected() == 2 || !at_pull.downs.empty());
  EXPECT_EQ(pull.peers_connected(), 1U);
  EXPECT_EQ(at_pull.downs.back().down.reason, DownReason::rejected) << at_pull.why();
  EXPECT_NE(at_pull.why().find("peers_max"), std::string::npos) << at_pull.why();
  EXPECT_SOON(pump, raws[1].ended());
}

INSTANTIATE_TEST_SUITE_P(by, PeersMaxInSharedMemory, testing::Bool());

INSTANTIATE_TEST_SUITE_P(on, PeersMax, testing::ValuesIn(every_transport()), row_name);

}  // namespace
}  // namespace netio::test
