// The commands with --channel in place of an address: what a channel says is done, what the command
// line says counts before it, and each mistake ends with 2.
#include <csignal>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/cli_support.hpp"

namespace netio::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CliChannels : public ::testing::Test {
 protected:
  [[nodiscard]] std::string json_option(const std::string& name) const {
    return "--json=" + folder_.path(name + ".json");
  }
  [[nodiscard]] nlohmann::json report(const std::string& name) const {
    return read_json(folder_.path(name + ".json"));
  }

  Folder folder_;
};

TEST_F(CliChannels, move_a_file) {
  const std::string file = folder_.write("in", some_bytes(100000));
  Process recv(netio_command({"recv", "--channel",
                              "name=data,type=pull,method=bind,address=tcp://127.0.0.1:0", "--out",
                              folder_.path("out")}));
  Process send(netio_command(
      {"send", "--channel",
       "data:type=push,method=connect,mode=unbuffered,linger=5000,address=" + address_of(recv),
       file, json_option("send")}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_EQ(read_file(folder_.path("out")), read_file(file));
  EXPECT_EQ(report("send")["mode"], "unbuffered");
}

TEST_F(CliChannels, of_files_are_found_by_device_and_name) {
  Process recv(netio_command({"recv", any_port, "--keep", "--senders", "2"}));
  const std::string file = folder_.write("run.json",
                                         R"({"fairMQOptions": {"devices": [
      {"id": "sampler1", "channels": [
        {"name": "data", "type": "push", "method": "connect", "sockets": [
          {"address": ")" + address_of(recv) +
                                             R"("}]},
        {"name": "other", "type": "pull", "method": "bind", "address": "shm://*"}]},
      {"id": "sink1", "channels": []}]}})");
  for (const std::string ending : {":sampler1:data", ":sampler1:data[0]", ":sampler1:"}) {
    Process send(netio_command({"send", "--channel", file + ending, "--count", "10"}));
    EXPECT_EQ(send.wait(), 0) << ending << send.err();
  }
  recv.signal(SIGINT);
  EXPECT_TRUE(recv.wait());
  EXPECT_THAT(recv.out(), HasSubstr("30 messages"));
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"send", "--channel", file}, "say which one is meant: sampler1 and sink1"},
      {{"send", "--channel", file + ":data"}, "say which one is meant"},
      {{"send", "--channel", file + ":sampler1:dta"}, "there is no channel dta"},
      {{"send", "--channel", file + ":sampler1:data[1]"}, "there is no channel data[1]"},
      {{"recv", "--channel", file + ":sampler1:data"}, "is of type push: netio send takes it"},
      {{"pub", "--channel", file + ":sampler1:"}, "none of the channels is of type publish"},
      {{"recv", "--channel", file + ":sampler:"}, "did you mean \"sampler1\"?"},
      {{"recv", "--channel", file + ":sink1:data"}, "there is no channel; add one"},
  };
  for (const auto& [words, text] : wrong) {
    Process process(netio_command(words));
    EXPECT_EQ(process.wait(), 2) << words.back();
    EXPECT_THAT(process.err(), HasSubstr(text)) << words.back();
  }
}

TEST_F(CliChannels, of_several_addresses_are_one_socket) {
  Process recv(netio_command({"recv", "--channel",
                              "name=data,type=pull,method=bind,address=tcp://127.0.0.1:0,"
                              "address=shm://*,rcvBufSize=50",
                              "--senders", "2"}));
  const std::string tcp = address_of(recv);
  const auto shm = recv.line_after("netio recv: listening on shm://");
  ASSERT_TRUE(shm) << recv.err();
  for (const std::string& address : {tcp, "shm://" + *shm}) {
    Process send(netio_command({"send", address, "--count", "10"}));
    EXPECT_EQ(send.wait(), 0) << send.err();
  }
  EXPECT_EQ(recv.wait(), 0) << recv.err();
  EXPECT_THAT(recv.out(), HasSubstr("20 messages"));
  EXPECT_THAT(recv.err(), HasSubstr("channel data: its 2 sub-channels are one socket here"));
  EXPECT_THAT(recv.err(), HasSubstr("channel data: rcvBufSize has no effect: it counts messages"));
}

TEST_F(CliChannels, count_behind_the_command_line) {
  Process recv(netio_command({"recv", "--channel",
                              "name=far,type=pull,method=connect,address=tcp://127.0.0.1:0,"
                              "message_bytes_max=4KiB,linger=1",
                              "--bind", "--name", "near", "--senders", "2"}));
  const std::string address = address_of(recv);
  Process large(netio_command({"send", "--channel", "a:type=push,method=connect,address=" + address,
                               "--size", "8KiB", "--count", "1"}));
  EXPECT_NE(large.wait(), 0);
  EXPECT_THAT(large.err(), HasSubstr("too big"));
  Process send(netio_command({"send", "--channel",
                              "a:type=push,method=connect,mode=unbuffered,address=" + address,
                              "--mode", "buffered", "--count", "1", json_option("send")}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(report("send")["mode"], "buffered");
  EXPECT_TRUE(recv.wait());
  EXPECT_THAT(recv.err(), HasSubstr("linger has no effect"));
}

TEST_F(CliChannels, publish_and_subscribe) {
  Process pub(netio_command({"pub", "--channel",
                             "news:type=pub,method=bind,address=tcp://127.0.0.1:0,"
                             "subscribers_min=1",
                             "--tags", "0-9", "--count", "100"}));
  Process sub(netio_command(
      {"sub", "--channel",
       "news:type=sub,method=connect,policy=block,tags=3;7-8,address=" + address_of(pub),
       json_option("sub")}));
  EXPECT_EQ(pub.wait(), 0) << pub.err();
  EXPECT_EQ(sub.wait(), 0) << sub.err();
  EXPECT_EQ(report("sub")["messages"], 30);
  EXPECT_THAT(sub.err(), HasSubstr("policy block"));
}

TEST_F(CliChannels, ask_and_answer) {
  Process reply(netio_command({"reply", "--channel",
                               "service:type=rep,method=bind,open_max=4,address=tcp://127.0.0.1:0",
                               "--text", "running", "--count", "1"}));
  Process request(netio_command({"request", "--channel",
                                 "service:type=req,method=connect,address=" + address_of(reply),
                                 folder_.write("question", "status?")}));
  EXPECT_EQ(request.wait(), 0) << request.err();
  EXPECT_EQ(request.out(), "running");
  EXPECT_EQ(reply.wait(), 0) << reply.err();
}

// Both ends say transport=shmem, as FairMQ's devices do, and meet in shared memory.
TEST_F(CliChannels, meet_in_shared_memory_by_the_port) {
  const std::string port = std::to_string(20000 + ::getpid() % 40000);
  Process recv(netio_command({"recv", "--channel",
                              "data:type=pull,method=bind,transport=shmem,address=tcp://*:" + port,
                              "--count", "10"}));
  EXPECT_EQ(address_of(recv), "shm://port-" + port);
  Process send(netio_command(
      {"send", "--channel",
       "data:type=push,method=connect,transport=shmem,address=tcp://localhost:" + port, "--count",
       "10"}));
  EXPECT_EQ(send.wait(), 0) << send.err();
  EXPECT_EQ(recv.wait(), 0) << recv.err();
}

TEST_F(CliChannels, say_their_rate_as_often_as_they_are_told) {
  Process recv(netio_command({"recv", any_port}));
  Process send(netio_command(
      {"send", "--channel", "a:type=push,method=connect,rateLogging=0,address=" + address_of(recv),
       "--size", "64", "--seconds", "1500ms", "--rate", "1k"}));
  EXPECT_EQ(send.wait(), 0);
  EXPECT_EQ(recv.wait(), 0);
  EXPECT_THAT(recv.err(), HasSubstr("messages/s"));
  EXPECT_THAT(send.err(), Not(HasSubstr("messages/s")));
}

TEST_F(CliChannels, that_make_no_sense_end_with_2_and_say_why) {
  const std::string empty = folder_.write("empty.json", "");
  const std::string text = folder_.write("text.json", "name=data");
  const auto pull = [](const std::string& more) {
    return Words{"recv", "--channel", "name=data,type=pull,method=bind,address=shm://x" + more};
  };
  std::vector<std::pair<Words, std::string>> cases = {
      {pull(",adress=x"),
       "channel \"data\": there is no key \"adress\"; did you mean \"address\"?"},
      {pull(",flush_after=10xs"), "flush_after: \"10xs\" is not a time"},
      {pull(",policy=block"), "policy: is for a channel of type sub"},
      {pull(","), "a comma with nothing"},
      {{"recv", "--channel", "name=data,type=pull"}, "the address is missing"},
      {{"recv", "--channel", "name=data,type=push,method=bind,address=shm://x"},
       "the channel data is of type push: netio send takes it"},
      {{"recv", "--channel", "a:type=pull,method=bind,address=inproc://x"}, "shm://NAME"},
      {{"recv", "--channel", folder_.path("absent.json")}, "No such file"},
      {{"recv", "--channel", folder_.path("absent.json") + ":a:b"}, "No such file"},
      {{"recv", "--channel", empty}, "it is empty"},
      {{"recv", "--channel", text}, "line 1, column 2: this is no JSON"},
      {{"recv", "--channel", "tcp://*:5555"}, "\"tcp://*:5555\" is an address"},
      {{"recv", "--channel"}, "--channel"},
      {{"sub", "--channel", "a:type=sub,method=bind,address=shm://x,tags=none"}, "with --tag"},
  };
  Words both = pull("");
  both.insert(both.begin() + 1, "tcp://127.0.0.1:1");
  cases.emplace_back(both, "either a channel or ADDRESS, not both");
  for (const auto& [words, said] : cases) {
    Process process(netio_command(words));
    EXPECT_EQ(process.wait(), 2) << ::testing::PrintToString(words);
    EXPECT_THAT(process.err(), HasSubstr(said)) << ::testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace netio::test
