// netio:// addresses on the command line: which wire was taken, and why no better one.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
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

}  // namespace
}  // namespace netio::test
