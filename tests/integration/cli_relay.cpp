// netio relay: between wires and patterns, with both books, and what is said when it cannot.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

// The wire of senders, and the one of receivers.
struct Wires {
  const char* from;
  const char* to;
};

const std::vector<Wires> every_two_wires = {
    {any_port, any_port},        {any_port, "shm://*"},
    {"shm://*", any_port},       {"shm://*", "shm://*"},
#ifdef NETIO_WITH_FABRIC
    {any_port, any_fabric_port}, {any_fabric_port, "shm://*"},
#endif
};

class CliRelay : public ::testing::Test {
 protected:
  [[nodiscard]] std::string json_option(const std::string& name = "relay") const {
    return "--json=" + folder_.path(name + ".json");
  }
  [[nodiscard]] nlohmann::json report(const std::string& name = "relay") const {
    return read_json(folder_.path(name + ".json"));
  }
  // Connects to where a receiver listens.
  [[nodiscard]] std::unique_ptr<Process> relay(const char* from, Process& receiver,
                                               Words more = {}) const {
    Words words = {"relay", from, address_of(receiver), json_option()};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(netio_command(words));
  }
  Folder folder_;
};

class CliRelayWires : public CliRelay, public ::testing::WithParamInterface<Wires> {};

TEST_P(CliRelayWires, what_is_sent_arrives_and_all_end_in_order) {
  Process recv(netio_command({"recv", GetParam().to, "--verify", json_option("recv")}));
  const auto relay = this->relay(GetParam().from, recv);
  const std::string input = address_of(*relay);
  Process small(netio_command({"send", input, "--size", "64", "--count", "200k", "--verify"}));
  EXPECT_EQ(small.wait(), 0) << small.err();
  EXPECT_EQ(relay->wait(), 0) << relay->err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_THAT(small.out(), HasSubstr("200,000 sent: 200,000 acknowledged"));
  EXPECT_THAT(relay->out(), HasSubstr("relayed   200,000 messages, 12.8 MB in "));
  EXPECT_EQ(report("recv")["verification"]["intact"], 200'000);
  const auto said = report();
  EXPECT_EQ(said["outcome"], "done");
  EXPECT_EQ(said["messages"], 200'000);
  EXPECT_EQ(said["from"]["received"]["delivered"], 200'000);
  EXPECT_EQ(said["to"]["sent"]["acknowledged"], 200'000);
  EXPECT_EQ(said["held"], 0);
  EXPECT_EQ(said["unsettled"], 0);
}

TEST_P(CliRelayWires, large_messages_and_segments_go_on) {
  Process recv(netio_command({"recv", GetParam().to, "--verify", json_option("recv")}));
  const auto relay = this->relay(GetParam().from, recv);
  Process send(netio_command({"send", address_of(*relay), "--size", "300000", "--count", "300",
                              "--verify", "--head", "64"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(relay->wait(), 0) << relay->err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(report("recv")["verification"]["intact"], 300);
  EXPECT_EQ(report("recv")["segmented"], 300);
}

INSTANTIATE_TEST_SUITE_P(wires, CliRelayWires, ::testing::ValuesIn(every_two_wires),
                         [](const auto& wires) {
                           const auto scheme = [](const std::string& address) {
                             return address.substr(0, address.find_first_of("+:"));
                           };
                           return scheme(wires.param.from) + "_to_" + scheme(wires.param.to);
                         });

TEST_F(CliRelay, a_receiver_that_ends_ends_the_relay_and_its_senders) {
  Process recv(netio_command({"recv", any_port, "--count", "1000"}));
  const auto relay = this->relay(any_port, recv);
  Process send(netio_command(
      {"send", address_of(*relay), "--size", "1KiB", "--seconds", "60", json_option("send")}));
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  ASSERT_TRUE(relay->wait()) << relay->err();
  EXPECT_THAT(relay->err(), HasSubstr("has ended"));
  ASSERT_TRUE(send.wait()) << send.err();
  // What was not passed on is no delivery: the sender knows it.
  const auto books = report("send")["books"];
  EXPECT_EQ(books["sent"], books["acknowledged"].get<std::uint64_t>() +
                               books["dropped"].get<std::uint64_t>() +
                               books["in_doubt"].get<std::uint64_t>() +
                               books["unacknowledged"].get<std::uint64_t>());
  EXPECT_EQ(report()["from"]["peers"]["here"], 1);  // the sender, which is told of the end
  EXPECT_EQ(report()["to"]["peers"]["here"], 0);
  const auto there = report()["to"]["sent"]["acknowledged"].get<std::uint64_t>();
  EXPECT_EQ(there, 1000U);
  EXPECT_LE(books["acknowledged"], there);
  EXPECT_GE(books["acknowledged"], there - 100);  // by whole pages
}

TEST_F(CliRelay, one_that_is_killed_takes_nothing_with_it_that_its_sender_thinks_delivered) {
  for (int round = 0; round < 5; ++round) {
    Process recv(netio_command({"recv", any_port, json_option("recv"), "--connect-timeout", "2s"}));
    const auto relay = this->relay("shm://*", recv);
    Process send(netio_command({"send", address_of(*relay), "--size", "200", "--seconds", "60",
                                "--connect-timeout", "2s", json_option("send")}));
    ASSERT_TRUE(relay->wait_for_err("is connected"));
    std::this_thread::sleep_for(std::chrono::milliseconds(150 + 37 * round));
    relay->signal(SIGKILL);
    EXPECT_EQ(relay->wait(), -SIGKILL);
    ASSERT_TRUE(send.wait()) << send.err();
    ASSERT_TRUE(recv.wait()) << recv.err();
    const std::uint64_t known = report("send")["books"]["acknowledged"];
    const std::uint64_t came = report("recv")["books"]["delivered"];
    EXPECT_LE(known, came);
  }
}

TEST_F(CliRelay, an_output_that_is_slower_holds_the_senders_up_in_bounded_memory) {
  Process recv(netio_command({"recv", any_port, "--verify", json_option("recv")}));
  const auto relay = this->relay(any_port, recv);
  Process send(
      netio_command({"send", address_of(*relay), "--size", "4KiB", "--count", "100k", "--verify"}));
  ASSERT_TRUE(relay->wait_for_err("sender tcp"));
  recv.signal(SIGSTOP);
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(relay->running());
  EXPECT_TRUE(send.running());
  recv.signal(SIGCONT);
  EXPECT_EQ(send.wait(60s), 0) << send.err();
  EXPECT_EQ(relay->wait(), 0) << relay->err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(report("recv")["verification"]["intact"], 100'000);
}

TEST_F(CliRelay, published_messages_go_to_who_wants_their_tags) {
  Process pub(netio_command({"pub", any_port, "--tags", "0-9", "--size", "100", "--count", "50k",
                             "--wait-for", "1", "--verify"}));
  const std::string source = address_of(pub);
  Process relay(netio_command({"relay", source, any_port, "--pattern", "publish", "--from",
                               "connect", "--to", "bind", json_option()}));
  const std::string output = address_of(relay);
  Process sub(
      netio_command({"sub", output, "--tag", "3,4", "--policy", "block", json_option("sub")}));
  EXPECT_EQ(pub.wait(), 0) << pub.err();
  EXPECT_EQ(relay.wait(), 0) << relay.err();
  EXPECT_EQ(sub.wait(), 0) << sub.err();
  EXPECT_EQ(report("sub")["books"]["delivered"], 10'000);
  EXPECT_EQ(report()["from"]["received"]["delivered"], 10'000);
}

TEST_F(CliRelay, requests_go_on_and_answers_come_back) {
  Process reply(netio_command({"reply", any_port}));
  const auto relay = this->relay("shm://*", reply, {"--pattern", "request"});
  Process request(netio_command({"request", address_of(*relay), "--text", "what", "--count", "2k",
                                 "--concurrent", "20", "--verify"}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_THAT(request.out(), HasSubstr("2,000 asked: 2,000 answered"));
  EXPECT_TRUE(relay->running());  // who asks comes and goes
  relay->signal(SIGINT);
  EXPECT_EQ(relay->wait(), 130);
  EXPECT_EQ(report()["messages"], 2000);
}

TEST_F(CliRelay, a_pair_is_passed_on_both_ways) {
  Process echo(netio_command({"echo", "shm://*"}));
  const auto relay = this->relay(any_port, echo, {"--pattern", "pair"});
  Process ping(netio_command({"ping", address_of(*relay), "--count", "5", "--interval", "10ms"}));
  EXPECT_EQ(ping.wait(), 0) << ping.err();
  EXPECT_THAT(ping.out(), HasSubstr("5 answered"));
  EXPECT_EQ(relay->wait(), 0) << relay->err();
  EXPECT_EQ(report()["messages"], 10);
}

TEST_F(CliRelay, a_pair_in_full_flow_ends_in_order) {
  Process echo(netio_command({"echo", any_port}));
  const auto relay = this->relay("shm://*", echo, {"--pattern", "pair", "--seconds", "500ms"});
  Process ping(netio_command({"ping", address_of(*relay), "--interval", "0", "--seconds", "30"}));
  EXPECT_EQ(relay->wait(4s), 0) << relay->err();
  EXPECT_GT(report()["messages"], 10);
  EXPECT_EQ(report()["unsettled"], 0);
  ping.signal(SIGINT);
  ASSERT_TRUE(ping.wait());
}

TEST_F(CliRelay, a_message_that_waited_for_a_receiver_is_acknowledged) {
  const std::string later = "shm://" + folder_.path("later");
  Process relay(netio_command({"relay", any_port, later}));
  Process send(netio_command({"send", address_of(relay), "--size", "100", "--count", "1"}));
  ASSERT_TRUE(relay.wait_for_err("is connected"));
  std::this_thread::sleep_for(200ms);
  Process recv(netio_command({"recv", later}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(relay.wait(), 0) << relay.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
}

TEST_F(CliRelay, channels_stand_for_either_side) {
  Process recv(netio_command({"recv", any_port, json_option("recv")}));
  Process relay(netio_command(
      {"relay", "--from-channel", "name=in,type=pull,method=bind,address=tcp://127.0.0.1:0",
       "--to-channel", "name=out,type=push,method=connect,address=" + address_of(recv)}));
  Process send(netio_command({"send", address_of(relay), "--size", "64", "--count", "1000"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(relay.wait(), 0) << relay.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(report("recv")["books"]["delivered"], 1000);
}

TEST_F(CliRelay, a_message_that_nobody_takes_is_dropped_and_told) {
  Process recv(netio_command({"recv", any_port}));
  const auto relay = this->relay(any_port, recv, {"--stay"});
  const std::string input = address_of(*relay);
  Process small(netio_command({"recv", any_port, "--message-max", "1KiB"}));
  Process narrow(netio_command({"relay", any_port, address_of(small), json_option("narrow")}));
  Process send(netio_command({"send", address_of(narrow), "--size", "2KiB", "--count", "3"}));
  EXPECT_EQ(narrow.wait(), 1) << narrow.err();
  EXPECT_THAT(narrow.err(), HasSubstr("dropped a message of 2,048 bytes"));
  EXPECT_THAT(narrow.err(), HasSubstr("error: 3 messages dropped here"));
  EXPECT_EQ(report("narrow")["dropped_here"], 3);
  relay->signal(SIGINT);
  EXPECT_EQ(relay->wait(), 130);
}

TEST_F(CliRelay, a_relay_to_itself_is_refused) {
  Process same(netio_command({"relay", "tcp://127.0.0.1:4711", "tcp://127.0.0.1:4711"}));
  EXPECT_EQ(same.wait(), 2);
  EXPECT_THAT(same.err(), HasSubstr("is FROM as well"));
  const std::string path = "shm://" + folder_.path("loop");
  Process loop(netio_command({"relay", path, "shm:///" + path.substr(6)}));
  EXPECT_EQ(loop.wait(), 2) << loop.err();
  EXPECT_THAT(loop.err(), HasSubstr("leads to FROM"));
}

TEST_F(CliRelay, nobody_there_is_told_within_the_time) {
  Process relay(
      netio_command({"relay", any_port, "tcp://127.0.0.1:1", "--connect-timeout", "200ms"}));
  EXPECT_EQ(relay.wait(), 1);
  EXPECT_THAT(relay.err(), HasSubstr("neither a sender nor a receiver came within 0.200 s"));
  for (const Words& words : {Words{"relay", "inproc://a", any_port},
                             Words{"relay", any_port, any_port, "--more-to", "inproc://a"}}) {
    Process inside(netio_command(words));
    EXPECT_EQ(inside.wait(), 2);
    EXPECT_THAT(inside.err(), HasSubstr("two commands meet at shm://NAME"));
  }
  Process mistaken(netio_command({"relay", any_port}));
  EXPECT_EQ(mistaken.wait(), 2);
  EXPECT_THAT(mistaken.err(), HasSubstr("TO: is needed"));
}

}  // namespace
}  // namespace netio::test
