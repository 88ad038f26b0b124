// Who meets whom, in which order, and what is said when it does not come to that.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class CliPeers : public ::testing::Test {
 protected:
  Folder folder_;
};

// --- Either side may start first, and either may bind.

TEST_F(CliPeers, a_sender_may_start_before_its_receiver) {
  const std::string address = free_address();
  const std::string bytes = some_bytes(10'000);
  Process send(netio_command({"send", address, folder_.write("input", bytes)}));
  EXPECT_TRUE(send.wait_for_err("netio send: waiting for ")) << send.err();
  Process recv(netio_command({"recv", address, "--out", folder_.path("received")}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_TRUE(read_file(folder_.path("received")) == bytes);
}

TEST_F(CliPeers, a_sender_may_bind_and_a_receiver_connect) {
  const std::string bytes = some_bytes(10'000);
  Process send(netio_command({"send", any_port, folder_.write("input", bytes), "--bind"}));
  Process recv(
      netio_command({"recv", address_of(send), "--connect", "--out", folder_.path("received")}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_TRUE(read_file(folder_.path("received")) == bytes);
}

TEST_F(CliPeers, names_are_told_and_reported) {
  const std::string json = folder_.path("recv.json");
  const std::string sent = folder_.path("send.json");
  Process recv(netio_command({"recv", any_port, "--name", "builder 1", "--json=" + json}));
  Process send(netio_command(
      {"send", address_of(recv), "--count", "10", "--name", "unit 7", "--json=" + sent}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  const auto at_recv = read_json(json)["per_peer"][0];
  const auto at_send = read_json(sent)["per_peer"][0];
  EXPECT_EQ(at_recv["name"], "unit 7");
  EXPECT_EQ(at_send["name"], "builder 1");
  EXPECT_EQ(at_recv["run"].get<std::string>().size(), 32U);
  EXPECT_NE(at_recv["run"], at_send["run"]);
  for (const std::string& name : {std::string(), std::string(64, 'x'), std::string("a\nb")}) {
    Process refused(netio_command({"send", any_port, "--name", name}));
    EXPECT_EQ(refused.wait(), 2);
    EXPECT_THAT(refused.err(), HasSubstr("1 to 63 bytes of printable ASCII"));
  }
}

TEST_F(CliPeers, a_receiver_ends_when_every_sender_has_ended) {
  const std::string json = folder_.path("recv.json");
  Process recv(netio_command({"recv", any_port, "--senders", "3", "--verify", "--json=" + json}));
  const std::string address = address_of(recv);
  const Words words = {"send", address, "--size", "32", "--count", "5000", "--verify"};
  Process first(netio_command(words));
  Process second(netio_command(words));
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_TRUE(recv.running());
  Process third(netio_command(words));
  EXPECT_EQ(third.wait(), 0) << third.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  const auto report = read_json(json);
  EXPECT_EQ(report["messages"], 15'000);
  EXPECT_EQ(report["senders"]["came"], 3);
  EXPECT_EQ(report["senders"]["ended"], 3);
  EXPECT_EQ(report["verification"]["passed"], true);
}

TEST_F(CliPeers, keep_stays_for_more_until_ctrl_c) {
  const std::string json = folder_.path("recv.json");
  Process recv(netio_command({"recv", any_port, "--keep", "--json=" + json}));
  const std::string address = address_of(recv);
  for (int i = 0; i < 2; ++i) {
    Process send(netio_command({"send", address, "--count", "10"}));
    EXPECT_EQ(send.wait(), 0) << send.err();
  }
  EXPECT_TRUE(recv.running());
  recv.signal(SIGINT);
  EXPECT_EQ(recv.wait(), 130) << recv.err();
  EXPECT_THAT(recv.out(), HasSubstr("2 came, 2 ended in order, 0 lost"));
  EXPECT_EQ(read_json(json)["messages"], 20);
}

// --- Ctrl-C.

TEST_F(CliPeers, ctrl_c_ends_both_with_a_summary) {
  const std::string json = folder_.path("send.json");
  Process recv(netio_command({"recv", any_port, "--out", "-"}));
  Process send(netio_command(
      {"send", address_of(recv), "--size", "1KiB", "--rate", "1000", "--json=" + json}));
  EXPECT_TRUE(recv.wait_for_out_bytes(10 * 1024)) << recv.err();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130) << send.err();
  EXPECT_THAT(send.out(), HasSubstr("interrupted"));
  EXPECT_THAT(send.out(), HasSubstr("0 dropped, 0 unacknowledged"));
  const auto report = read_json(json);
  EXPECT_EQ(report["outcome"], "interrupted");
  EXPECT_EQ(report["exit_code"], 130);
  // A sender that is asked to leave still says good-bye.
  EXPECT_EQ(recv.wait(), 0) << recv.err();
}

TEST_F(CliPeers, sigterm_and_sighup_are_like_ctrl_c) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    Process recv(netio_command({"recv", any_port}));
    (void)address_of(recv);
    recv.signal(signal);
    EXPECT_EQ(recv.wait(), 130) << recv.err();
    EXPECT_THAT(recv.out(), HasSubstr("received   0 messages"));
  }
}

TEST_F(CliPeers, a_hang_up_that_is_ignored_ends_nothing) {
  Process::Options options;
  options.arguments = {"/bin/sh", "-c", "trap '' HUP; exec \"$0\" recv tcp://127.0.0.1:0",
                       netio_program()};
  Process recv(std::move(options));
  const std::string address = address_of(recv);
  recv.signal(SIGHUP);
  Process send(netio_command({"send", address, "--count", "10"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
}

TEST_F(CliPeers, ctrl_c_ends_a_sender_that_nobody_listens_to) {
  Process send(netio_command({"send", any_port, "--bind", "--count", "1"}));
  (void)address_of(send);
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130) << send.err();
}

// --- A peer is lost.

TEST_F(CliPeers, a_killed_sender_is_reported_and_disturbs_no_other) {
  const std::string json = folder_.path("recv.json");
  Process recv(netio_command({"recv", any_port, "--out", "-", "--verify", "--json=" + json}));
  const std::string address = address_of(recv);
  // So little comes from the one that a lot is from both.
  Process doomed(netio_command({"send", address, "--size", "20", "--rate", "500", "--verify"}));
  EXPECT_TRUE(recv.wait_for_out_bytes(200)) << recv.err();
  Process other(netio_command(
      {"send", address, "--size", "10KiB", "--rate", "1k", "--count", "1000", "--verify"}));
  EXPECT_TRUE(recv.wait_for_out_bytes(400 * 1024)) << recv.err();
  doomed.signal(SIGKILL);
  EXPECT_EQ(doomed.wait(), -SIGKILL);
  EXPECT_TRUE(recv.wait_for_err("netio recv: lost sender ")) << recv.err();
  EXPECT_EQ(other.wait(), 0) << other.err();
  EXPECT_EQ(recv.wait(), 3) << recv.err();
  EXPECT_THAT(recv.err(), HasSubstr("1 of 2 senders lost in mid-stream"));
  const auto report = read_json(json);
  EXPECT_EQ(report["senders"]["lost"], 1);
  EXPECT_EQ(report["senders"]["ended"], 1);
  EXPECT_EQ(report["verification"]["passed"], true);
  EXPECT_EQ(report["outcome"], "peer_lost");
}

TEST_F(CliPeers, a_sender_that_comes_back_goes_on_where_it_was) {
  const std::string json = folder_.path("recv.json");
  Process recv(
      netio_command({"recv", any_port, "--keep", "--out", "-", "--verify", "--json=" + json}));
  Relay relay(address_of(recv));
  Process send(netio_command({"send", relay.address(), "--rate", "5k", "--verify"}));
  EXPECT_TRUE(recv.wait_for_out_bytes(64 * 500)) << recv.err();
  relay.cut();
  EXPECT_TRUE(recv.wait_for_err("came back")) << recv.err();
  EXPECT_TRUE(recv.wait_for_out_bytes(recv.out().size() + 64 * 500)) << recv.err();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130) << send.err();
  for (int i = 0; i < 1000 && !relay.empty(); ++i) std::this_thread::sleep_for(10ms);
  recv.signal(SIGINT);
  EXPECT_EQ(recv.wait(), 130) << recv.err();
  const auto report = read_json(json);
  EXPECT_EQ(report["senders"]["came"], 1);
  EXPECT_EQ(report["senders"]["lost"], 0);
  EXPECT_EQ(report["senders"]["away"], 1);
  EXPECT_EQ(report["senders"]["restarted"], 0);
  EXPECT_EQ(report["senders"]["ended"], 1);
  // What was on its way when the connection broke is in the books, and is all that is missing.
  EXPECT_EQ(report["verification"]["missing"], 0);
  EXPECT_EQ(report["verification"]["repeated"], 0);
}

TEST_F(CliPeers, a_sender_that_comes_back_is_not_taken_for_one_that_has_ended) {
  const std::string json = folder_.path("recv.json");
  Process recv(netio_command({"recv", any_port, "--keep", "--out", "-", "--json=" + json}));
  const std::string address = address_of(recv);
  const Words ten = {"send", address, "--count", "10", "--size", "10"};
  Process first(netio_command(ten));
  EXPECT_EQ(first.wait(), 0) << first.err();
  // The other has sent as many when it is cut off.
  Relay relay(address);
  Process send(netio_command({"send", relay.address(), "--frame", "line"}));
  send.feed("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
  EXPECT_TRUE(recv.wait_for_out_bytes(100 + 21)) << recv.err();
  relay.cut();
  EXPECT_TRUE(recv.wait_for_err("came back")) << recv.err();
  EXPECT_TRUE(send.wait_for_err("connected to ")) << send.err();
  send.end_input();
  EXPECT_EQ(send.wait(), 0) << send.err();
  for (int i = 0; i < 1000 && !relay.empty(); ++i) std::this_thread::sleep_for(10ms);
  recv.signal(SIGINT);
  EXPECT_EQ(recv.wait(), 130) << recv.err();
  const auto report = read_json(json);
  EXPECT_EQ(report["senders"]["came"], 2);
  EXPECT_EQ(report["senders"]["lost"], 0);
  EXPECT_EQ(report["senders"]["ended"], 2);
  ASSERT_EQ(report["per_peer"].size(), 2U) << report;
  EXPECT_EQ(report["per_peer"][0]["id"], 1);  // and not in the line of the other
}

TEST_F(CliPeers, a_killed_receiver_is_waited_for_and_then_reported) {
  const std::string json = folder_.path("send.json");
  Process recv(netio_command({"recv", any_port, "--out", "-"}));
  Process send(netio_command({"send", address_of(recv), "--size", "64", "--rate", "10k",
                              "--connect-timeout", "2s", "--json=" + json}));
  EXPECT_TRUE(recv.wait_for_out_bytes(64 * 1000)) << recv.err();
  recv.signal(SIGKILL);
  EXPECT_EQ(recv.wait(), -SIGKILL);
  EXPECT_EQ(send.wait(), 3) << send.err();
  EXPECT_THAT(send.err(), HasSubstr("was lost and none came back within 2.000 s"));
  const auto report = read_json(json);
  EXPECT_EQ(report["exit_code"], 3);
  const auto& books = report["books"];
  EXPECT_EQ(books["sent"].get<std::uint64_t>(), books["acknowledged"].get<std::uint64_t>() +
                                                    books["dropped"].get<std::uint64_t>() +
                                                    books["in_doubt"].get<std::uint64_t>() +
                                                    books["unacknowledged"].get<std::uint64_t>());
  EXPECT_GT(books["in_doubt"].get<std::uint64_t>(), 0U) << books;
}

TEST_F(CliPeers, when_a_receiver_has_ended_every_message_has_its_place) {
  const std::string json = folder_.path("send.json");
  Process recv(netio_command({"recv", any_port, "--out", "-"}));
  Process send(netio_command({"send", address_of(recv), "--size", "64", "--rate", "200k",
                              "--connect-timeout", "2s", "--json=" + json}));
  EXPECT_TRUE(recv.wait_for_out_bytes(64 * 1000)) << recv.err();
  recv.signal(SIGINT);
  EXPECT_EQ(recv.wait(), 130) << recv.err();
  EXPECT_EQ(send.wait(), 3) << send.err();
  const auto books = read_json(json)["books"];
  EXPECT_EQ(books["unacknowledged"], 0) << books;
  EXPECT_EQ(books["in_doubt"], 0) << books;
  EXPECT_EQ(books["sent"].get<std::uint64_t>(),
            books["acknowledged"].get<std::uint64_t>() + books["dropped"].get<std::uint64_t>());
}

TEST_F(CliPeers, time_without_a_receiver_is_said_and_is_not_in_the_rate) {
  const std::string json = folder_.path("send.json");
  Process recv(netio_command({"recv", any_port, "--out", "-"}));
  const std::string address = address_of(recv);
  Process send(
      netio_command({"send", address, "--rate", "2k", "--count", "1000", "--json=" + json}));
  EXPECT_TRUE(recv.wait_for_out_bytes(64 * 100)) << recv.err();
  recv.signal(SIGKILL);
  EXPECT_EQ(recv.wait(), -SIGKILL);
  EXPECT_TRUE(send.wait_for_err("waiting for a receiver to come back")) << send.err();
  EXPECT_THAT(send.err(), Not(HasSubstr(" left  ")));
  std::this_thread::sleep_for(1s);
  Process next(netio_command({"recv", address}));
  // On a busy machine all may have been acknowledged when it was killed: then nothing is lost.
  EXPECT_THAT(send.wait(), ::testing::AnyOf(0, 3)) << send.err();
  EXPECT_EQ(next.wait(), 0) << next.err();
  // Half a second of work, 0.1 s of which may be made up for, and two of waiting. A busy machine
  // is slower.
  const auto report = read_json(json);
  EXPECT_GE(report["seconds"], 0.35);
  EXPECT_GE(report["messages_per_second"], 700);
}

// --- No peer at all.

TEST_F(CliPeers, nobody_at_the_address_is_an_error_after_the_timeout) {
  const std::string address = free_address();
  Process send(netio_command({"send", address, "--count", "1", "--connect-timeout", "1s"}));
  EXPECT_EQ(send.wait(), 1);
  EXPECT_THAT(send.err(), HasSubstr("error: no peer at " + address + " within 1.000 s"));
  EXPECT_THAT(send.err(), HasSubstr("nobody listens"));
  EXPECT_THAT(send.err(), HasSubstr("start the other side"));
  EXPECT_EQ(send.out(), "") << "zeros say nothing";
  const std::string error = *send.line_after("netio send: error: ");
  EXPECT_EQ(error.find(address), error.rfind(address)) << error;
}

TEST_F(CliPeers, nobody_in_shared_memory_is_said_with_the_name_once) {
  const std::string address = "shm://nobody-" + std::to_string(::getpid());
  Process send(netio_command({"send", address, "--count", "1"}));
  EXPECT_TRUE(send.wait_for_err(address + ": nobody listens (such a name")) << send.err();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130);
}

TEST_F(CliPeers, another_reason_why_nobody_is_connected_is_noted_too) {
  const std::uint16_t port = free_port();
  Process send(netio_command({"send", "tcp://127.0.0.1:" + std::to_string(port), "--count", "1"}));
  ASSERT_TRUE(send.wait_for_err("nobody listens")) << send.err();
  RawListener listener(port);
  std::optional<RawTcp> caller;
  ASSERT_TRUE(wait_until([&] { return (caller = listener.accept()).has_value(); }));
  caller->send("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_TRUE(send.wait_for_err("does not speak netio")) << send.err();
  send.signal(SIGINT);
  EXPECT_EQ(send.wait(), 130);
  const std::string said = send.err();
  EXPECT_EQ(said.find("nobody listens"), said.rfind("nobody listens")) << said;
}

TEST_F(CliPeers, a_crowd_that_says_nothing_keeps_no_sender_out) {
  Process recv(netio_command({"recv", any_port}));
  const std::string address = address_of(recv);
  std::vector<RawTcp> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(RawTcp::connect(address));
  Process send(netio_command({"send", address, "--count", "10"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
}

TEST_F(CliPeers, a_receiver_that_nobody_sends_to_ends_after_its_timeout) {
  Process recv(netio_command({"recv", any_port, "--connect-timeout", "100ms"}));
  EXPECT_EQ(recv.wait(), 1);
  EXPECT_THAT(recv.err(), HasSubstr("within 0.100 s"));
}

TEST_F(CliPeers, a_host_that_does_not_exist_is_named_at_once_and_waited_for) {
  const std::string nowhere = "tcp://no-such-host.invalid:5555";
  Process send(netio_command({"send", nowhere, "--count", "1", "--connect-timeout", "3s"}));
  EXPECT_TRUE(send.wait_for_err("waiting for " + nowhere + ": there is no host named"))
      << send.err();
  EXPECT_EQ(send.wait(), 1) << send.err();
  EXPECT_THAT(send.err(),
              HasSubstr("within 3.000 s: there is no host named 'no-such-host.invalid'"));
  EXPECT_THAT(send.err(), HasSubstr("check how the host name is spelt"));
}

TEST_F(CliPeers, a_web_server_at_the_address_is_named_when_nothing_else_came) {
  RawListener listener;
  Process send(
      netio_command({"send", listener.address(), "--count", "1", "--connect-timeout", "2s"}));
  const auto deadline = Process::Clock::now() + 20s;
  bool served = false;
  std::vector<RawTcp> connections;
  while (send.running() && Process::Clock::now() < deadline) {
    if (auto accepted = listener.accept()) {
      accepted->send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
      connections.push_back(std::move(*accepted));
      served = true;
    }
    std::this_thread::sleep_for(2ms);
  }
  ASSERT_TRUE(served);
  EXPECT_EQ(send.wait(8s), 1) << send.err();
  EXPECT_THAT(send.err(), HasSubstr("something other than netio is there"));
}

TEST_F(CliPeers, a_sender_at_the_address_is_an_error_at_once) {
  Process bound(netio_command({"send", any_port, "--bind", "--count", "1"}));
  Process send(netio_command({"send", address_of(bound), "--count", "1"}));
  EXPECT_EQ(send.wait(8s), 1) << send.err();
  EXPECT_THAT(send.err(), HasSubstr("push"));
  EXPECT_THAT(send.err(), HasSubstr("pull"));
  EXPECT_TRUE(bound.running());
}

TEST_F(CliPeers, a_port_in_use_is_an_error_that_leaves_the_output_alone) {
  const std::string out = folder_.write("precious", "data");
  const RawListener listener;
  Process recv(netio_command({"recv", listener.address(), "--out", out}));
  EXPECT_EQ(recv.wait(), 1);
  EXPECT_THAT(recv.err(), HasSubstr("netio recv: error: "));
  EXPECT_THAT(recv.err(), HasSubstr("in use"));
  EXPECT_EQ(read_file(out), "data");
}

TEST_F(CliPeers, an_unknown_scheme_is_an_error) {
  for (const char* const command : {"send", "recv"}) {
    Process process(netio_command({command, "pigeon://roof:1"}));
    EXPECT_EQ(process.wait(), 2);
    EXPECT_THAT(process.err(), HasSubstr("pigeon"));
    EXPECT_THAT(process.err(), Not(HasSubstr("listening")));
  }
}

}  // namespace
}  // namespace netio::test
