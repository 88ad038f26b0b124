// A network that fails between two commands: what `--resume` sends again, and whom `--heartbeat`
// finds.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netio/netio.hpp>

#include "integration/cli_support.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class CliResume : public ::testing::Test {
 protected:
  static void wait_for_bytes_in(const std::string& path) {
    const auto until = std::chrono::steady_clock::now() + 30s;
    const auto empty = [&] {
      std::error_code none;
      const auto size = std::filesystem::file_size(path, none);
      return none || size == 0;
    };
    while (empty() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(10ms);
  }
  Folder folder_;
};

TEST_F(CliResume, nothing_is_lost_over_a_network_that_is_cut_again_and_again) {
  const std::string at_recv = folder_.path("recv.json");
  const std::string at_send = folder_.path("send.json");
  Process recv(
      netio_command({"recv", any_port, "--resume", "1MiB", "--verify", "--json=" + at_recv}));
  Relay relay(address_of(recv));
  Process send(netio_command({"send", relay.address(), "--resume", "1MiB", "--seconds", "2s",
                              "--size", "1KiB", "--verify", "--json=" + at_send}));
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(150ms);
    relay.cut_after(100'000);
  }
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_THAT(send.out(), HasSubstr("sent again"));
  EXPECT_THAT(send.out(), Not(HasSubstr("given up")));
  const auto sent = read_json(at_send);
  const auto received = read_json(at_recv);
  EXPECT_GT(sent["counters"]["disconnects"], 0);
  EXPECT_GT(sent["counters"]["resent"], 0);
  EXPECT_EQ(sent["counters"]["resume_given_up"], 0);
  EXPECT_EQ(sent["books"]["dropped"], 0);
  EXPECT_EQ(sent["books"]["acknowledged"], sent["books"]["sent"]);
  EXPECT_EQ(received["books"]["delivered"], sent["books"]["sent"]);
  EXPECT_EQ(received["books"]["missed"], 0);
  EXPECT_TRUE(received["verification"]["passed"]);
}

TEST_F(CliResume, a_subscriber_that_blocks_loses_nothing_over_a_network_that_is_cut) {
  const std::string at_sub = folder_.path("sub.json");
  const std::string at_pub = folder_.path("pub.json");
  Process pub(netio_command({"pub", any_port, "--resume", "1MiB", "--subscribers-min", "1",
                             "--seconds", "2s", "--size", "1KiB", "--verify", "--json=" + at_pub}));
  Relay relay(address_of(pub));
  Process sub(netio_command({"sub", relay.address(), "--resume", "1MiB", "--policy", "block",
                             "--verify", "--json=" + at_sub}));
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(150ms);
    relay.cut_after(500);
  }
  EXPECT_EQ(pub.wait(), 0) << pub.err();
  EXPECT_EQ(sub.wait(), 0) << sub.err();
  EXPECT_THAT(pub.out(), HasSubstr("sent again"));
  const auto published = read_json(at_pub);
  const auto received = read_json(at_sub);
  EXPECT_GT(published["connections_lost"], 0);
  EXPECT_GT(published["counters"]["resent"], 0);
  EXPECT_EQ(published["books"]["dropped"], 0);
  EXPECT_EQ(received["books"]["delivered"], published["books"]["sent"]);
  EXPECT_EQ(received["books"]["missed"], 0);
  EXPECT_TRUE(received["verification"]["passed"]);
}

// It is away when the publisher has published all.
TEST_F(CliResume, a_publisher_waits_at_its_end_for_a_subscriber_that_is_away) {
  const std::string at_sub = folder_.path("sub.json");
  Process pub(netio_command({"pub", any_port, "--resume", "8MiB", "--subscribers-min", "1",
                             "--rate", "1k", "--count", "1000", "--size", "1KiB", "--verify"}));
  Relay relay(address_of(pub));
  Process sub(netio_command({"sub", relay.address(), "--resume", "1MiB", "--policy", "block",
                             "--verify", "--json=" + at_sub}));
  EXPECT_TRUE(sub.wait_for_err("took the subscription")) << sub.err();
  relay.forbid(true);
  EXPECT_TRUE(pub.wait_for_err("lost subscriber")) << pub.err();
  std::this_thread::sleep_for(1500ms);
  relay.forbid(false);
  EXPECT_EQ(pub.wait(), 0) << pub.err();
  EXPECT_EQ(sub.wait(), 0) << sub.err();
  EXPECT_THAT(sub.err(), HasSubstr("goes on from number"));
  EXPECT_EQ(read_json(at_sub)["books"]["delivered"], 1000);
  EXPECT_THAT(pub.out(), HasSubstr("lost        1 connection"));
}

// The answer to its subscription is lost with the connection, and comes with the next one.
TEST_F(CliResume, a_subscriber_whose_first_connection_breaks_at_once_misses_nothing) {
  const std::string at_sub = folder_.path("sub.json");
  Process pub(netio_command({"pub", any_port, "--resume", "8MiB", "--subscribers-min", "1",
                             "--rate", "1k", "--count", "1000", "--size", "1KiB", "--verify"}));
  Relay relay(address_of(pub));
  relay.set_delay(500ms);
  Process sub(netio_command({"sub", relay.address(), "--resume", "1MiB", "--policy", "block",
                             "--verify", "--json=" + at_sub}));
  EXPECT_TRUE(pub.wait_for_err("wants ")) << pub.err();
  relay.cut();
  relay.set_delay(0ms);
  EXPECT_EQ(pub.wait(), 0) << pub.err();
  EXPECT_EQ(sub.wait(), 0) << sub.err();
  EXPECT_THAT(sub.err(), Not(HasSubstr("has kept nothing")));
  EXPECT_EQ(read_json(at_sub)["books"]["delivered"], 1000);
}

// It loses its policy meanwhile. What was dropped is told and counted.
TEST_F(CliResume, a_subscriber_that_is_away_for_longer_than_it_may_block_is_told_what_it_missed) {
  const std::string at_sub = folder_.path("sub.json");
  Process pub(netio_command({"pub", any_port, "--resume", "8MiB", "--block-for-max", "200ms",
                             "--rate", "20k", "--size", "1KiB"}));
  Relay relay(address_of(pub));
  Process sub(netio_command({"sub", relay.address(), "--resume", "1MiB", "--policy", "block",
                             "--behind", "64KiB", "--json=" + at_sub}));
  EXPECT_TRUE(sub.wait_for_err("took the subscription")) << sub.err();
  relay.forbid(true);
  EXPECT_TRUE(pub.wait_for_err("drop_new")) << pub.err();
  relay.forbid(false);
  EXPECT_TRUE(sub.wait_for_err("came back")) << sub.err();
  EXPECT_TRUE(sub.wait_for_err("missed")) << sub.err();
  pub.signal(SIGINT);
  EXPECT_EQ(pub.wait(), 130) << pub.err();
  EXPECT_EQ(sub.wait(), 3) << sub.err();
  EXPECT_THAT(sub.err(), Not(HasSubstr("has kept nothing")));
  EXPECT_GT(read_json(at_sub)["books"]["missed"], 0);
}

// Nothing tells it what was published meanwhile: it says so.
TEST_F(CliResume, a_subscriber_is_told_that_its_publisher_keeps_nothing) {
  Process pub(netio_command({"pub", any_port, "--rate", "1k", "--size", "1KiB"}));
  Relay relay(address_of(pub));
  Process sub(netio_command({"sub", relay.address(), "--resume", "1MiB", "--policy", "block"}));
  EXPECT_TRUE(sub.wait_for_err("took the subscription")) << sub.err();
  relay.cut();
  EXPECT_TRUE(sub.wait_for_err("has kept nothing while")) << sub.err();
  pub.signal(SIGINT);
  EXPECT_EQ(pub.wait(), 130) << pub.err();
  EXPECT_EQ(sub.wait(), 3) << sub.err();
}

TEST_F(CliResume, over_shared_memory_it_is_said_that_nothing_is_sent_again) {
  Process recv(netio_command({"recv", "shm://*", "--count", "1"}));
  Process send(netio_command(
      {"send", address_of(recv), "--size", "64", "--count", "1", "--resume", "1MiB"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_THAT(send.err(), HasSubstr("--resume sends nothing again over shm://"));
}

class CliSilence : public CliResume, public ::testing::WithParamInterface<const char*> {};

TEST_P(CliSilence, of_a_receiver_that_is_stopped_is_found) {
  const std::string out = folder_.path("received");
  Process recv(netio_command({"recv", GetParam(), "--keep", "--out", out}));
  Process send(netio_command({"send", address_of(recv), "--size", "64", "--rate", "100",
                              "--heartbeat", "100ms", "--connect-timeout", "2s"}));
  wait_for_bytes_in(out);
  recv.signal(SIGSTOP);
  EXPECT_TRUE(send.wait_for_err("said nothing for")) << send.err();
  EXPECT_EQ(send.wait(), 3) << send.err();
  recv.signal(SIGCONT);
  recv.signal(SIGINT);
  (void)recv.wait();
}

// A pair with an echo in it, whose only place a `netio ping` has that is stopped.
TEST_P(CliSilence, of_a_ping_that_is_stopped_costs_it_its_place) {
  Context context;
  SocketOptions options;
  options.mode = Mode::unbuffered;
  options.replace_silent_after = 200ms;
  Pair echo(context, options);
  std::vector<std::string> ups;
  std::string lost;
  std::uint64_t echoed = 0;
  echo.on_message([&](const MessageView& message) {
    ++echoed;
    EXPECT_EQ(echo.send(message.bytes(), message.tag()), Status::ok);
  });
  echo.on_up([&](const PeerInfo& peer) { ups.push_back(peer.name); });
  echo.on_down([&](const PeerInfo& peer, const Down& down) {
    if (peer.was_up && peer.name == "stopped") lost = down.detail;
  });
  const auto turn_until = [&](const auto& done) {
    return wait_until([&] {
      context.loop().run_once(10ms);
      return done();
    });
  };
  const std::string address = echo.bind(GetParam());
  Process stopped(netio_command({"ping", address, "--interval", "10ms", "--name", "stopped"}));
  ASSERT_TRUE(turn_until([&] { return echoed >= 3; })) << stopped.err();
  stopped.signal(SIGSTOP);
  Process newcomer(netio_command(
      {"ping", address, "--count", "3", "--interval", "10ms", "--connect-timeout", "30s"}));
  ASSERT_TRUE(turn_until([&] { return !newcomer.running(); })) << newcomer.err();
  EXPECT_EQ(newcomer.wait(), 0) << newcomer.err();
  EXPECT_THAT(lost, HasSubstr("said nothing for"));
  EXPECT_THAT(lost, HasSubstr("its place is given to a newcomer"));
  // It goes on, is told that it was lost, and comes back to a place that is free.
  stopped.signal(SIGCONT);
  ASSERT_TRUE(turn_until([&] { return ups.size() >= 3; })) << stopped.err();
  EXPECT_EQ(ups[2], "stopped");
  EXPECT_TRUE(stopped.wait_for_err("netio ping: lost ")) << stopped.err();
  stopped.signal(SIGINT);
  ASSERT_TRUE(turn_until([&] { return !stopped.running(); }));
}

INSTANTIATE_TEST_SUITE_P(on, CliSilence,
                         ::testing::Values(any_port, "shm://*", "netio://127.0.0.1:0"),
                         [](const auto& wire) {
                           const std::string name = wire.param;
                           return name.substr(0, name.find(':'));
                         });

TEST_F(CliResume, a_receiver_gives_up_a_sender_that_does_not_come_back) {
  const std::string out = folder_.path("received");
  Process recv(netio_command(
      {"recv", any_port, "--resume", "1MiB", "--connect-timeout", "2s", "--out", out}));
  Process send(netio_command({"send", address_of(recv), "--size", "64", "--rate", "100"}));
  wait_for_bytes_in(out);
  send.signal(SIGKILL);
  EXPECT_EQ(recv.wait(), 3) << recv.err();
  EXPECT_THAT(recv.err(), HasSubstr("none came back within 2.000 s"));
}

TEST_F(CliResume, what_makes_no_sense_is_refused) {
  for (const Words& words : {Words{"send", any_port, "--resume", "100TiB"},
                             Words{"send", any_port, "--resume-within", "0s", "--resume", "1MiB"},
                             Words{"recv", any_port, "--heartbeat", "1ms"},
                             Words{"echo", any_port, "--resume", "1MiB"}}) {
    Process refused(netio_command(words));
    EXPECT_EQ(refused.wait(), 2) << refused.err();
    EXPECT_THAT(refused.err(), HasSubstr(words[2]));
    EXPECT_THAT(refused.err(), HasSubstr(words[2] == "--resume-within" ? "\"0s\"" : "--"));
  }
}

}  // namespace
}  // namespace netio::test
