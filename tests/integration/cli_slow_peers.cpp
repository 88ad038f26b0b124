// Commands name the peer that holds them up or loses messages, while it happens and in reports.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;

class CliSlowPeers : public ::testing::Test {
 protected:
  std::string json(const std::string& name) const {
    return "--json=" + folder_.path(name + ".json");
  }
  nlohmann::json report(const std::string& name) const {
    return read_json(folder_.path(name + ".json"));
  }
  // The peers of a report that lost or dropped something; all together they are its books.
  std::vector<nlohmann::json> losing(const nlohmann::json& report, const char* key) const {
    std::uint64_t sum = 0;
    std::vector<nlohmann::json> found;
    for (const nlohmann::json& peer : report["per_peer"]) {
      sum += peer[key].get<std::uint64_t>();
      if (peer[key] != 0) found.push_back(peer);
    }
    EXPECT_EQ(sum, report["books"][key].get<std::uint64_t>()) << report;
    EXPECT_EQ(report["peers_left_out"], 0);
    return found;
  }

  Folder folder_;
};

TEST_F(CliSlowPeers, a_publisher_names_who_drops) {
  Process publisher(netio_command(
      {"pub", any_port, json("pub"), "--size", "4KiB", "--rate", "20k", "--wait-for", "2"}));
  const std::string address = address_of(publisher);
  Process slow(netio_command({"sub", address, json("slow"), "--behind", "64KiB"}));
  Process whole(netio_command({"sub", address, "--policy", "block"}));
  EXPECT_TRUE(slow.wait_for_err("policy drop_new")) << slow.err();
  EXPECT_TRUE(whole.wait_for_err("policy block")) << whole.err();
  slow.signal(SIGSTOP);
  // The first may tell of what was dropped before, for a subscriber that has caught up since. For
  // the next one the publisher has looked at a subscriber that is stopped.
  EXPECT_TRUE(publisher.wait_for_new_err("netio pub: dropped ", 2)) << publisher.err();
  slow.signal(SIGCONT);
  EXPECT_TRUE(slow.wait_for_err("of " + address + " on: dropped as new")) << slow.err();
  publisher.signal(SIGINT);
  EXPECT_EQ(publisher.wait(), 130) << publisher.err();
  EXPECT_EQ(slow.wait(), 0) << slow.err();
  EXPECT_EQ(whole.wait(), 0) << whole.err();

  const nlohmann::json published = report("pub");
  ASSERT_EQ(published["per_peer"].size(), 2U) << published;
  const auto dropping = losing(published, "dropped");
  ASSERT_EQ(dropping.size(), 1U);
  const nlohmann::json& one = dropping[0];
  EXPECT_EQ(one["policy"], "drop_new");
  EXPECT_EQ(one["dropped_by"]["dropped_as_new"], one["dropped"]);
  EXPECT_GT(one["behind_seconds_longest"].get<double>(), 0.0);
  const std::string name = one["address"].get<std::string>() + " (policy drop_new)";
  EXPECT_THAT(publisher.err(), HasSubstr(" for " + name));
  EXPECT_THAT(publisher.out(), HasSubstr("slow        " + name + ": "));
  // And at the other end.
  const auto missing = losing(report("slow"), "missed");
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0]["address"], address);
  EXPECT_EQ(missing[0]["missed"], one["dropped"]);
  EXPECT_THAT(slow.out(), HasSubstr("missed     " + address + ": "));
  EXPECT_THAT(whole.out(), ::testing::Not(HasSubstr("missed     ")));
}

TEST_F(CliSlowPeers, a_publisher_names_who_holds_it_up) {
  Process publisher(netio_command({"pub", any_port, json("pub"), "--size", "4KiB"}));
  Process subscriber(netio_command({"sub", address_of(publisher), "--policy", "block"}));
  EXPECT_TRUE(subscriber.wait_for_err("from number 0 on")) << subscriber.err();
  subscriber.signal(SIGSTOP);
  EXPECT_TRUE(
      publisher.wait_for_err("held up by a subscriber with --policy block: tcp://127.0.0.1:"))
      << publisher.err();
  EXPECT_TRUE(publisher.wait_for_err("(policy block) is behind for ")) << publisher.err();
  subscriber.signal(SIGCONT);
  publisher.signal(SIGINT);
  EXPECT_EQ(publisher.wait(), 130) << publisher.err();
  EXPECT_EQ(subscriber.wait(), 0) << subscriber.err();
  const nlohmann::json published = report("pub");
  EXPECT_EQ(losing(published, "acknowledged").size(), 1U);
  EXPECT_GT(published["per_peer"][0]["behind_seconds"].get<double>(), 0.5);
}

TEST_F(CliSlowPeers, a_sender_names_the_receiver_that_takes_nothing) {
  Process receiver(netio_command({"recv", any_port}));
  const std::string address = address_of(receiver);
  Process sender(netio_command({"send", address, json("send"), "--size", "4KiB"}));
  EXPECT_TRUE(receiver.wait_for_err("messages/s")) << receiver.err();
  receiver.signal(SIGSTOP);
  EXPECT_TRUE(sender.wait_for_err("held up by " + address)) << sender.err();
  EXPECT_TRUE(sender.wait_for_err("netio send: " + address + " is behind for ")) << sender.err();
  receiver.signal(SIGCONT);
  sender.signal(SIGINT);
  EXPECT_EQ(sender.wait(), 130) << sender.err();
  EXPECT_EQ(receiver.wait(), 0) << receiver.err();
  EXPECT_THAT(sender.out(), HasSubstr("slow       " + address + ": "));
  EXPECT_EQ(losing(report("send"), "sent").size(), 1U);
}

}  // namespace
}  // namespace netio::test
