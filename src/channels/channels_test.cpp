// Sockets made of channels, on real wires, and command lines that describe them.
#include <string>
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

std::vector<ChannelConfig> channels_of(const std::vector<std::string>& texts) {
  std::vector<ChannelConfig> channels;
  for (const std::string& text : texts) {
    for (ChannelConfig& one : parse_channel(text)) channels.push_back(std::move(one));
  }
  return channels;
}

template <typename Call>
std::string thrown_by(Call call) {
  try {
    (void)call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

// What a test leaves undone is its failure, not its end.
void run(Context& context) {
  Timer limit(context.loop(), [&context] {
    ADD_FAILURE() << "nothing came";
    context.stop();
  });
  limit.start_once(std::chrono::seconds(10));
  context.run();
}

TEST(ChannelSockets, move_messages_over_each_address) {
  Context context;
  Channels pulls(
      context, channels_of({"in:type=pull,method=bind,address=tcp://127.0.0.1:0,address=shm://*"}));
  ASSERT_EQ(pulls.count("in"), 2U);
  std::string got;
  const auto take = [&](const MessageView& message) {
    got += message.text();
    if (got.size() == 2) context.stop();
  };
  pulls.pull("in", 0).on_message(take);
  pulls.pull("in", 1).on_message(take);
  Channels pushes(
      context,
      channels_of({"out:type=push,method=connect,address=" + pulls.addresses("in", 0).at(0) +
                   ",address=" + pulls.addresses("in", 1).at(0)}));
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    Push& push = pushes.push("out", i);
    EXPECT_EQ(&push, &pushes.push("out", i));
    push.on_up([&push, i](const PeerInfo& peer) {
      EXPECT_EQ(peer.name, i == 0 ? "in" : "in[1]");
      EXPECT_EQ(push.send("x"), Status::ok);
    });
  }
  run(context);
  EXPECT_EQ(got, "xx");
}

TEST(ChannelSockets, take_all_endpoints_of_one_address) {
  Context context;
  Channels channels(context, channels_of({"in:type=pull,address=@tcp://127.0.0.1:0;@shm://*"}));
  EXPECT_TRUE(channels.addresses("in").empty());
  channels.pull("in");
  EXPECT_THAT(channels.addresses("in"),
              ElementsAre(StartsWith("tcp://127.0.0.1:"), StartsWith("shm://")));
}

TEST(ChannelSockets, subscribe_their_tags) {
  Context context;
  Channels channels(
      context,
      channels_of({"news:type=pub,method=bind,address=inproc://channels_news",
                   "some:type=sub,method=connect,address=inproc://channels_news,tags=3-4"}));
  Publish& publish = channels.publish("news");
  Subscribe& subscribe = channels.subscribe("some");
  EXPECT_THAT(subscribe.subscribed(), ElementsAre(TagRange{3, 4}));
  publish.on_subscribe([&](const PeerInfo&, std::span<const TagRange>) {
    EXPECT_EQ(publish.send("wanted", 3), Status::ok);
  });
  subscribe.on_message([&](const MessageView& message) {
    EXPECT_EQ(message.text(), "wanted");
    context.stop();
  });
  run(context);
}

TEST(ChannelSockets, ask_and_answer) {
  Context context;
  Channels channels(context,
                    channels_of({"service:type=rep,method=bind,address=tcp://127.0.0.1:0"}));
  channels.reply("service").on_request(
      [](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("yes"), Status::ok); });
  Channels others(context, channels_of({"ask:type=req,method=connect,address=" +
                                        channels.addresses("service").at(0)}));
  Request& request = others.request("ask");
  std::uint64_t id = 0;
  request.on_up([&](const PeerInfo&) { EXPECT_EQ(request.send("?", id), Status::ok); });
  request.on_reply([&](std::uint64_t, const MessageView& answer) {
    EXPECT_EQ(answer.text(), "yes");
    context.stop();
  });
  run(context);
}

TEST(ChannelSockets, are_what_the_program_asks_for) {
  Context context;
  Channels channels(context, channels_of({"data:type=pair,method=bind,address=shm://*",
                                          "other:type=pull,method=bind,address=shm://*"}));
  EXPECT_THAT(thrown_by([&] { return &channels.push("data"); }),
              AllOf(HasSubstr("its type is pair"), HasSubstr("asks for push")));
  EXPECT_THAT(thrown_by([&] { return &channels.push("dta"); }),
              HasSubstr("did you mean \"data\"?"));
  EXPECT_THAT(thrown_by([&] { return &channels.pair("data", 1); }),
              HasSubstr("there is no sub-channel 1; the last one is 0"));
  EXPECT_THAT(thrown_by([&] { return channels.addresses("x"); }), HasSubstr("no such channel"));
  Channels none(context, {});
  EXPECT_THAT(thrown_by([&] { return &none.pair("data"); }), HasSubstr("--channel-config"));
  EXPECT_NE(&channels.pair("data"), nullptr);
}

TEST(ChannelSockets, that_cannot_be_made_say_the_channel) {
  Context context;
  Channels channels(context,
                    channels_of({"a:type=pull,method=bind,address=tcp://127.0.0.1:0",
                                 "b:type=pull,method=bind,address=shm:///nowhere/at/all",
                                 "c:type=pull,method=bind,address=shm://*,low_watermark=0.9"}));
  EXPECT_THAT(thrown_by([&] { return &channels.pull("b"); }), StartsWith("channel \"b\": bind "));
  EXPECT_THAT(thrown_by([&] { return &channels.pull("c"); }),
              StartsWith("channel \"c\": make a socket: low_watermark"));
  channels.pull("a");
  const std::string taken = channels.addresses("a").at(0);
  Channels again(context, channels_of({"d:type=pull,method=bind,address=" + taken}));
  EXPECT_THAT(thrown_by([&] { return &again.pull("d"); }), StartsWith("channel \"d\": bind "));
}

TEST(ChannelSockets, have_names_and_numbers_of_their_own) {
  Context context;
  const std::string a = "a:type=pull,method=bind,address=shm://x";
  EXPECT_THAT(thrown_by([&] {
                return Channels(context, channels_of({a, a})).count("a");
              }),
              HasSubstr("there are two channels of this name"));
  const auto numbered = [](const std::string& index) {
    return "name=a[" + index + "],type=pull,method=bind,address=shm://x";
  };
  EXPECT_THAT(thrown_by([&] {
                return Channels(context, channels_of({numbered("0"), numbered("2")})).count("a");
              }),
              HasSubstr("sub-channel 2 is there, and 1 is not"));
  EXPECT_THAT(thrown_by([&] { return Channels(context, channels_of({numbered("1")})).count("a"); }),
              HasSubstr("sub-channel 1 is there, and 0 is not"));
  EXPECT_THAT(thrown_by([&] {
                return Channels(context, channels_of({numbered("1"), a, numbered("1")})).count("a");
              }),
              HasSubstr("sub-channel 1 is there twice"));
  EXPECT_EQ(Channels(context, channels_of({numbered("1"), a})).count("a"), 2U);
}

// A command line that may be changed.
struct CommandLine {
  explicit CommandLine(std::vector<std::string> given) : words(std::move(given)) {
    words.insert(words.begin(), "program");
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    argc = static_cast<int>(words.size());
  }
  std::vector<ChannelConfig> take() { return take_channels(argc, argv.data()); }
  [[nodiscard]] std::vector<std::string> rest() const {
    EXPECT_EQ(argv[static_cast<std::size_t>(argc)], nullptr);
    return {argv.begin() + 1, argv.begin() + argc};
  }

  std::vector<std::string> words;
  std::vector<char*> argv;
  int argc = 0;
};

const std::string one = "name=a,type=pull,method=bind,address=shm://x";
const std::string two = "b:type=pull,method=bind,address=shm://y";

TEST(ChannelArguments, are_taken_out_of_the_command_line) {
  CommandLine line({"--rate", "7", "--channel-config", one, two, "run42.dat", "--id", "me",
                    "--channel-config=c:type=push,method=bind,address=shm://z", "--", "--id"});
  EXPECT_THAT(line.take(), SizeIs(3));
  EXPECT_THAT(line.rest(), ElementsAre("--rate", "7", "run42.dat", "--", "--id"));
  CommandLine none({"x", "--ids", "7"});
  EXPECT_TRUE(none.take().empty());
  EXPECT_THAT(none.rest(), ElementsAre("x", "--ids", "7"));
}

TEST(ChannelArguments, that_are_wrong_leave_the_command_line_as_it_was) {
  const auto refused = [](const std::vector<std::string>& words) {
    CommandLine line(words);
    const std::string said = thrown_by([&] { return line.take(); });
    EXPECT_EQ(line.rest(), words);
    return said;
  };
  EXPECT_THAT(refused({"--channel-config"}), HasSubstr("--channel-config has no value"));
  EXPECT_THAT(refused({"--channel-config", "--id", "x"}), HasSubstr("has no value"));
  EXPECT_THAT(refused({"--mq-config"}), HasSubstr("--mq-config has no value"));
  EXPECT_THAT(refused({"--id", "a", "--id", "b"}), HasSubstr("--id is given twice"));
  EXPECT_THAT(refused({"--config-key", "a"}), HasSubstr("without --mq-config"));
  EXPECT_THAT(refused({"--channel-config", one, "b="}), HasSubstr("there is no key \"b\""));
  EXPECT_THAT(refused({"--channel-config", one, one}), HasSubstr("two channels of this name"));
  EXPECT_THAT(refused({"--mq-config", "/nowhere.json"}), HasSubstr("No such file"));
}

}  // namespace
}  // namespace netio
