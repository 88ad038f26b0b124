// netio:// addresses on the command line: which wire was taken, and why no better one.
#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CliWire : public ::testing::Test {
 protected:
  // What a sender to this address reports.
  nlohmann::json send(const std::string& listen_at, const std::string& options) {
    Process recv(netio_command({"recv", listen_at, "--json=" + folder_.path("recv.json")}));
    const std::string address = address_of(recv);
    Process sender(netio_command({"send", address + options, "--size", "100", "--count", "10",
                                  "--json=" + folder_.path("send.json")}));
    EXPECT_EQ(sender.wait(), 0) << sender.err();
    EXPECT_EQ(recv.wait(), 0) << recv.err();
    said_ = sender.err();
    return read_json(folder_.path("send.json")).at("per_peer").at(0);
  }
  nlohmann::json received() { return read_json(folder_.path("recv.json")).at("per_peer").at(0); }

  Folder folder_;
  std::string said_;
};

TEST_F(CliWire, is_noted_and_reported) {
  const nlohmann::json peer = send("netio://127.0.0.1:0", "");
  EXPECT_EQ(peer.at("wire"), "shm");
  EXPECT_EQ(peer.at("wire_reason"), "");
  EXPECT_THAT(said_, HasSubstr(" goes over shm\n"));
  EXPECT_EQ(received().at("wire"), "shm");
  EXPECT_THAT(received().at("address").get<std::string>(), StartsWith("netio://127.0.0.1:"));
}

TEST_F(CliWire, is_reported_with_the_reason_why_it_is_no_better_one) {
  const nlohmann::json peer = send("netio://127.0.0.1:0?wire=tcp", "");
  EXPECT_EQ(peer.at("wire"), "tcp");
  EXPECT_EQ(peer.at("wire_reason"), "the other end offers no other wire");
  EXPECT_THAT(said_, HasSubstr(" goes over tcp (the other end offers no other wire)\n"));
  EXPECT_EQ(received().at("wire"), "tcp");
}

TEST_F(CliWire, may_be_asked_for) {
  const nlohmann::json peer = send("netio://127.0.0.1:0", "?wire=tcp");
  EXPECT_EQ(peer.at("wire"), "tcp");
  EXPECT_EQ(peer.at("wire_reason"), "tcp was asked for");
}

#ifdef NETIO_WITH_FABRIC
TEST_F(CliWire, without_a_ring_that_was_asked_for_is_noted) {
  const nlohmann::json peer = send(any_fabric_port, "?engine=ring");
  EXPECT_EQ(peer.at("wire"), "ofi+tcp");
  EXPECT_THAT(said_, HasSubstr(" goes over ofi+tcp (the other side has no ring"));
}
#endif

TEST_F(CliWire, is_foreseen_by_info) {
  Process recv(netio_command({"recv", "netio://127.0.0.1:0", "--name", "unit 7"}));
  const std::string address = address_of(recv);
  Process info(netio_command({"info", address}));
  EXPECT_EQ(info.wait(), 0) << info.err();
  EXPECT_THAT(info.out(), HasSubstr("pull, named \"unit 7\"\n"));
  EXPECT_THAT(info.out(), HasSubstr("wires there      tcp, shm"));
  EXPECT_THAT(info.out(), HasSubstr("wire from here   shm\n"));
  Process json(netio_command({"info", address + "?wire=tcp", "--json"}));
  EXPECT_EQ(json.wait(), 0) << json.err();
  const auto said = nlohmann::json::parse(json.out(), nullptr, false);
  ASSERT_FALSE(said.is_discarded()) << json.out();
  EXPECT_EQ(said["outcome"], "done");
  EXPECT_EQ(said["answer"]["pattern"], "pull");
  EXPECT_EQ(said["answer"]["wire"], "tcp");
  EXPECT_EQ(said["answer"]["wire_reason"], "tcp was asked for");
  EXPECT_GT(said["answer"]["round_trip_us"], 0);
  recv.signal(SIGINT);
  EXPECT_EQ(recv.wait(), 130);
  EXPECT_THAT(recv.err(), Not(HasSubstr("turned away"))) << "it is not told of questions";
}

TEST_F(CliWire, of_nobody_is_an_error_of_info_and_said_in_time) {
  const RawListener silent;
  const std::string address = "netio" + silent.address().substr(3);
  const std::string json = folder_.path("info.json");
  Process info(netio_command({"info", address, "--within", "200ms", "--json=" + json}));
  EXPECT_EQ(info.wait(), 1);
  EXPECT_THAT(info.err(), HasSubstr("no netio answers at " + address + ": did not answer in time"));
  EXPECT_THAT(info.err(), HasSubstr("said nothing: is it netio"));
  EXPECT_EQ(read_json(json)["answered"], false);
  EXPECT_EQ(read_json(json)["exit_code"], 1);
  Process nonsense(netio_command({"info", "netio://127.0.0.1:5000?wire=x"}));
  EXPECT_EQ(nonsense.wait(), 2);
  Process inside(netio_command({"info", "inproc://name"}));
  EXPECT_EQ(inside.wait(), 2);
  EXPECT_THAT(inside.err(), HasSubstr("between threads of one process"));
  Process unasked(netio_command({"info", "--within", "1s"}));
  EXPECT_EQ(unasked.wait(), 2) << unasked.out();
}

}  // namespace
}  // namespace netio::test
