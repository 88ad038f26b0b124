// Asking who is at an address: what is found out on each wire, and that the other end is left
// alone.
#include <memory>
#include <optional>
#include <string>

#include "conformance/conformance.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

class Probing : public Conformance {
 protected:
  ProbeResult ask(const std::string& address, std::chrono::nanoseconds within = 20s) {
    std::optional<ProbeResult> found;
    const Probe probe(
        here_, address, [&](const ProbeResult& result) { found = result; }, within);
    EXPECT_SOON(pump_, found.has_value());
    return found.value_or(ProbeResult());
  }
};

TEST_P(Probing, finds_out_who_is_there_and_disturbs_nobody) {
  SocketOptions named = options();
  named.name = "unit 7";
  Pull pull(there_, named);
  Seen at_pull(pull);
  const std::string address = bind(pull);
  for (int i = 0; i < 3; ++i) {
    const ProbeResult found = ask(address);
    ASSERT_TRUE(found.answered) << found.down.detail;
    EXPECT_EQ(found.pattern, "pull");
    EXPECT_EQ(found.name, "unit 7");
    EXPECT_FALSE(found.release.empty());
    EXPECT_EQ(found.wire_version_max, 2U);
    EXPECT_EQ(found.message_bytes_max, named.message_bytes_max);
    EXPECT_GT(found.round_trip.count(), 0);
    const bool chosen = address.starts_with("netio");
    EXPECT_EQ(found.wire, chosen ? "shm" : address.substr(0, address.find("://")));
    EXPECT_EQ(found.wire_reason, "");
  }
  pump_.run_for(20ms);
  EXPECT_TRUE(at_pull.downs.empty()) << at_pull.why();
  EXPECT_EQ(pull.counters().rejected, 0U);
  Push push(here_, options());
  push.connect(address);
  ASSERT_SOON(pump_, push.peers_connected() == 1 && pull.peers_connected() == 1);
  EXPECT_EQ(ask(address).run, push.peers().at(0).run);
}

TEST_P(Probing, is_answered_by_a_socket_that_takes_no_more_peers) {
  Pair first(there_, options());
  Pair second(here_, options());
  const std::string address = bind(first);
  second.connect(address);
  ASSERT_SOON(pump_, first.peers_connected() == 1 && second.peers_connected() == 1);
  const ProbeResult found = ask(address);
  EXPECT_TRUE(found.answered) << found.down.detail;
  EXPECT_EQ(found.pattern, "pair");
  EXPECT_EQ(first.peers_connected(), 1U);
}

TEST_P(Probing, says_that_nobody_is_there) {
  std::string address;
  {
    Pull pull(there_, options());
    address = bind(pull);
  }
  const ProbeResult found = ask(address);
  EXPECT_FALSE(found.answered);
  EXPECT_EQ(found.down.reason, DownReason::refused) << found.down.detail;
}

ON_EVERY_TRANSPORT(Probing);

TEST(Probe, ends_in_time_where_nothing_is_said) {
  Context context(small_context());
  Pump pump{&context};
  const RawListener silent;
  for (const std::string scheme : {"tcp", "netio"}) {
    std::optional<ProbeResult> found;
    const auto begun = std::chrono::steady_clock::now();
    const Probe probe(
        context, scheme + silent.address().substr(3),
        [&](const ProbeResult& result) { found = result; }, 50ms);
    ASSERT_SOON(pump, found.has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
    EXPECT_EQ(found->down.reason, DownReason::handshake_timeout) << found->down.detail;
  }
}

TEST(Probe, may_be_destroyed_by_whom_it_told_and_before) {
  Context context(small_context());
  Pump pump{&context};
  Pull pull(context);
  const std::string address = pull.bind("netio://127.0.0.1:0");
  bool told = false;
  std::unique_ptr<Probe> probe;
  probe = std::make_unique<Probe>(context, address, [&](const ProbeResult&) {
    told = true;
    probe.reset();
  });
  ASSERT_SOON(pump, told);
  const auto never = [](const ProbeResult&) { FAIL() << "told though it is gone"; };
  { const Probe gone(context, address, never); }
  auto half = std::make_unique<Probe>(context, address, never);
  pump.turns(1);
  half.reset();
  pump.run_for(10ms);
}

TEST(Probe, takes_no_address_that_makes_no_sense) {
  Context context(small_context());
  const auto never = [](const ProbeResult&) {};
  EXPECT_THROW(Probe(context, "netio://127.0.0.1:0", never), AddressError);
  EXPECT_THROW(Probe(context, "netio://127.0.0.1:5000?wire=x", never), AddressError);
  EXPECT_THROW(Probe(context, "nothing://127.0.0.1:5000", never), AddressError);
}

// What answers with a hello of an older release, or of a later version, is told of all the same.
TEST(Probe, understands_an_answer_that_knows_no_questions) {
  Context context(small_context());
  Pump pump{&context};
  RawListener old;
  std::optional<ProbeResult> found;
  const Probe probe(context, old.address(), [&](const ProbeResult& result) { found = result; });
  std::optional<RawTcp> raw;
  ASSERT_SOON(pump, (raw || (raw = old.accept())) && hello_in(raw->received()).epoch != 0);
  EXPECT_TRUE(hello_in(raw->received()).asks);
  detail::Hello answer = answer_to(hello_in(raw->received()), detail::WirePattern::reply);
  answer.refusal = detail::Refusal::pattern;
  raw->send(hello_of(answer));
  ASSERT_SOON(pump, found.has_value());
  EXPECT_TRUE(found->answered);
  EXPECT_EQ(found->pattern, "reply");
  EXPECT_EQ(found->release, "");
  EXPECT_EQ(found->wire, "tcp");
}

}  // namespace
}  // namespace netio::test
