// Channels in JSON: FairMQ's files and short ones, and each mistake with the line it is in.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netio/channels.hpp>

namespace netio {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

const std::string two_devices = R"({
  "fairMQOptions": {
    "devices": [
      {"id": "sampler1", "channels": [
        {"name": "data", "sockets": [
          {"type": "push", "method": "bind", "address": "tcp://*:5555",
           "sndBufSize": 1000, "linger": "500", "numSockets": 0, "autoBind": false,
           "rateLogging": 1}]}]},
      {"key": "processor", "id": "other", "channels": [
        {"name": "data", "type": "pull", "method": "connect", "rcvBufSize": 10,
         "message_bytes_max": "1MiB", "sockets": [
          {"address": "tcp://localhost:5555"},
          {"address": "tcp://localhost:5556", "message_bytes_max": 4096, "method": "bind"}]},
        {"name": "out", "type": "pub", "method": "bind", "address": "tcp://*:5557"}]}
    ]
  }
})";

std::string json_error(const std::string& text, const std::string& device = {}) {
  try {
    (void)parse_channels_json(text, device, "run.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

// A file with one channel, which has these members.
std::string with_channel(const std::string& members) {
  return "{\"channels\": [\n{" + members + "}\n]}";
}

std::string channel_error(const std::string& members) { return json_error(with_channel(members)); }

const std::string good = R"("name": "a", "type": "pull", "method": "bind", "address": "shm://x")";

TEST(ChannelFiles, of_fairmq_are_read_by_device) {
  const auto sampler = parse_channels_json(two_devices, "sampler1");
  ASSERT_THAT(sampler, SizeIs(1));
  EXPECT_EQ(sampler[0].pattern, ChannelPattern::push);
  EXPECT_EQ(sampler[0].linger, std::chrono::milliseconds(500));
  EXPECT_EQ(sampler[0].rate_every, std::chrono::seconds(1));
  EXPECT_THAT(sampler[0].remarks, SizeIs(1));
  const auto processor = parse_channels_json(two_devices, "processor");
  ASSERT_THAT(processor, SizeIs(3));
  EXPECT_EQ(processor[0].socket.message_bytes_max, 1U << 20U);
  EXPECT_EQ(processor[1].index, 1U);
  EXPECT_EQ(processor[1].socket.message_bytes_max, 4096U);
  EXPECT_THAT(processor[1].endpoints, ElementsAre(ChannelEndpoint{"tcp://localhost:5556", true}));
  EXPECT_EQ(processor[2].name, "out");
}

TEST(ChannelFiles, without_devices_are_for_everybody) {
  const auto channels =
      parse_channels_json(with_channel(good + R"(, "flush_when_idle": true)"), "whoever");
  ASSERT_THAT(channels, SizeIs(1));
  EXPECT_THAT(
      parse_channels_json(
          with_channel(
              R"("name": "a", "type": "sub", "method": "bind", "address": "shm://x", "tags": [7, "3-5"])"))
          .at(0)
          .tags,
      ElementsAre(TagRange{7, 7}, TagRange{3, 5}));
}

TEST(ChannelFiles, that_are_no_json_say_the_line_and_the_column) {
  EXPECT_THAT(json_error("{\n  \"channels\": [\n    {\"name\": \"a\",}\n]}"),
              AllOf(StartsWith("run.json, line 3, column 18: this is no JSON: syntax error"),
                    HasSubstr("a comma too many")));
  EXPECT_THAT(json_error("{\"channels\": ["), StartsWith("run.json, line 1, column 1"));
  EXPECT_THAT(json_error("{\"channels\": [}"), HasSubstr("this is no JSON"));
  EXPECT_THAT(json_error("{\"channels\": []]}"), HasSubstr("this is no JSON"));
  EXPECT_THAT(json_error("{\"channels\": []} x"), HasSubstr("this is no JSON"));
  EXPECT_THAT(json_error("name=data,type=push"), HasSubstr("this is no JSON"));
  EXPECT_THAT(json_error("{\"channels\": \"\xff\"}"), HasSubstr("this is no JSON"));
  EXPECT_THAT(json_error("{\"channels\": 1e999}"), HasSubstr("this is no JSON"));
  EXPECT_THAT(json_error("{\"channels\": \"\x1b[2J"), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(json_error(std::string(100000, '[')), HasSubstr("more than 32 brackets"));
}

TEST(ChannelFiles, of_another_shape_say_what_is_where) {
  EXPECT_THAT(json_error(""), HasSubstr("it is empty"));
  EXPECT_THAT(json_error(" \n\n"), HasSubstr("it is empty"));
  EXPECT_THAT(json_error("[]"), HasSubstr("is an array; it must be an object"));
  EXPECT_THAT(json_error("7"), HasSubstr("is a number; it must be an object"));
  EXPECT_THAT(json_error("null"), HasSubstr("is null; it must be an object"));
  EXPECT_THAT(json_error("{}"), HasSubstr("there is no \"fairMQOptions\""));
  EXPECT_THAT(json_error("{\"chanels\": []}"), HasSubstr("there is no"));
  EXPECT_THAT(json_error("{\"fairMQOption\": {}}"),
              HasSubstr("is \"fairMQOption\" meant to be it?"));
  EXPECT_THAT(json_error("{\"fairMQOptions\": []}"), HasSubstr("it must be an object"));
  EXPECT_THAT(json_error("{\"fairMQOptions\": {\"device\": []}}"),
              HasSubstr("is \"device\" meant to be it?"));
  EXPECT_THAT(json_error("{\"fairMQOptions\": {\"devices\": {}}}"),
              HasSubstr("is an object; it must be an array"));
  EXPECT_THAT(json_error("{\"fairMQOptions\": {\"devices\": []}}"),
              HasSubstr("there is no device"));
  EXPECT_THAT(json_error("{\"fairMQOptions\": {\"devices\": [7]}}"), HasSubstr("\"a device\""));
  EXPECT_THAT(json_error("{\"fairMQOptions\": {\"devices\": [{}]}}"), HasSubstr("has no \"id\""));
  EXPECT_THAT(json_error("{\"fairMQOptions\": {\"devices\": [{\"id\": 7}]}}"),
              HasSubstr("it must be a string"));
  EXPECT_THAT(json_error("{\"fairMQOptions\": {\"devices\": [{\"id\": \"a\", \"chanels\": []}]}}"),
              HasSubstr("is \"chanels\" meant to be it?"));
  EXPECT_THAT(json_error("{\"channels\": {}}"), HasSubstr("it must be an array"));
  EXPECT_THAT(json_error("{\"channels\": []}"), HasSubstr("there is no channel"));
  EXPECT_THAT(json_error("{\"channels\": [\n\n7]}"),
              HasSubstr("line 3: \"a channel\" is a number"));
  EXPECT_THAT(json_error("{\"channels\": [{}]}"), HasSubstr("there is no \"name\""));
  EXPECT_THAT(json_error("{\"channels\": [{\"name\": 7}]}"), HasSubstr("it must be a string"));
}

TEST(ChannelFiles, say_which_device_is_meant) {
  EXPECT_THAT(json_error(two_devices), HasSubstr("there are 2 devices; say which one is meant: "
                                                 "sampler1 and processor"));
  EXPECT_THAT(json_error(two_devices, "sampler2"), HasSubstr("did you mean \"sampler1\"?"));
  EXPECT_THAT(json_error(R"({"fairMQOptions": {"devices": [{"id": "a"},{"id": "\u001b[2J"}]}})"),
              HasSubstr("a and ?[2J"));
  EXPECT_THAT(json_error(two_devices, "other"), HasSubstr("there is no device \"other\""));
  EXPECT_THAT(json_error(R"({"fairMQOptions": {"devices": [{"id": "a"},{"key": "a"}]}})", "a"),
              HasSubstr("there are two devices \"a\""));
}

TEST(ChannelFiles, with_mistakes_say_the_line_and_the_channel) {
  EXPECT_THAT(channel_error(good + ",\n\"adress\": 7"),
              StartsWith("run.json, line 3: channel \"a\": there is no key \"adress\"; did you "
                         "mean \"address\"?"));
  EXPECT_THAT(channel_error(good + ",\n\n\"flush_after\": \"10xs\""),
              StartsWith("run.json, line 4: channel \"a\": flush_after: \"10xs\" is not a time"));
  EXPECT_THAT(channel_error(good + ",\n\"peers_max\": 1.5\n"),
              StartsWith("run.json, line 3: channel \"a\": peers_max: \"1.5\" is not a count"));
  EXPECT_THAT(channel_error(good + ", \"mode\": {}"),
              HasSubstr("\"mode\" is an object; it must be"));
  EXPECT_THAT(channel_error(good + ", \"mode\": null"), HasSubstr("\"mode\" is null; it must be"));
  EXPECT_THAT(channel_error(good + ", \"tags\": [[1]]"), HasSubstr("must be a string"));
  EXPECT_THAT(channel_error(good + ", \"peers_max\": 1.5"), HasSubstr("\"1.5\" is not a count"));
  EXPECT_THAT(channel_error(good + ", \"peers_max\": 99999999999999999999999"),
              HasSubstr("peers_max: "));
  EXPECT_THAT(channel_error(good + ", \"peers_max\": true"), HasSubstr("\"true\" is not a count"));
  EXPECT_THAT(channel_error(good + ", \"type\": \"pull\""), HasSubstr("type is given twice"));
  EXPECT_THAT(channel_error(good + ", \"name\": \"b\""), HasSubstr("name is given twice"));
  EXPECT_THAT(channel_error(good + ", \"sockets\": {}"), HasSubstr("it must be an array"));
  EXPECT_THAT(channel_error(good + ", \"sockets\": [7]"), HasSubstr("\"a socket\" is a number"));
  EXPECT_THAT(channel_error(good + ", \"sockets\": [], \"sockets\": []"),
              HasSubstr("\"sockets\" is given twice"));
  EXPECT_THAT(channel_error(good + ", \"socket\": []"), HasSubstr("did you mean \"sockets\"?"));
  EXPECT_THAT(channel_error(good + ", \"sockets\": [{\"name\": \"b\"}]"),
              HasSubstr("a socket has a name"));
  EXPECT_THAT(channel_error(good + ", \"sockets\": [{\"numSockets\": 2}]"),
              HasSubstr("numSockets stands in a socket"));
  EXPECT_THAT(
      channel_error(good + R"(, "sockets": [{"address": "shm://a", "address": "shm://b"}])"),
      HasSubstr("write a socket for each"));
  EXPECT_THAT(channel_error("\"name\": \"a\", \"type\": \"pull\", \"method\": \"bind\""),
              HasSubstr("the address is missing"));
  EXPECT_THAT(json_error("{\"channels\": [{" + good + "},\n{" + good + "}]}"),
              StartsWith("run.json: channel \"a\": there are two channels of this name"));
}

TEST(ChannelFiles, that_cannot_be_read_say_why) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("netio_channels_" + std::to_string(::getpid()) + ".json");
  const auto file_error = [](const std::string& name) {
    try {
      (void)read_channels(name);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(file_error("/nowhere/run.json"), HasSubstr("No such file"));
  EXPECT_THAT(file_error(std::filesystem::temp_directory_path()), HasSubstr("Is a directory"));
  std::ofstream(path) << "";
  EXPECT_THAT(file_error(path), HasSubstr("it is empty"));
  std::ofstream(path) << with_channel(good);
  EXPECT_THAT(read_channels(path), SizeIs(1));
  std::filesystem::resize_file(path, std::uintmax_t{17} << 20U);
  EXPECT_THAT(file_error(path), HasSubstr("larger than 16 MiB"));
  std::filesystem::remove(path);
}

// Whatever stands in a file, the answer is a list or an Error.
TEST(ChannelFiles, cut_off_or_changed_anywhere_are_answered) {
  for (std::size_t i = 0; i < two_devices.size(); ++i) {
    EXPECT_NO_FATAL_FAILURE((void)json_error(two_devices.substr(0, i), "processor"));
    std::string changed = two_devices;
    for (const char c : {'{', ']', '"', ',', ':', '\0', '\xff', '9', '\\'}) {
      changed[i] = c;
      EXPECT_NO_FATAL_FAILURE((void)json_error(changed, "processor"));
    }
  }
}

}  // namespace
}  // namespace netio
