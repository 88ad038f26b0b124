// Ports that outgoing connections have: a socket that dials a free port may meet itself there, or
// another one that dials, and a program that listens gets its port all the same.
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "conformance/evil.hpp"
#include "support/in_a_child.hpp"
#include "support/own_network.hpp"

namespace netio::test {
namespace {

// Both are in the range of outgoing connections, and nothing else is.
constexpr std::uint16_t first_port = 40000;
const std::string at_first_port = "tcp://127.0.0.1:40000";

int with_two_ports(const std::function<bool()>& work) {
  return in_a_child([&] {
    const bool possible =
        enter_own_network() && write_whole("/proc/sys/net/ipv4/ip_local_port_range", "40000 40001");
    return !possible ? not_possible : work() ? 0 : 1;
  });
}

// What the system has of connections from or at this port, in every state.
std::vector<std::string> traces_of(std::uint16_t port) {
  std::vector<std::string> traces;
  std::array<char, 8> end{};
  std::snprintf(end.data(), end.size(), ":%04X ", port);
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    if (line.find(end.data()) != std::string::npos) traces.push_back(line);
  }
  return traces;
}

SocketOptions quick_options() {
  SocketOptions options = wary_options();
  options.reconnect_after_min = options.reconnect_after_max = 1ms;
  return options;
}

// The kernel gives each attempt the first port, so that each one meets itself.
bool leaves_no_trace() {
  Context context(wary_context());
  Pump pump{&context};
  Push push(context, quick_options());
  Seen at_push(push);
  push.connect(at_first_port);
  if (!pump.until([&] { return at_push.downs.size() >= 50; }, "attempts", soon_max)) return false;
  for (const Seen::Gone& each : at_push.downs) {
    if (each.down.reason != DownReason::refused) return fail(each.down.detail);
    if (!each.peer.retrying) return fail("is not tried again");
  }
  for (const std::string& trace : traces_of(first_port)) return fail("left: " + trace);
  Pull pull(context, wary_options());
  pull.bind(at_first_port);
  return pump.until([&] { return push.peers_connected() == 1; }, "connected", soon_max);
}

TEST(OwnPort, that_is_dialed_and_met_is_left_without_a_trace) {
  const int code = with_two_ports(leaves_no_trace);
  if (code == not_possible) GTEST_SKIP() << "no network of one's own here";
  EXPECT_EQ(code, 0);
}

// Whoever is restarted finds its port, though a connection of netio was given that meanwhile.
bool is_free_for_a_listener() {
  Context context(wary_context());
  Pump pump{&context};
  Pull far(context, wary_options());
  Push push(context, wary_options());
  Seen at_far(far);
  far.bind("tcp://127.0.0.1:5000");
  push.connect("tcp://127.0.0.1:5000");
  if (!pump.until([&] { return push.peers_connected() == 1; }, "connected", soon_max)) return false;
  Pull pull(context, wary_options());
  return pull.bind(at_far.ups.at(0).address) == at_far.ups.at(0).address;
}

TEST(OwnPort, of_an_outgoing_connection_can_be_bound) {
  const int code = with_two_ports(is_free_for_a_listener);
  if (code == not_possible) GTEST_SKIP() << "no network of one's own here";
  EXPECT_EQ(code, 0);
}

std::string advice_at(std::uint16_t port) {
  Context context(wary_context());
  Pull pull(context, wary_options());
  try {
    return "bound at " + pull.bind("tcp://127.0.0.1:" + std::to_string(port));
  } catch (const Error& error) {
    EXPECT_NE(error.cause().find("in use"), std::string::npos) << error.what();
    return error.advice();
  }
}

TEST(OwnPort, in_use_is_told_as_what_has_it) {
  RawListener listener;
  EXPECT_NE(advice_at(listener.port()).find("another program listens"), std::string::npos);
  const RawTcp outgoing = RawTcp::connect(listener.address());
  sockaddr_in own{};
  socklen_t bytes = sizeof own;
  ASSERT_EQ(::getsockname(outgoing.fd(), reinterpret_cast<sockaddr*>(&own), &bytes), 0);
  const std::string advice = advice_at(ntohs(own.sin_port));
  EXPECT_NE(advice.find("an outgoing connection has that port"), std::string::npos) << advice;
  EXPECT_NE(advice.find("ip_local_reserved_ports"), std::string::npos) << advice;
}

// What two that dial at the same time may get: each hears the other's hello, and no answer.
TEST(OwnPort, where_another_one_dials_is_tried_again) {
  Context context(wary_context());
  Pump pump{&context};
  Push one(context, wary_options());
  Push other(context, wary_options());
  Seen at_one(one);
  Seen at_other(other);
  RawListener to_one;
  RawListener to_other;
  one.connect(to_one.address());
  other.connect(to_other.address());
  std::optional<RawTcp> of_one;
  std::optional<RawTcp> of_other;
  const auto heard = [](RawListener& listener, std::optional<RawTcp>& connection) {
    if (!connection) connection = listener.accept();
    return connection && hello_in(connection->received()).epoch != 0;
  };
  ASSERT_SOON(pump, heard(to_one, of_one) && heard(to_other, of_other));
  of_one->send(of_other->received());
  of_other->send(of_one->received());
  ASSERT_SOON(pump, !at_one.downs.empty() && !at_other.downs.empty());
  EXPECT_EQ(at_one.downs[0].down.reason, DownReason::protocol_error) << at_one.why();
  EXPECT_TRUE(at_one.downs[0].peer.retrying);
  EXPECT_TRUE(at_other.downs[0].peer.retrying);
}

}  // namespace
}  // namespace netio::test
