// netio echo and netio ping: round trips on every wire, and what is said when they do not come
// back.
#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

const std::vector<const char*> echo_addresses = {
    any_port,
    "shm://*",
#ifdef NETIO_WITH_FABRIC
    any_fabric_port,
#endif
};

template <typename Done>
void turn_until(Context& context, const Done& done) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!done() && std::chrono::steady_clock::now() < deadline) context.loop().run_once(10ms);
}

class CliPing : public ::testing::Test {
 protected:
  // What ping reports besides its lines.
  [[nodiscard]] std::string json_option() const { return "--json=" + folder_.path("ping.json"); }
  [[nodiscard]] nlohmann::json report() const { return read_json(folder_.path("ping.json")); }

  Folder folder_;
};

// "fe80::1%eth0", of this host; empty without one.
std::string link_local_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string found;
  for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET6) continue;
    sockaddr_in6 address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    char text[INET6_ADDRSTRLEN];
    if (!IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr) || (one->ifa_flags & IFF_UP) == 0) continue;
    ::inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text);
    found = std::string(text) + "%" + one->ifa_name;
  }
  ::freeifaddrs(all);
  return found;
}

TEST_F(CliPing, a_link_local_address_works_with_its_interface) {
  const std::string host = link_local_address();
  if (host.empty()) GTEST_SKIP() << "no interface here has a link-local address";
  Process echo(netio_command({"echo", "tcp://[" + host + "]:0", "--count", "1"}));
  const std::string address = address_of(echo);
  EXPECT_THAT(address, HasSubstr(host)) << "what can be connected to is printed";
  Process ping(netio_command({"ping", address, "--count", "1"}));
  EXPECT_EQ(ping.wait(), 0) << ping.err();
  EXPECT_EQ(echo.wait(), 0) << echo.err();
}

class CliPingWires : public CliPing, public ::testing::WithParamInterface<const char*> {};

TEST_P(CliPingWires, what_an_echo_sends_back_is_timed) {
  const std::string json = folder_.path("echo.json");
  Process echo(netio_command({"echo", GetParam(), "--count", "20", "--json=" + json}));
  Process ping(netio_command({"ping", address_of(echo), "--count", "20", "--interval", "1ms",
                              "--size", "100kB", json_option()}));
  EXPECT_EQ(ping.wait(), 0) << ping.err();
  EXPECT_EQ(echo.wait(), 0) << echo.err();
  EXPECT_THAT(ping.out(), HasSubstr("\n100,000 bytes from "));
  EXPECT_THAT(ping.out(), HasSubstr(": number 20, "));
  EXPECT_THAT(ping.out(), HasSubstr("20 sent, 20 answered, 0 lost"));
  const auto said = report();
  EXPECT_EQ(said["outcome"], "done");
  EXPECT_EQ(said["sent"], 20);
  EXPECT_EQ(said["answered"], 20);
  EXPECT_EQ(said["lost"], 0);
  EXPECT_EQ(said["message_bytes"], 100'000);
  const auto& times = said["rtt_us"];
  EXPECT_GT(times["min"], 0);
  EXPECT_LE(times["min"], times["p50"]);
  EXPECT_LE(times["p50"], times["p99"]);
  EXPECT_LE(times["p99"], times["max"]);
  EXPECT_LE(times["max"], said["seconds"].get<double>() * 1e6);
  const auto echoed = read_json(json);
  EXPECT_EQ(echoed["messages"], 20);
  EXPECT_EQ(echoed["bytes"], 2'000'000);
  EXPECT_EQ(echoed["books"]["acknowledged"], 20);
}

TEST_P(CliPingWires, an_echo_holds_back_who_reads_no_answers_and_drops_none) {
  constexpr int most = 2000;
  Process echo(netio_command({"echo", GetParam()}));
  Context context;
  Pair pair(context, {.mode = Mode::unbuffered});
  const std::string bytes = some_bytes(64 * 1024);
  int sent = 0;
  int received = 0;
  bool blocked = true;
  const auto pump = [&] {
    blocked = false;
    while (sent < most && !blocked) {
      blocked = pair.send(std::string_view(bytes), static_cast<std::uint64_t>(sent)) != Status::ok;
      if (!blocked) ++sent;
    }
  };
  pair.on_writable(pump);
  pair.on_message([&](const MessageView& message) {
    EXPECT_EQ(message.tag(), static_cast<std::uint64_t>(received++));
    EXPECT_TRUE(message.text() == bytes);
  });
  pair.pause();
  pair.connect(address_of(echo));
  pump();
  // Until nothing has moved for a while.
  int before = -1;
  while (before != sent) {
    before = sent;
    const auto end = std::chrono::steady_clock::now() + 200ms;
    turn_until(context, [&] { return sent > 0 && std::chrono::steady_clock::now() > end; });
  }
  EXPECT_LT(sent, most);  // held back
  pair.resume();
  turn_until(context, [&] { return received == most; });
  EXPECT_EQ(received, most);
  pair.close();
  turn_until(context, [&] { return pair.closed(); });
  echo.signal(SIGINT);
  EXPECT_EQ(echo.wait(), 130);
  EXPECT_THAT(echo.out(), HasSubstr("2,000 acknowledged, 0 dropped"));
}

INSTANTIATE_TEST_SUITE_P(wires, CliPingWires, ::testing::ValuesIn(echo_addresses),
                         [](const auto& wire) {
                           const std::string name = wire.param;
                           return name.substr(0, name.find_first_of("+:"));
                         });

TEST_F(CliPing, without_a_pause_there_are_times_and_no_lines) {
  Process echo(netio_command({"echo", any_port}));
  Process ping(netio_command(
      {"ping", address_of(echo), "--interval", "0", "--seconds", "200ms", json_option()}));
  EXPECT_EQ(ping.wait(), 0) << ping.err();
  EXPECT_THAT(ping.out(), Not(HasSubstr("bytes from")));
  EXPECT_THAT(ping.out(), HasSubstr("times      min "));
  EXPECT_GT(report()["answered"], 100);
  EXPECT_GE(report()["seconds"], 0.2);
}

TEST_F(CliPing, json_on_standard_output_is_all_there_is) {
  Process echo(netio_command({"echo", any_port}));
  Process ping(
      netio_command({"ping", address_of(echo), "--count", "2", "--interval", "1ms", "--json"}));
  EXPECT_EQ(ping.wait(), 0) << ping.err();
  EXPECT_FALSE(nlohmann::json::parse(ping.out(), nullptr, false).is_discarded()) << ping.out();
  EXPECT_THAT(ping.err(), HasSubstr(": number 2, "));
  Process quiet(
      netio_command({"ping", address_of(echo), "--count", "2", "--interval", "1ms", "-q"}));
  EXPECT_EQ(quiet.wait(), 0) << quiet.err();
  EXPECT_TRUE(quiet.out().starts_with("pings      2 sent")) << quiet.out();
  EXPECT_EQ(quiet.err(), "");
}

TEST_F(CliPing, an_echo_takes_one_peer_after_the_other) {
  Process echo(netio_command({"echo", any_port, "--count", "40"}));
  const std::string address = address_of(echo);
  const Words words = {"ping", address, "--count", "20", "--interval", "5ms"};
  Process first(netio_command(words));
  Process second(netio_command(words));
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(echo.wait(), 0) << echo.err();
  EXPECT_THAT(echo.out(), HasSubstr("2 came, "));
}

TEST_F(CliPing, an_echo_may_connect_to_a_ping_that_binds) {
  Process ping(netio_command({"ping", any_port, "--bind", "--count", "3", "--interval", "1ms"}));
  Process echo(netio_command({"echo", address_of(ping), "--connect", "--count", "3"}));
  EXPECT_EQ(ping.wait(), 0) << ping.err();
  EXPECT_EQ(echo.wait(), 0) << echo.err();
}

TEST_F(CliPing, ctrl_c_ends_both_with_what_there_was) {
  Process echo(netio_command({"echo", any_port}));
  Process ping(netio_command({"ping", address_of(echo), "--interval", "1ms", json_option()}));
  EXPECT_TRUE(ping.wait_for_out_bytes(200));
  ping.signal(SIGINT);
  EXPECT_EQ(ping.wait(), 130) << ping.err();
  EXPECT_THAT(ping.out(), HasSubstr(", interrupted\ntimes "));
  EXPECT_EQ(report()["outcome"], "interrupted");
  EXPECT_EQ(report()["lost"], 0);
  echo.signal(SIGINT);
  EXPECT_EQ(echo.wait(), 130) << echo.err();
  EXPECT_THAT(echo.out(), HasSubstr("1 came, 1 ended in order, 0 lost"));
}

// --- Echoes that die, or are no echoes.

TEST_F(CliPing, an_echo_that_is_killed_costs_the_ping_under_way_and_is_waited_for) {
  const std::string address = free_address();
  std::optional<Process> echo(netio_command({"echo", address}));
  Process ping(netio_command(
      {"ping", address, "--count", "30", "--interval", "10ms", "--timeout", "20s", json_option()}));
  EXPECT_TRUE(ping.wait_for_out_bytes(60));
  echo->signal(SIGSTOP);
  std::this_thread::sleep_for(100ms);  // the next one has left
  echo->signal(SIGKILL);
  EXPECT_EQ(echo->wait(), -SIGKILL);
  Process another(netio_command({"echo", address}));
  EXPECT_EQ(ping.wait(), 1) << ping.err();
  EXPECT_THAT(ping.err(), HasSubstr("netio ping: lost " + address));
  EXPECT_THAT(ping.err(), HasSubstr("netio ping: connected to " + address));
  EXPECT_THAT(ping.err(), HasSubstr("error: no answer to 1 ping\n"));
  EXPECT_THAT(ping.out(), HasSubstr(" before the connection ended\n"));
  EXPECT_EQ(report()["sent"], 30);
  EXPECT_EQ(report()["lost"], 1);
}

TEST_F(CliPing, an_echo_that_does_not_come_back_ends_it_with_3) {
  Process echo(netio_command({"echo", any_port}));
  Process ping(netio_command(
      {"ping", address_of(echo), "--interval", "1ms", "--connect-timeout", "2s", json_option()}));
  EXPECT_TRUE(ping.wait_for_out_bytes(60));
  echo.signal(SIGKILL);
  EXPECT_EQ(ping.wait(), 3) << ping.err();
  EXPECT_THAT(ping.err(), HasSubstr("was lost and none came back within 2.000 s"));
  EXPECT_EQ(report()["outcome"], "peer_lost");
  EXPECT_GT(report()["answered"], 0);
}

TEST_F(CliPing, what_comes_after_its_timeout_is_lost_and_late) {
  Process echo(netio_command({"echo", any_port}));
  // With JSON on standard output the lines are on standard error.
  Process ping(netio_command(
      {"ping", address_of(echo), "--interval", "10ms", "--timeout", "200ms", "--json"}));
  EXPECT_TRUE(ping.wait_for_err(": number 1, "));
  echo.signal(SIGSTOP);
  EXPECT_TRUE(ping.wait_for_err("no answer to ")) << ping.err();
  echo.signal(SIGCONT);
  EXPECT_TRUE(ping.wait_for_err(" came late\n")) << ping.err();
  EXPECT_THAT(ping.err(), HasSubstr(" within 200 ms\n"));
  ping.signal(SIGINT);
  EXPECT_EQ(ping.wait(), 130) << ping.err();
  const auto said = nlohmann::json::parse(ping.out(), nullptr, false);
  ASSERT_FALSE(said.is_discarded()) << ping.out();
  EXPECT_GE(said["late"], 1);
  EXPECT_GE(said["lost"], said["late"]);
}

TEST_F(CliPing, nobody_there_is_no_answer_to_anything) {
  Process ping(netio_command({"ping", free_address(), "--connect-timeout", "50ms"}));
  EXPECT_EQ(ping.wait(), 1);
  EXPECT_THAT(ping.err(), HasSubstr("start the other side there"));
  EXPECT_THAT(ping.out(), HasSubstr("0 sent, 0 answered, 0 lost"));
}

TEST_F(CliPing, who_is_no_echo_is_told_apart) {
  Process recv(netio_command({"recv", any_port}));
  Process to_recv(netio_command({"ping", address_of(recv)}));
  EXPECT_EQ(to_recv.wait(), 1);
  EXPECT_THAT(to_recv.err(), HasSubstr("netio ping with netio echo"));
  // A pair that sends back something else of the same size.
  Context context;
  Pair pair(context, {.mode = Mode::unbuffered});
  const std::string nonsense(64, 'x');
  pair.on_message([&](const MessageView&) { EXPECT_EQ(pair.send(nonsense), Status::ok); });
  bool gone = false;
  pair.on_down([&](const PeerInfo&, const Down&) { gone = true; });
  Process to_pair(netio_command({"ping", pair.bind(any_port)}));
  turn_until(context, [&] { return gone; });
  EXPECT_EQ(to_pair.wait(), 1);
  EXPECT_THAT(to_pair.err(), HasSubstr("answers 64 bytes that were not sent to it"));
  EXPECT_THAT(to_pair.err(), HasSubstr("it is no echo: start netio echo there"));
}

TEST_F(CliPing, the_first_ping_of_another_is_no_answer_to_the_first) {
  Context context;
  Pair pair(context, {.mode = Mode::unbuffered});
  std::string first;
  pair.on_message([&](const MessageView& message) {
    if (first.empty()) first = message.text();
    EXPECT_EQ(pair.send(first), Status::ok);
  });
  int gone = 0;
  pair.on_down([&](const PeerInfo&, const Down&) { ++gone; });
  const Words words = {"ping", pair.bind(any_port), "--count", "1"};
  Process one(netio_command(words));
  turn_until(context, [&] { return gone == 1; });
  EXPECT_EQ(one.wait(), 0) << one.err();
  Process another(netio_command(words));
  turn_until(context, [&] { return gone == 2; });
  EXPECT_EQ(another.wait(), 1);
  EXPECT_THAT(another.err(), HasSubstr("it is no echo"));
}

TEST_F(CliPing, more_than_the_echo_takes_is_said_with_its_limit) {
  Process echo(netio_command({"echo", any_port, "--message-max", "1KiB"}));
  Process ping(netio_command({"ping", address_of(echo), "--size", "2KiB", json_option()}));
  EXPECT_EQ(ping.wait(), 1);
  EXPECT_THAT(ping.err(), HasSubstr("takes up to 1 KiB\n  raise its --message-max"));
  EXPECT_EQ(report()["sent"], 0);
}

// --- Where the lines go.

TEST_F(CliPing, a_reader_that_had_enough_ends_it_quietly) {
  Process echo(netio_command({"echo", any_port}));
  Process ping(netio_command({"ping", address_of(echo), "--interval", "1ms"}));
  EXPECT_TRUE(ping.wait_for_out_bytes(100));
  ping.close_output();
  EXPECT_EQ(ping.wait(), 0) << ping.err();
  EXPECT_THAT(ping.err(), Not(HasSubstr("error")));
}

TEST_F(CliPing, a_full_disk_ends_it_with_an_error) {
  Process echo(netio_command({"echo", any_port}));
  auto options = netio_command({"ping", address_of(echo), "--interval", "1ms"});
  options.stdout_path = "/dev/full";
  Process ping(std::move(options));
  EXPECT_EQ(ping.wait(), 1);
  EXPECT_THAT(ping.err(), HasSubstr("standard output: No space left on device"));
}

}  // namespace
}  // namespace netio::test
