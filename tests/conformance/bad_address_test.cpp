// Addresses that make no sense are thrown at once; those that lead nowhere are reported.
#include <cstdint>
#include <functional>
#include <limits>
#include <netdb.h>
#include <sys/socket.h>

#include <netio/not_there_yet.hpp>

#include "conformance/conformance.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

class BadAddress : public testing::Test {
 protected:
  // What `call` throws; a test failure if it throws nothing.
  template <class Thrown = Error, class Call>
  static Error error_of(Call&& call, const std::string& what) {
    try {
      call();
    } catch (const Thrown& error) {
      return error;
    }
    ADD_FAILURE() << "no error for " << what;
    return {"", ""};
  }

  Context context_{small_context()};
  Pump pump_{&context_};
};

TEST_F(BadAddress, an_address_that_makes_no_sense_is_thrown_and_named) {
  Push push(context_);
  for (const std::string address : {"",
                                    "tcp",
                                    "127.0.0.1:5000",
                                    "tcp:/127.0.0.1:5000",
                                    "tcp://",
                                    "tcp://127.0.0.1",
                                    "tcp://127.0.0.1:",
                                    "tcp://127.0.0.1:port",
                                    "tcp://127.0.0.1:70000",
                                    "tcp://127.0.0.1:-1",
                                    "tcp://127.0.0.1:5000x",
                                    "tcp://:5000",
                                    "tcp://[::1:5000",
                                    "tcp://::1:5000",
                                    "tcp://[127.0.0.1]:5000",
                                    "tcp://127.0.0.1:5000?",
                                    "tcp://127.0.0.1:5000?nosuch=1",
                                    "tcp://a host:5000",
                                    "tcp://host\n:5000",
                                    "://127.0.0.1:5000"}) {
    for (const bool binding : {true, false}) {
      const Error error = error_of<AddressError>(
          [&] {
            if (binding) {
              push.bind(address);
            } else {
              push.connect(address);
            }
          },
          (binding ? "bind " : "connect ") + address);
      EXPECT_FALSE(error.operation().empty()) << address;
      EXPECT_FALSE(error.cause().empty()) << address;
      EXPECT_FALSE(error.advice().empty()) << address << ": " << error.what();
    }
  }
  EXPECT_EQ(push.peers_connected(), 0U);
}

TEST_F(BadAddress, an_unknown_scheme_is_answered_with_the_known_ones) {
  Push push(context_);
  for (const char* address : {"carrier-pigeon://host:5000", "TCP://127.0.0.1:5000", "tcpx://a:1"}) {
    const Error error = error_of<AddressError>([&] { push.connect(address); }, address);
    EXPECT_NE(std::string(error.what()).find("tcp"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(std::string(address).substr(0, 4)), std::string::npos)
        << error.what();
    (void)error_of([&] { push.bind(address); }, address);
  }
}

TEST_F(BadAddress, a_fabric_without_a_provider_is_told_how_to_write_it) {
  Push push(context_);
  const Error error = error_of<AddressError>([&] { push.connect("ofi+://host:5000"); }, "ofi+://");
  EXPECT_EQ(error.cause(), "the provider is missing");
}

#ifdef NETIO_WITH_FABRIC
TEST_F(BadAddress, a_provider_that_no_device_can_be_used_with_is_thrown_with_those_that_can) {
  struct Case {
    const char* address;
    const char* cause;
  };
  Push push(context_);
  for (const Case& one : {Case{"ofi+foo://127.0.0.1:5000", "there is no provider 'foo' here"},
                          Case{"ofi+udp://127.0.0.1:5000", "has no connected endpoints"}}) {
    for (const bool binding : {true, false}) {
      const Error error = error_of<AddressError>(
          [&] { binding ? (void)push.bind(one.address) : push.connect(one.address); }, one.address);
      EXPECT_NE(error.cause().find(one.cause), std::string::npos) << error.what();
      EXPECT_NE(error.advice().find("ofi+tcp://"), std::string::npos) << error.what();
    }
  }
  // Nobody's address, of a provider that there is: a device may get it.
  push.connect("ofi+tcp://192.0.2.1:5000");
}
#endif

TEST_F(BadAddress, nobody_can_connect_to_any_port_or_any_host) {
  Push push(context_);
  (void)error_of<AddressError>([&] { push.connect("tcp://127.0.0.1:0"); }, "port 0");
  (void)error_of<AddressError>([&] { push.connect("tcp://*:5000"); }, "host *");
}

TEST_F(BadAddress, a_port_in_use_is_thrown_and_leaves_the_socket_usable) {
  Pull first(context_);
  Pull second(context_);
  const std::string taken = first.bind("tcp://127.0.0.1:0");
  const Error error = error_of([&] { second.bind(taken); }, taken);
  EXPECT_NE(std::string(error.what()).find(std::to_string(port_of(taken))), std::string::npos)
      << error.what();
  EXPECT_NE(error.cause().find("in use"), std::string::npos) << error.what();

  const RawListener foreign;
  (void)error_of([&] { second.bind(foreign.address()); }, "a port that another program has");

  // Both go on.
  Push push(context_);
  std::uint64_t received = 0;
  first.on_message([&](const MessageView&) { ++received; });
  second.on_message([&](const MessageView&) { ++received; });
  push.connect(taken);
  push.connect(second.bind("tcp://127.0.0.1:0"));
  ASSERT_SOON(pump_, push.peers_connected() == 2);
  ASSERT_EQ(push.send("one"), Status::ok);
  ASSERT_EQ(push.send("two"), Status::ok);
  ASSERT_SOON(pump_, received == 2);
}

TEST_F(BadAddress, an_address_of_another_host_cannot_be_bound) {
  Pull pull(context_);
  // TEST-NET-1 of RFC 5737: nobody's. An interface may get any other address later.
  const Error error = error_of<NotThereYet>([&] { pull.bind("tcp://192.0.2.1:0"); }, "192.0.2.1");
  EXPECT_NE(std::string(error.what()).find("192.0.2.1"), std::string::npos) << error.what();
}

TEST_F(BadAddress, a_name_that_does_not_exist_is_told_and_tried_again) {
  // What the resolver of this machine says of a name that RFC 6761 reserves as non-existent.
  addrinfo* found = nullptr;
  const int answer = ::getaddrinfo("no-such-host.invalid", nullptr, nullptr, &found);
  if (answer == 0) {
    ::freeaddrinfo(found);
    GTEST_SKIP() << "the resolver here invents addresses for names under .invalid";
  }
  if (answer == EAI_AGAIN) GTEST_SKIP() << "no name service answers here";

  Push push(context_);
  Seen at_push(push);
  push.connect("tcp://no-such-host.invalid:5000");
  ASSERT_SOON(pump_, !at_push.downs.empty());
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::name_unknown) << at_push.why();
  EXPECT_NE(at_push.downs[0].down.detail.find("no-such-host.invalid"), std::string::npos)
      << at_push.why();
  EXPECT_TRUE(at_push.downs[0].peer.retrying);
}

// Whatever the resolver says, the loop goes on meanwhile, and the other peers with it.
TEST_F(BadAddress, a_name_that_cannot_be_resolved_disturbs_no_other_peer) {
  Push push(context_);
  Pull pull(context_);
  Seen at_push(push);
  std::uint64_t received = 0;
  pull.on_message([&](const MessageView&) { ++received; });
  push.connect("tcp://no-such-host.invalid:5000");
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  ASSERT_EQ(push.send("one"), Status::ok);
  ASSERT_SOON(pump_, received == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s) << "the loop waited for the resolver";
  push.close();
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
}

TEST_F(BadAddress, a_port_where_nobody_listens_is_refused_and_tried_again) {
  const std::string nobody = free_address();
  Push push(context_);
  Seen at_push(push);
  push.connect(nobody);
  ASSERT_SOON(pump_, at_push.downs.size() >= 3);
  for (const Seen::Gone& gone : at_push.downs) {
    EXPECT_EQ(gone.down.reason, DownReason::refused) << at_push.why();
    EXPECT_TRUE(gone.peer.retrying);
    EXPECT_NE(gone.down.detail.find(nobody), std::string::npos) << at_push.why();
  }
}

TEST_F(BadAddress, options_that_make_no_sense_are_thrown) {
  ContextOptions odd;
  odd.page_bytes = 5000;
  (void)error_of([&] { const Context refused(odd); }, "page_bytes 5000");
  odd.page_bytes = 0;
  (void)error_of([&] { const Context refused(odd); }, "page_bytes 0");
  odd = {};
  odd.send_pool_bytes = 0;
  (void)error_of([&] { const Context refused(odd); }, "no send pool");
  SocketOptions wrong;
  wrong.high_watermark = 0.1;
  wrong.low_watermark = 0.9;
  (void)error_of([&] { const Push refused(context_, wrong); }, "watermarks the wrong way round");
  wrong = {};
  wrong.message_bytes_max = 0;
  (void)error_of([&] { const Push refused(context_, wrong); }, "no message");
}

// Each of these would wrap, or compare as neither true nor false, once it is used.
TEST_F(BadAddress, options_at_the_edge_of_their_types_are_thrown) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](const char* what, const std::function<void(SocketOptions&)>& set) {
    SocketOptions odd;
    set(odd);
    (void)error_of([&] { const Push push(context_, odd); }, what);
  };
  refused("message_bytes_max", [](SocketOptions& odd) { odd.message_bytes_max = SIZE_MAX; });
  refused("send_bytes_max", [](SocketOptions& odd) { odd.send_bytes_max = SIZE_MAX - 64; });
  refused("receive_bytes_max", [](SocketOptions& odd) { odd.receive_bytes_max = SIZE_MAX; });
  refused("low_watermark", [&](SocketOptions& odd) { odd.low_watermark = nothing; });
  refused("high_watermark", [&](SocketOptions& odd) { odd.high_watermark = nothing; });
  refused("high_watermark", [](SocketOptions& odd) { odd.high_watermark = 1.5; });
  refused("stall_after", [](SocketOptions& odd) { odd.stall_after = odd.stall_after.max(); });
  refused("flush_after", [](SocketOptions& odd) { odd.flush_after = -1ns; });
  refused("acknowledge", [](SocketOptions& odd) { odd.acknowledge = static_cast<Acknowledge>(2); });
  refused("distribute", [](SocketOptions& odd) { odd.distribute = static_cast<Distribute>(2); });
  refused("keep_alive_after",
          [](SocketOptions& odd) { odd.keep_alive_after = std::chrono::seconds::max(); });
  refused("keep_alive_after",
          [](SocketOptions& odd) { odd.keep_alive_after = std::chrono::seconds::min(); });
  refused("heartbeat_after", [](SocketOptions& odd) { odd.heartbeat_after = 1ms; });
  refused("replace_silent_after", [](SocketOptions& odd) { odd.replace_silent_after = 1ms; });
  refused("replace_silent_after", [](SocketOptions& odd) { odd.replace_silent_after = 25h; });
}

TEST_F(BadAddress, options_of_subscriptions_at_the_edge_of_their_types_are_thrown) {
  const auto refused = [&](const char* what, const PublishOptions& odd) {
    (void)error_of([&] { const Publish publish(context_, odd); }, what);
  };
  refused("behind_bytes_max", {.behind_bytes_max = SIZE_MAX});
  refused("behind_bytes_all_max", {.behind_bytes_all_max = SIZE_MAX});
  refused("ranges_max", {.ranges_max = 0});
  refused("ranges_max", {.ranges_max = SIZE_MAX});
  refused("ranges_all_max", {.ranges_all_max = SIZE_MAX});
  refused("block_for_max", {.block_for_max = -1ns});
  (void)error_of([&] { const Subscribe subscribe(context_, {.behind_bytes_max = SIZE_MAX}); },
                 "behind_bytes_max");
  (void)error_of([&] { const Subscribe subscribe(context_, {.behind_for_max = -1ms}); },
                 "behind_for_max");
}

// The most that is allowed is still a size that can be asked for.
TEST_F(BadAddress, a_message_of_the_most_that_may_be_allowed_is_refused_in_words) {
  SocketOptions most;
  most.message_bytes_max = std::size_t{1} << 40U;
  Pull pull(context_, most);
  Push push(context_, most);
  push.connect(pull.bind("tcp://127.0.0.1:0"));
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 8, most.message_bytes_max}) {
    Status status = Status::ok;
    EXPECT_FALSE(push.allocate(bytes, status)) << bytes;
    EXPECT_EQ(status, Status::too_big) << bytes;
  }
}

}  // namespace
}  // namespace netio::test
