// Peers that are asked to say something now and then: a silent one is found, and nobody else.
#include <netio/blocking.hpp>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

constexpr auto beat = 100ms;  // so 300 ms are a silence

class Heartbeats : public Conformance {
 protected:
  [[nodiscard]] SocketOptions beating() const {
    SocketOptions with = eager();
    with.heartbeat_after = beat;
    return with;
  }
};

TEST_P(Heartbeats, find_a_network_that_carries_nothing_any_more) {
  Pull pull(there_, options());
  Push push(here_, beating());
  Seen at_push(push);
  Seen at_pull(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  ASSERT_SOON(pump_, at_push.ups.size() == 1 && at_pull.ups.size() == 1);
  relay.hold(true);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_SOON(pump_, at_push.downs.size() == 1);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2 * beat);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::lost);
  EXPECT_NE(at_push.why().find("said nothing for"), std::string::npos) << at_push.why();
  EXPECT_TRUE(at_pull.downs.empty()) << "it asked for nothing";
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(pump_, at_push.ups.size() == 2);
}

TEST_P(Heartbeats, are_asked_for_by_who_accepts_too) {
  Pull pull(there_, beating());
  Push push(here_, options());
  Seen at_pull(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  ASSERT_SOON(pump_, at_pull.ups.size() == 1);
  relay.hold(true);
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::lost);
  EXPECT_NE(at_pull.why().find("said nothing for"), std::string::npos) << at_pull.why();
}

// Each turn of the pump turns both loops, so neither side is ever late.
using HeartbeatsOnEveryWire = Heartbeats;

TEST_P(HeartbeatsOnEveryWire, keep_connections_that_are_idle_busy_or_paused) {
  Pull pull(there_, beating());
  Push push(here_, beating());
  Seen at_push(push);
  Seen at_pull(pull);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  join(pull, push);
  const auto turn_for = [&](std::chrono::milliseconds time, auto work) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      work();
      pump_.turn();
    }
  };
  turn_for(5 * beat, [] {});
  std::uint64_t sent = 0;
  turn_for(5 * beat, [&] { sent += push.send(payload(1, 900)) == Status::ok ? 1U : 0U; });
  pull.pause();
  turn_for(5 * beat, [&] { sent += push.send(payload(1, 900)) == Status::ok ? 1U : 0U; });
  pull.resume();
  settle(push);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(at_push.ups.size(), 1U);
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
}

// Its loop is turned no more.
TEST_P(HeartbeatsOnEveryWire, find_a_peer_that_hangs) {
  Pull pull(there_, beating());
  Push push(here_, options());
  Seen at_pull(pull);
  Seen at_push(push);
  join(pull, push);
  pump_.remove(here_);
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::lost);
  EXPECT_NE(at_pull.why().find("said nothing for"), std::string::npos) << at_pull.why();
  pump_.add(here_);
  ASSERT_SOON(pump_, at_push.downs.size() == 1 && at_push.ups.size() == 2);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::lost) << at_push.why();
}

// A call-back that takes long is not a silence of the peer, whose words wait to be read.
TEST_P(HeartbeatsOnEveryWire, a_side_that_was_busy_reads_before_it_judges) {
  Pull pull(there_, options());
  Push push(here_, beating());
  Seen at_push(push);
  join(pull, push);
  for (int i = 0; i < 3; ++i) {
    const auto end = std::chrono::steady_clock::now() + 5 * beat;
    while (std::chrono::steady_clock::now() < end) (void)there_.loop().run_once(1ms);
    pump_.turns(50);
  }
  EXPECT_TRUE(at_push.downs.empty()) << at_push.why();
}

// Behind its good-bye a side says nothing, however long the other takes.
TEST_P(Heartbeats, end_nothing_that_ends_in_order) {
  blocking::QueuedPull pull({.context = small_context(), .socket = beating()});
  Push push(here_, options());
  Seen at_push(push);
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_EQ(send(push, payload(i, 100), i), Status::ok);
  push.close(30s);
  for (int i = 0; i < 10; ++i) {
    const auto until = std::chrono::steady_clock::now() + beat;
    while (std::chrono::steady_clock::now() < until) pump_.turn();
    EXPECT_TRUE(pull.receive(30s)) << i;
  }
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_EQ(at_push.closings[0].acknowledged, 10U);
}

ON_TCP_IN_EVERY_MODE(Heartbeats);
ON_EVERY_TRANSPORT(HeartbeatsOnEveryWire);

}  // namespace
}  // namespace netio::test
