// Who calls at our port, or answers at an address, without speaking netio.
#include <algorithm>

#include "conformance/evil.hpp"
#include "support/environment.hpp"

namespace netio::test {
namespace {

using namespace std::string_literals;

constexpr std::string_view http_get = "GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view http_400 =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

// The signature, version and mechanism of ZMTP 3.1, as a libzmq socket sends them.
std::string zeromq_greeting() {
  return "\xff\0\0\0\0\0\0\0\1\x7f\x03\x01NULL"s + std::string(48, '\0');
}
std::string tls_hello() { return "\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03"s + "0123456789"; }

using ForeignClient = EvilSender;

TEST_F(ForeignClient, is_named_counted_and_disconnected) {
  struct Case {
    std::string bytes;
    const char* name;
  };
  const std::vector<Case> cases = {{std::string(http_get), "HTTP"},
                                   {"POST / HTTP/1.1\r\n\r\n", "HTTP"},
                                   {zeromq_greeting(), "ZeroMQ"},
                                   {tls_hello(), "TLS"},
                                   {"\3\0\0\0\0\0\0\0"s, "a fabric (ofi+tcp://)"},
                                   {"SSH-2.0-OpenSSH_9.2\r\n", "SSH"}};
  std::uint64_t rejected = pull_.counters().rejected;
  for (const Case& one : cases) {
    RawTcp raw = RawTcp::connect(address());
    raw.send(one.bytes);
    const Seen::Gone& gone = next_down();
    EXPECT_EQ(gone.down.reason, DownReason::foreign_protocol) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find(one.name), std::string::npos) << gone.down.detail;
    EXPECT_FALSE(gone.peer.dialed);
    EXPECT_FALSE(gone.peer.retrying);
    EXPECT_TRUE(is_readable(gone.down));
    ASSERT_SOON(pump_, raw.ended());
    EXPECT_EQ(pull_.counters().rejected, ++rejected);
    good_messages();
  }
  EXPECT_EQ(pull_.counters().disconnects, 0U);
  EXPECT_EQ(at_pull_.ups.size(), 1U);
}

// From the first byte that no hello could have.
TEST_F(ForeignClient, is_found_out_by_its_first_bytes) {
  for (const std::string_view bytes : {"G", "\n", "\x93zz", "\x93netio\r\r"}) {
    RawTcp raw = RawTcp::connect(address());
    raw.send(bytes);
    EXPECT_EQ(next_down().down.reason, DownReason::foreign_protocol);
    ASSERT_SOON(pump_, raw.ended());
  }
}

TEST_F(ForeignClient, may_send_anything_at_all) {
  const std::uint64_t seed = test::seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 24; ++i) {
    RawTcp raw = RawTcp::connect(address());
    Bytes bytes(1 + random.below(5000));
    for (std::byte& byte : bytes) byte = std::byte(random.next() & 0xffU);
    // Half of them begin as a hello does, and go wrong later.
    if (i % 2 == 0) {
      // (Not all of them on one stream: that would be a peer that returns and lies.)
      const auto session = static_cast<std::uint8_t>(i);
      const Bytes hello = hello_of(sound_hello(detail::WirePattern::push, session));
      const std::size_t same =
          std::min<std::size_t>(8 + random.below(detail::hello_fixed_bytes - 8), bytes.size());
      std::copy_n(hello.begin(), same, bytes.begin());
    }
    raw.send(bytes);
    if (random.one_in(2)) raw.close();
    (void)next_down();
    if (i % 10 == 0) good_messages(3);
  }
}

TEST_F(ForeignClient, that_hangs_up_at_once_is_no_trouble) {
  for (int i = 0; i < 20; ++i) {
    RawTcp raw = RawTcp::connect(address());
    if (i % 2 == 0) {
      raw.reset();
    } else {
      raw.close();
    }
  }
  ASSERT_SOON(pump_, pull_.counters().rejected == 20);
  for (const Seen::Gone& gone : at_pull_.downs) {
    EXPECT_EQ(gone.down.reason, DownReason::lost) << gone.down.detail;
  }
}

// --- The other way round: something else listens where we connect.

using ForeignServer = EvilReceiver;

TEST_F(ForeignServer, is_named_and_will_be_tried_again) {
  struct Case {
    std::string answer;
    const char* name;
  };
  const std::vector<Case> cases = {{std::string(http_400), "HTTP"},
                                   {zeromq_greeting(), "ZeroMQ"},
                                   {"\x15\x03\x01\x00\x02\x02\x28"s, "TLS"},
                                   {"SSH-2.0-OpenSSH_9.2\r\n", "SSH"}};
  for (const Case& one : cases) {
    const Seen::Gone gone = told_of_answer(std::as_bytes(std::span(one.answer)));
    EXPECT_EQ(gone.down.reason, DownReason::foreign_protocol) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find(one.name), std::string::npos) << gone.down.detail;
    EXPECT_TRUE(gone.peer.dialed);
    EXPECT_TRUE(gone.peer.retrying) << "another program may listen there later";
    good_messages();
  }
  EXPECT_EQ(push_.peers_connected(), 1U);
}

// While a program restarts, a proxy or another release may answer in its place.
TEST(ForeignAnswer, where_netio_was_met_is_told_once_and_tried_again_slowly) {
  detail::Hello other_version = sound_hello(detail::WirePattern::pull, 7);
  other_version.version_min = other_version.version_max = 3;
  detail::Hello other_pattern = sound_hello(detail::WirePattern::push, 7);
  other_pattern.nonce = 7;  // as whoever listens
  struct Case {
    Bytes answer;
    DownReason reason;
  };
  const std::string_view http = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
  const auto http_bytes = std::as_bytes(std::span(http));
  const std::vector<Case> cases = {
      {{http_bytes.begin(), http_bytes.end()}, DownReason::foreign_protocol},
      {hello_of(other_version), DownReason::version_mismatch},
      {hello_of(other_pattern), DownReason::pattern_mismatch}};
  Context context(wary_context());
  Pump pump{&context};
  auto pull = std::make_unique<Pull>(context, wary_options());
  const std::string address = pull->bind("tcp://" + own_host() + ":0");
  Push push(context, wary_options());
  Seen at_push(push);
  push.connect(address);
  for (const Case& one : cases) {
    SCOPED_TRACE(to_string(one.reason));
    ASSERT_SOON(pump, push.peers_connected() == 1);
    const std::size_t before = at_push.downs.size();
    pull.reset();
    std::vector<std::chrono::steady_clock::time_point> calls;
    {
      RawListener proxy(endpoint_of(address));
      std::vector<RawTcp> callers;
      ASSERT_SOON(pump, [&] {
        if (auto caller = proxy.accept()) {
          calls.push_back(std::chrono::steady_clock::now());
          caller->send(one.answer);
          callers.push_back(std::move(*caller));
        }
        for (RawTcp& each : callers) {
          if (each.ended()) each.close();
        }
        return calls.size() == 3;
      }());
      EXPECT_GE(calls[2] - calls[1], 450ms);
    }
    pull = std::make_unique<Pull>(context, wary_options());
    pull->on_message([](const MessageView&) {});
    (void)pull->bind(address);
    ASSERT_SOON(pump, push.peers_connected() == 1);
    int told = 0;
    for (std::size_t i = before; i < at_push.downs.size(); ++i) {
      EXPECT_TRUE(at_push.downs[i].peer.retrying) << at_push.why();
      if (at_push.downs[i].down.reason == one.reason) ++told;
    }
    EXPECT_EQ(told, 1) << at_push.why();
    ASSERT_EQ(push.send(payload(1, 50)), Status::ok);
    ASSERT_SOON(pump, push.books().unsettled() == 0);
  }
}

TEST_F(ForeignServer, that_says_nothing_times_out_and_is_tried_again) {
  RawListener server;
  push_.connect(server.address());
  const auto start = std::chrono::steady_clock::now();
  const Seen::Gone& gone = next_down();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 250ms);
  EXPECT_EQ(gone.down.reason, DownReason::handshake_timeout) << gone.down.detail;
  EXPECT_TRUE(gone.peer.retrying);
  good_messages();
}

TEST_F(ForeignServer, that_hangs_up_is_tried_again) {
  RawListener server;
  push_.connect(server.address());
  int calls = 0;
  ASSERT_SOON(pump_, [&] {
    if (server.accept().has_value()) ++calls;  // and closed at once
    return calls == 3;
  }());
  ASSERT_SOON(pump_, at_push_.downs.size() >= 3);
  for (const Seen::Gone& gone : at_push_.downs) {
    EXPECT_EQ(gone.down.reason, DownReason::lost) << gone.down.detail;
    EXPECT_NE(gone.down.detail.find("the same scheme"), std::string::npos) << gone.down.detail;
    EXPECT_TRUE(gone.peer.retrying);
  }
}

}  // namespace
}  // namespace netio::test
