// Channels in texts: what they become, and each mistake with what is said about it.
#include <string>
#include <utility>
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
using namespace std::chrono_literals;

ChannelConfig only(const std::string& text) {
  const std::vector<ChannelConfig> channels = parse_channel(text);
  EXPECT_THAT(channels, SizeIs(1));
  return channels.at(0);
}

// The text with what makes it a channel.
ChannelConfig pull_with(const std::string& more) {
  return only("name=data,type=pull,method=bind,address=tcp://*:5555" + more);
}

std::string error_of(const std::string& text) {
  try {
    (void)parse_channel(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string error_with(const std::string& more) {
  return error_of("name=data,type=pull,method=bind,address=tcp://*:5555" + more);
}

std::string remarks_of(const ChannelConfig& channel) {
  std::string text;
  for (const ChannelRemark& one : channel.remarks) text += one.text + '\n';
  return text;
}

TEST(ChannelTexts, of_fairmq_are_read) {
  const ChannelConfig channel = only("name=data,type=push,method=bind,address=tcp://*:5555");
  EXPECT_EQ(channel.name, "data");
  EXPECT_EQ(channel.pattern, ChannelPattern::push);
  EXPECT_THAT(channel.endpoints, ElementsAre(ChannelEndpoint{"tcp://*:5555", true}));
  EXPECT_EQ(channel.socket.name, "data");
  EXPECT_TRUE(channel.remarks.empty());
  const ChannelConfig other = only("data:address=tcp://[::1]:5555,type=sub,method=connect");
  EXPECT_EQ(other.name, "data");
  EXPECT_THAT(other.endpoints, ElementsAre(ChannelEndpoint{"tcp://[::1]:5555", false}));
  EXPECT_THAT(other.tags, ElementsAre(every_tag));
}

TEST(ChannelTexts, name_every_pattern_in_both_ways) {
  for (const auto& [word, pattern] :
       {std::pair("push", ChannelPattern::push), std::pair("pull", ChannelPattern::pull),
        std::pair("pair", ChannelPattern::pair), std::pair("pub", ChannelPattern::publish),
        std::pair("sub", ChannelPattern::subscribe), std::pair("req", ChannelPattern::request),
        std::pair("rep", ChannelPattern::reply), std::pair("publish", ChannelPattern::publish),
        std::pair("subscribe", ChannelPattern::subscribe),
        std::pair("request", ChannelPattern::request), std::pair("reply", ChannelPattern::reply)}) {
    EXPECT_EQ(only("a:method=bind,address=shm://x,type=" + std::string(word)).pattern, pattern);
  }
}

TEST(ChannelTexts, with_several_addresses_are_several_sub_channels) {
  const auto channels = parse_channel(
      "name=data,type=push,method=bind,address=tcp://*:1,mode=unbuffered,address=tcp://*:2");
  ASSERT_THAT(channels, SizeIs(2));
  EXPECT_EQ(channels[1].index, 1U);
  EXPECT_EQ(channels[1].endpoints[0].address, "tcp://*:2");
  EXPECT_EQ(channels[1].socket.name, "data[1]");
  EXPECT_EQ(channels[0].socket.mode, Mode::unbuffered);
  EXPECT_EQ(channels[1].socket.mode, Mode::unbuffered);
  EXPECT_THAT(parse_channel("a:type=pull,method=bind,address=tcp://*:0,numSockets=3"), SizeIs(3));
  EXPECT_EQ(only("name=data[3],type=pull,method=bind,address=tcp://*:0").index, 3U);
}

TEST(ChannelTexts, with_semicolons_are_one_socket_of_several_endpoints) {
  EXPECT_THAT(
      only("a:type=pull,method=bind,address=tcp://*:1;>tcp://b:2;+shm://c;@shm://d").endpoints,
      ElementsAre(ChannelEndpoint{"tcp://*:1", true}, ChannelEndpoint{"tcp://b:2", false},
                  ChannelEndpoint{"shm://c", false}, ChannelEndpoint{"shm://d", true}));
  EXPECT_THAT(only("a:type=pull,address=@tcp://*:1").endpoints, SizeIs(1));
}

TEST(ChannelTexts, set_the_options_by_their_own_names) {
  const ChannelConfig pull = pull_with(
      ",flush_after=10us,flush_when_idle=false,message_bytes_max=64KiB,send_bytes_max=2MiB,"
      "receive_bytes_max=8MB,high_watermark=0.9,low_watermark=0.1,reconnect_after_min=1ms,"
      "reconnect_after_max=2s,resume_bytes_max=0,resume_within=2min,handshake_within=1,"
      "half_open_max=7,peers_max=1k,stall_after=1s,keep_alive_after=20,heartbeat_after=100ms,"
      "replace_silent_after=2s,"
      "acknowledge_after=1ms,acknowledge=released");
  const SocketOptions& socket = pull.socket;
  EXPECT_EQ(socket.flush_after, 10us);
  EXPECT_FALSE(socket.flush_when_idle);
  EXPECT_EQ(socket.message_bytes_max, 65536U);
  EXPECT_EQ(socket.send_bytes_max, 2U << 20U);
  EXPECT_EQ(socket.receive_bytes_max, 8000000U);
  EXPECT_EQ(socket.high_watermark, 0.9);
  EXPECT_EQ(socket.low_watermark, 0.1);
  EXPECT_EQ(socket.reconnect_after_min, 1ms);
  EXPECT_EQ(socket.reconnect_after_max, 2s);
  EXPECT_EQ(socket.resume_bytes_max, 0U);
  EXPECT_EQ(socket.resume_within, 2min);
  EXPECT_EQ(socket.handshake_within, 1s);
  EXPECT_EQ(socket.half_open_max, 7U);
  EXPECT_EQ(socket.peers_max, 1000U);
  EXPECT_EQ(socket.stall_after, 1s);
  EXPECT_EQ(socket.keep_alive_after, 20s);
  EXPECT_EQ(socket.heartbeat_after, 100ms);
  EXPECT_EQ(socket.replace_silent_after, 2s);
  EXPECT_EQ(socket.acknowledge_after, 1ms);
  EXPECT_EQ(socket.acknowledge, Acknowledge::released);
  EXPECT_EQ(only("a:type=push,method=bind,address=shm://x,distribute=by_tag").socket.distribute,
            Distribute::by_tag);
}

TEST(ChannelTexts, set_the_options_of_a_pattern) {
  const ChannelConfig pub = only(
      "a:type=pub,method=bind,address=shm://x,block_allowed=false,block_for_max=0,"
      "behind_bytes_max=1MiB,behind_bytes_all_max=2MiB,ranges_max=3,ranges_all_max=4,"
      "subscribers_min=5,subscribers_any_min=6");
  EXPECT_FALSE(pub.publish.block_allowed);
  EXPECT_EQ(pub.publish.block_for_max, 0s);
  EXPECT_EQ(pub.publish.behind_bytes_max, 1U << 20U);
  EXPECT_EQ(pub.publish.behind_bytes_all_max, 2U << 20U);
  EXPECT_EQ(pub.publish.ranges_max, 3U);
  EXPECT_EQ(pub.publish.ranges_all_max, 4U);
  EXPECT_EQ(pub.publish.subscribers_min, 5U);
  EXPECT_EQ(pub.publish.subscribers_any_min, 6U);
  const ChannelConfig sub = only(
      "a:type=sub,method=bind,address=shm://x,policy=disconnect,behind_bytes_max=1MiB,"
      "behind_for_max=20ms,tags=3-9;12");
  EXPECT_EQ(sub.subscribe.policy, Policy::disconnect);
  EXPECT_EQ(sub.subscribe.behind_bytes_max, 1U << 20U);
  EXPECT_EQ(sub.subscribe.behind_for_max, 20ms);
  EXPECT_THAT(sub.tags, ElementsAre(TagRange{3, 9}, TagRange{12, 12}));
  EXPECT_EQ(only("a:type=req,method=bind,address=shm://x,pending_max=8").request.pending_max, 8U);
  EXPECT_EQ(only("a:type=rep,method=bind,address=shm://x,open_max=8").reply.open_max, 8U);
}

TEST(ChannelTexts, say_which_keys_have_no_effect) {
  const ChannelConfig channel = pull_with(
      ",sndBufSize=1000,rcvBufSize=1000,sndKernelSize=1,rcvKernelSize=1,sndTimeoutMs=5,"
      "rcvTimeoutMs=5,portRangeMin=22000,portRangeMax=23000,autoBind=true,linger=500,rateLogging="
      "2");
  EXPECT_THAT(channel.remarks, SizeIs(9));
  for (const char* const key :
       {"sndBufSize", "rcvBufSize", "sndKernelSize", "rcvKernelSize", "sndTimeoutMs",
        "rcvTimeoutMs", "portRangeMin", "portRangeMax", "autoBind"}) {
    EXPECT_THAT(remarks_of(channel), HasSubstr(std::string(key) + " has no effect: "));
  }
  EXPECT_EQ(channel.linger, 500ms);
  EXPECT_EQ(channel.rate_every, 2s);
  // These ask for what netio does in any case.
  EXPECT_EQ(remarks_of(pull_with(",sndKernelSize=0,rcvKernelSize=0,sndTimeoutMs=-1,"
                                 "rcvTimeoutMs=-1,autoBind=false,numSockets=0")),
            "");
  EXPECT_GT(pull_with(",linger=-1").linger, 24h);
}

TEST(ChannelTexts, take_the_transport_into_the_address) {
  const auto over = [](const std::string& transport, const std::string& address) {
    return only("a:type=pull,method=bind,transport=" + transport + ",address=" + address);
  };
  const auto becomes = [&](const std::string& transport, const std::string& address) {
    return over(transport, address).endpoints.at(0).address;
  };
  EXPECT_EQ(becomes("default", "tcp://*:5555"), "tcp://*:5555");
  EXPECT_EQ(becomes("zeromq", "tcp://*:5555"), "tcp://*:5555");
  EXPECT_EQ(becomes("zeromq", "ipc:///run/x"), "shm:///run/x");
  EXPECT_EQ(becomes("shmem", "ipc://@x"), "shm://x");
  EXPECT_EQ(becomes("shmem", "shm://x"), "shm://x");
  EXPECT_EQ(becomes("shmem", "tcp://*:5555"), becomes("shmem", "tcp://localhost:5555"));
  EXPECT_EQ(becomes("shmem", "tcp://[::1]:5555"), "shm://port-5555");
  EXPECT_EQ(becomes("shmem", "tcp://*:0"), "shm://*");
  EXPECT_EQ(becomes("ofi", "verbs://10.0.0.1:5555"), "verbs://10.0.0.1:5555");
  EXPECT_EQ(becomes("ofi", "ofi+tcp://10.0.0.1:5555"), "ofi+tcp://10.0.0.1:5555");
  EXPECT_EQ(becomes("ofi", "tcp://10.0.0.1:5555"), "ofi+tcp://10.0.0.1:5555");
  EXPECT_THAT(remarks_of(over("ofi", "tcp://a:5555")), HasSubstr("write verbs://"));
  EXPECT_THAT(remarks_of(over("shmem", "tcp://*:5555")), HasSubstr("the peer needs"));
  EXPECT_THAT(remarks_of(over("zeromq", "ipc:///run/x")), HasSubstr("shm:///run/x here"));
}

TEST(ChannelTexts, with_a_wrong_transport_or_address_are_refused) {
  const auto refused = [](const std::string& address) {
    return error_of("a:type=pull,method=bind,address=" + address);
  };
  EXPECT_THAT(refused("tcp://host:1,transport=shmem"), HasSubstr("may be another"));
  EXPECT_THAT(refused("verbs://h:1,transport=shmem"), HasSubstr("does not go with"));
  EXPECT_THAT(refused("ipc://x,transport=ofi"), HasSubstr("does not go with"));
  EXPECT_THAT(refused("shm://x,transport=ofi"), HasSubstr("does not go with"));
  EXPECT_THAT(refused("tcp://h:1,transport=shm"), HasSubstr("did you mean \"shmem\"?"));
  EXPECT_THAT(refused("tcp://h:1,transport="), HasSubstr("default, zeromq, shmem and ofi"));
  EXPECT_THAT(refused("tcp://h"), HasSubstr("has no port"));
  EXPECT_THAT(refused("tcp://h:"), HasSubstr("from 0 to 65535"));
  EXPECT_THAT(refused("tcp://h:65536"), HasSubstr("from 0 to 65535"));
  EXPECT_THAT(refused("tcp://:5"), HasSubstr("has no host"));
  EXPECT_THAT(refused("tcp://[::1]"), HasSubstr("has no port"));
  EXPECT_THAT(refused("tcp://[::1:5555"), HasSubstr("'[' without ']'"));
  EXPECT_THAT(refused("tcp://"), HasSubstr("ends after ://"));
  EXPECT_THAT(refused("host:5555"), HasSubstr("has no scheme"));
  EXPECT_THAT(refused("tpc://h:1"), HasSubstr("did you mean \"tcp\"?"));
  EXPECT_THAT(refused("tcp://h h:1"), HasSubstr("a space"));
  EXPECT_THAT(refused(""), HasSubstr("an address is missing"));
  EXPECT_THAT(refused("tcp://h:1;"), HasSubstr("an address is missing"));
  EXPECT_THAT(refused(";tcp://h:1"), HasSubstr("an address is missing"));
  EXPECT_THAT(refused("@"), HasSubstr("an address is missing"));
  EXPECT_THAT(refused("unspecified"), HasSubstr("the address is missing"));
}

TEST(ChannelTexts, that_lack_something_say_what) {
  EXPECT_THAT(error_of(""), HasSubstr("the text is empty; write it like name=data,"));
  EXPECT_THAT(error_of("tcp://*:5555"), HasSubstr("is an address"));
  EXPECT_THAT(error_of("data"), HasSubstr("\"data\" is not key=value"));
  EXPECT_THAT(error_of("type=pull,method=bind,address=tcp://*:1"), HasSubstr("the name"));
  EXPECT_THAT(error_of("name=,type=pull,method=bind,address=tcp://*:1"), HasSubstr("the name"));
  EXPECT_THAT(error_of("name=a,method=bind,address=tcp://*:1"), HasSubstr("the type is missing"));
  EXPECT_THAT(error_of("name=a,type=pull,address=tcp://*:1"), HasSubstr("the method is missing"));
  EXPECT_THAT(error_of("name=a,type=pull,method=bind"), HasSubstr("the address is missing"));
}

TEST(ChannelTexts, with_wrong_punctuation_are_refused) {
  for (const char* const more : {",", ",,mode=buffered"}) {
    EXPECT_THAT(error_with(more), HasSubstr("a comma with nothing")) << more;
  }
  EXPECT_THAT(error_of(",name=a"), HasSubstr("a comma with nothing"));
  EXPECT_THAT(error_with(",=x"), HasSubstr("\"=x\" is not key=value"));
  EXPECT_THAT(error_with(",mode"), HasSubstr("\"mode\" is not key=value"));
  EXPECT_THAT(error_with(", mode=buffered"), HasSubstr("did you mean \"mode\"?"));
  EXPECT_THAT(error_with(",mode=buffered "), HasSubstr("did you mean \"buffered\"?"));
  EXPECT_THAT(error_with(",mode=\x1b[2J"), HasSubstr("\"?[2J\""));
  for (const char* const name :
       {"data[", "data]", "data[]", "data[x]", "data[1", "data[1]x", "data[-1]", "data[4096]",
        "data[99999999999999999999]", "[0]", "a b", "a/b", "a.b", "\xc3\xa4"}) {
    EXPECT_THAT(error_of("name=" + std::string(name) + ",type=pull,method=bind,address=shm://x"),
                HasSubstr("is no name of a channel"))
        << name;
  }
  EXPECT_THAT(error_of("name=" + std::string(49, 'a') + ",type=pull"), HasSubstr("is no name"));
}

TEST(ChannelTexts, with_unknown_words_name_the_nearest) {
  EXPECT_THAT(error_with(",adress=shm://x"),
              AllOf(HasSubstr("channel \"data\": there is no key \"adress\""),
                    HasSubstr("did you mean \"address\"?")));
  EXPECT_THAT(error_with(",sndbufsize=1"), HasSubstr("did you mean \"sndBufSize\"?"));
  EXPECT_THAT(error_with(",flush=1ms"), HasSubstr("there is no key \"flush\""));
  EXPECT_THAT(error_with(",mode=bufferd"), HasSubstr("did you mean \"buffered\"?"));
  EXPECT_THAT(error_with(",acknowledge=relased"), HasSubstr("did you mean \"released\"?"));
  EXPECT_THAT(error_of("a:type=pul,method=bind,address=shm://x"),
              HasSubstr("type: there is no \"pul\"; did you mean \"pull\"?"));
  EXPECT_THAT(error_of("a:type=pull,method=conect,address=shm://x"),
              HasSubstr("did you mean \"connect\"?"));
  EXPECT_THAT(error_of("a:type=sub,method=bind,address=shm://x,policy=dropold"),
              HasSubstr("did you mean \"drop_old\"?"));
  EXPECT_THAT(error_of("a:type=router,method=bind,address=shm://x"), HasSubstr("write rep: "));
  EXPECT_THAT(error_of("a:type=dealer,method=bind,address=shm://x"), HasSubstr("write req: "));
  EXPECT_THAT(error_of("a:type=xpub,method=bind,address=shm://x"), HasSubstr("write pub: "));
}

TEST(ChannelTexts, with_values_out_of_range_are_refused) {
  for (const char* const more :
       {",sndBufSize=-1",        ",rcvBufSize=1k",          ",sndBufSize=99999999999",
        ",rateLogging=-1",       ",rateLogging=1.5",        ",linger=-2",
        ",numSockets=-1",        ",numSockets=4097",        ",autoBind=yes",
        ",message_bytes_max=0",  ",message_bytes_max=2TiB", ",flush_after=10xs",
        ",stall_after=0",        ",heartbeat_after=1ms",    ",replace_silent_after=1ms",
        ",keep_alive_after=1.5", ",keep_alive_after=0",     ",peers_max=0",
        ",high_watermark=2",     ",flush_when_idle=maybe",  ",flush_after="}) {
    const std::string key = std::string(more).substr(1, std::string(more).find('=') - 1);
    EXPECT_THAT(error_with(more), HasSubstr("channel \"data\": " + key + ": ")) << more;
  }
  EXPECT_THAT(error_of("a:type=req,method=bind,address=shm://x,pending_max=2M"),
              HasSubstr("from 1 to 1048576"));
  EXPECT_THAT(error_of("a:type=sub,method=bind,address=shm://x,behind_for_max=1us"),
              HasSubstr("whole milliseconds"));
}

TEST(ChannelTexts, that_contradict_themselves_are_refused) {
  EXPECT_THAT(error_with(",mode=buffered,mode=unbuffered"), HasSubstr("mode is given twice"));
  EXPECT_THAT(error_with(",name=data"), HasSubstr("name is given twice"));
  EXPECT_THAT(error_of("a:name=b,type=pull,method=bind,address=shm://x"),
              HasSubstr("the name is given twice"));
  EXPECT_THAT(error_with(",policy=block"), HasSubstr("is for a channel of type sub"));
  EXPECT_THAT(error_with(",behind_bytes_max=1"), HasSubstr("is for a channel of type pub and sub"));
  EXPECT_THAT(error_with(",distribute=by_tag"), HasSubstr("is for a channel of type push"));
  EXPECT_THAT(error_with(",pending_max=1"), HasSubstr("is for a channel of type req"));
  EXPECT_THAT(error_with(",open_max=1"), HasSubstr("is for a channel of type rep"));
  EXPECT_THAT(error_with(",address=shm://x,numSockets=3"),
              HasSubstr("numSockets is 3, and there are 2 sockets"));
  EXPECT_THAT(error_of("name=a[1],type=pull,method=bind,address=shm://x,address=shm://y"),
              HasSubstr("one sub-channel is named"));
  EXPECT_THAT(error_of("a:type=pair,method=connect,address=shm://x;shm://y"),
              HasSubstr("a pair has one peer"));
}

// Whatever stands in a text, the answer is a list or an Error.
TEST(ChannelTexts, cut_off_anywhere_are_answered) {
  const std::string text =
      "name=data[0],type=sub,method=connect,address=@tcp://[::1]:5555;>ipc://@x,transport=shmem,"
      "tags=3-9;12,policy=sample,flush_after=10ms,linger=-1,rateLogging=1";
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_NO_FATAL_FAILURE((void)error_of(text.substr(0, i)));
    EXPECT_NO_FATAL_FAILURE((void)error_of(text.substr(i)));
    std::string changed = text;
    for (const char c : {',', '=', ':', '[', ']', ';', '\0', '\xff', '9'}) {
      changed[i] = c;
      EXPECT_NO_FATAL_FAILURE((void)error_of(changed));
    }
  }
}

}  // namespace
}  // namespace netio
