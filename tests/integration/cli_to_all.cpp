// `netio send --to-all`: each message to every receiver, and the summary says to how many.
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;

class CliToAll : public ::testing::Test {
 protected:
  // A receiver that connects, with these words more. Its output and its report are in files of its
  // number.
  void receive(const std::string& address, const Words& more = {}) {
    const std::string number = std::to_string(receivers_.size());
    Words words = {"recv",      address,
                   "--out",     folder_.path("received" + number),
                   "--connect", "--json=" + folder_.path("recv" + number)};
    words.insert(words.end(), more.begin(), more.end());
    receivers_.push_back(std::make_unique<Process>(netio_command(words)));
  }
  std::string received(std::size_t number) {
    return read_file(folder_.path("received" + std::to_string(number)));
  }
  void expect_receivers_end_well() {
    for (const auto& recv : receivers_) EXPECT_EQ(recv->wait(), 0) << recv->err();
  }

  Folder folder_;
  std::vector<std::unique_ptr<Process>> receivers_;
};

TEST_F(CliToAll, every_receiver_gets_every_message) {
  const std::string json = folder_.path("send.json");
  const std::string text = "run 42 starts\none\ntwo\nthree\nrun 42 ends\n";
  for (const char* const mode : {"buffered", "unbuffered"}) {
    Process send(
        netio_command({"send", any_port, folder_.write("input", text), "--frame", "line", "--bind",
                       "--to-all", "--wait-for", "3", "--mode", mode, "--json=" + json}));
    const std::string address = address_of(send);
    receivers_.clear();
    for (int i = 0; i < 3; ++i) receive(address);
    EXPECT_EQ(send.wait(), 0) << send.err();
    EXPECT_THAT(send.out(), HasSubstr("to all     each message to 3 receivers\n"));
    expect_receivers_end_well();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(received(i), text);
    const auto report = read_json(json);
    EXPECT_EQ(report["messages"], 5);
    EXPECT_EQ(report["books"]["sent"], 15);
    EXPECT_EQ(report["books"]["acknowledged"], 15);
    EXPECT_EQ(report["to_all"]["receivers_min"], 3);
    EXPECT_EQ(report["to_all"]["receivers_max"], 3);
    EXPECT_EQ(report["to_all"]["away_max"], 0);
  }
}

TEST_F(CliToAll, large_messages_of_a_load_are_whole_at_every_receiver) {
  for (const char* const mode : {"buffered", "unbuffered"}) {
    Process send(netio_command({"send", any_port, "--size", "1MiB", "--count", "20", "--verify",
                                "--bind", "--to-all", "--wait-for", "2", "--mode", mode}));
    const std::string address = address_of(send);
    receivers_.clear();
    for (int i = 0; i < 2; ++i) receive(address, {"--verify"});
    EXPECT_EQ(send.wait(), 0) << send.err();
    expect_receivers_end_well();
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(received(i).size(), 20U << 20U);
  }
}

TEST_F(CliToAll, what_one_receiver_cannot_take_goes_to_nobody) {
  Process send(netio_command({"send", any_port, "--size", "2KiB", "--count", "1", "--bind",
                              "--to-all", "--wait-for", "2"}));
  const std::string address = address_of(send);
  receive(address);
  receive(address, {"--message-max", "1KiB"});
  EXPECT_EQ(send.wait(), 1) << send.err();
  EXPECT_THAT(send.err(), HasSubstr("the receiver takes up to 1 KiB"));
  for (std::size_t i = 0; i < 2; ++i) {
    receivers_[i]->wait();
    EXPECT_EQ(received(i), "");
  }
}

TEST_F(CliToAll, wait_for_holds_without_it_too) {
  const std::string json = folder_.path("send.json");
  Process send(netio_command({"send", any_port, "--size", "100", "--count", "10", "--bind",
                              "--wait-for", "2", "--json=" + json}));
  const std::string address = address_of(send);
  receive(address);
  EXPECT_TRUE(send.wait_for_err("connected to ")) << send.err();
  EXPECT_TRUE(send.running());
  receive(address);
  EXPECT_EQ(send.wait(), 0) << send.err();
  expect_receivers_end_well();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(received(i).size(), 500U);
  EXPECT_FALSE(read_json(json).contains("to_all"));
}

// A receiver that ends in order leaves nothing in doubt, but it was one of those waited for.
TEST_F(CliToAll, fewer_than_were_waited_for_is_no_success) {
  const std::string json = folder_.path("send.json");
  Process send(netio_command({"send", any_port, "--frame", "line", "--bind", "--to-all",
                              "--wait-for", "2", "--json=" + json}));
  const std::string address = address_of(send);
  receive(address, {"--count", "1"});
  receive(address);
  send.feed("one\n");
  EXPECT_EQ(receivers_[0]->wait(), 0) << receivers_[0]->err();
  EXPECT_TRUE(send.wait_for_err("has ended")) << send.err();
  send.feed("two\n");
  send.end_input();
  EXPECT_EQ(send.wait(), 3) << send.err();
  EXPECT_THAT(send.err(),
              HasSubstr("some messages went to 1 of the 2 receivers that were waited for"));
  EXPECT_THAT(send.out(), HasSubstr("to all     each message to 1 to 2 receivers\n"));
  EXPECT_EQ(receivers_[1]->wait(), 0) << receivers_[1]->err();
  EXPECT_EQ(received(0), "one\n");
  EXPECT_EQ(received(1), "one\ntwo\n");
}

// As many are told at the end as were told when they came, however many that were in this time.
TEST_F(CliToAll, too_few_receivers_within_the_time_end_it) {
  Process send(netio_command({"send", any_port, "--size", "1KiB", "--count", "5", "--bind",
                              "--to-all", "--wait-for", "3", "--connect-timeout", "3s"}));
  const std::string address = address_of(send);
  receive(address);
  receive(address);
  EXPECT_EQ(send.wait(), 1) << send.err();
  const auto came = [&](int many) {
    return send.err().find(": " + std::to_string(many) + " of 3 receivers\n") != std::string::npos;
  };
  const std::string at = std::string(" at ") + any_port + " within 3.000 s";
  const std::string cause = came(2)   ? "only 2 of 3 receivers"
                            : came(1) ? "only 1 of 3 receivers"
                                      : "no peer";
  EXPECT_THAT(send.err(), HasSubstr("error: " + cause + at));
  EXPECT_THAT(send.err(), HasSubstr("--connect-timeout waits longer"));
  EXPECT_THAT(send.out(), HasSubstr("to all     no message was sent\n"));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(receivers_[i]->wait().has_value());
    EXPECT_EQ(received(i), "");
  }
}

// Receivers that go are not waited for by another limit than the one that was given: here none.
TEST_F(CliToAll, receivers_that_go_do_not_end_the_waiting) {
  Process send(netio_command({"send", any_port, "--size", "1KiB", "--count", "5", "--bind",
                              "--wait-for", "3", "--resume", "1MiB", "--resume-within", "100ms"}));
  const std::string address = address_of(send);
  receive(address, {"--seconds", "50ms"});
  EXPECT_TRUE(send.wait_for_err("has ended")) << send.err();
  receive(address);
  receive(address);
  EXPECT_TRUE(send.wait_for_err(": 2 of 3 receivers")) << send.err();
  EXPECT_TRUE(send.wait_for_err("2 of 3 receivers (--wait-for)")) << send.err();
  receive(address);
  EXPECT_EQ(send.wait(), 0) << send.err();
  expect_receivers_end_well();
}

TEST_F(CliToAll, a_publisher_waits_no_longer_than_it_was_told_either) {
  Process pub(netio_command({"pub", any_port, "--size", "1KiB", "--count", "5", "--bind",
                             "--wait-for", "2", "--connect-timeout", "3s"}));
  const std::string address = address_of(pub);
  Process sub(netio_command({"sub", address, "--out", "/dev/null"}));
  EXPECT_EQ(pub.wait(), 1) << pub.err();
  const bool came = pub.err().find("wants all tags: 1 of 2 subscribers\n") != std::string::npos;
  const std::string at = std::string(" at ") + any_port + " within 3.000 s";
  EXPECT_THAT(pub.err(),
              HasSubstr((came ? "error: only 1 of 2 subscribers" : "error: no peer") + at));
  EXPECT_TRUE(sub.wait().has_value());
}

// A publisher that waits for nobody has met nobody if nobody comes.
TEST_F(CliToAll, a_publisher_that_waits_for_nobody_meets_nobody) {
  Process echo(netio_command({"echo", any_port}));
  Process pub(netio_command({"pub", address_of(echo), "--connect", "--wait-for", "0", "--size",
                             "1KiB", "--rate", "100", "--seconds", "30s"}));
  EXPECT_EQ(pub.wait(), 1) << pub.err();
  EXPECT_THAT(pub.err(), HasSubstr("error: no peer at "));
  echo.signal(SIGTERM);
  EXPECT_TRUE(echo.wait().has_value());
}

}  // namespace
}  // namespace netio::test
