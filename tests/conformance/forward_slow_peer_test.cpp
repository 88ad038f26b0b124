// A peer of the output that reads nothing does not take the memory that other inputs are read into.
// With the sizes that a socket has by default: one input may hold half of a context's memory.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class ForwardSlowPeer : public testing::TestWithParam<Mode> {
 protected:
  static SocketOptions options() {
    SocketOptions options;
    options.mode = GetParam();
    return options;
  }
  static SocketOptions by_tag() {
    SocketOptions by_tag = options();
    by_tag.distribute = Distribute::by_tag;
    return by_tag;
  }
  // False if it is not taken for long: others are held up by what went before it.
  template <typename Socket>
  bool send(Socket& socket, const std::vector<std::byte>& message, std::uint64_t tag) {
    return pump_.until([&] { return socket.send(message, tag) == Status::ok; },
                       "a message is sent");
  }

  Context here_;
  Context stage_;
  Context good_context_;
  Context slow_context_;  // not in the pump, once its sockets are connected
  Pump pump_{&here_, &stage_, &good_context_, &slow_context_};
  const std::vector<std::byte> shorter_ = std::vector<std::byte>(17'000);
  const std::vector<std::byte> longer_ = std::vector<std::byte>(60'000);
};

TEST_P(ForwardSlowPeer, of_a_tag_leaves_other_inputs_their_memory) {
  constexpr std::size_t slow_count = 2;
  Push source(here_, options());
  Push other(here_, options());
  Pull input(stage_);
  Push output(stage_, by_tag());
  Pull good(good_context_);
  std::vector<std::unique_ptr<Pull>> slow;
  std::vector<int> reader(200, -1);  // of each tag
  std::uint64_t came = 0;
  good.on_message([&](const MessageView& message) {
    ++came;
    reader[message.tag()] = 0;
  });
  output.connect(good.bind("tcp://127.0.0.1:0"));
  for (std::size_t i = 0; i < slow_count; ++i) {
    slow.push_back(std::make_unique<Pull>(slow_context_));
    slow.back()->on_message([&reader, i](const MessageView& message) {
      reader[message.tag()] = static_cast<int>(i) + 1;
    });
    output.connect(slow.back()->bind("tcp://127.0.0.1:0"));
  }
  const Forward forwards = forward(input, output);
  const std::string address = input.bind("tcp://127.0.0.1:0");
  source.connect(address);
  other.connect(address);
  ASSERT_SOON(pump_, source.peers_connected() == 1 && other.peers_connected() == 1 &&
                         output.peers_connected() == 1 + slow_count);
  for (std::uint64_t tag = 0; tag < reader.size(); ++tag) {
    ASSERT_TRUE(send(source, std::vector<std::byte>(1), tag));
  }
  source.flush();
  ASSERT_SOON(pump_, std::find(reader.begin(), reader.end(), -1) == reader.end());
  std::vector<std::uint64_t> tags;  // of each reader
  for (int i = 0; i <= static_cast<int>(slow_count); ++i) {
    const auto found = std::find(reader.begin(), reader.end(), i);
    ASSERT_NE(found, reader.end());
    tags.push_back(static_cast<std::uint64_t>(found - reader.begin()));
  }
  pump_.remove(slow_context_);
  // Few of the slow ones between many others, so that each holds a block of its own: until the
  // input is paused for the slow ones.
  const auto sent_or_paused = [&](const std::vector<std::byte>& message, std::uint64_t tag) {
    return pump_.until(
        [&] { return forwards.books().held != 0 || source.send(message, tag) == Status::ok; },
        "a message is sent, or the input is paused");
  };
  for (int i = 0; forwards.books().held == 0; ++i) {
    ASSERT_LT(i, 10'000);
    ASSERT_TRUE(sent_or_paused(shorter_, tags[1 + static_cast<std::size_t>(i) % slow_count]));
    for (int each = 0; each < 5; ++each) ASSERT_TRUE(sent_or_paused(longer_, tags[0]));
  }
  const std::uint64_t before = came;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(send(other, longer_, tags[0]));
  other.flush();
  ASSERT_SOON(pump_, came >= before + 50);
}

TEST_P(ForwardSlowPeer, that_subscribes_leaves_the_input_its_memory) {
  Publish source(here_, {}, options());
  Subscribe input(stage_, SubscribeOptions{.policy = Policy::block});
  Publish output(stage_, {}, options());
  Subscribe good(good_context_, SubscribeOptions{.policy = Policy::block});
  Subscribe slow(slow_context_, SubscribeOptions{.policy = Policy::drop_new});
  std::uint64_t came = 0;
  good.on_message([&](const MessageView&) { ++came; });
  slow.on_message([](const MessageView&) {});
  const std::string address = output.bind("tcp://127.0.0.1:0");
  good.subscribe(0);
  slow.subscribe(1);
  good.connect(address);
  slow.connect(address);
  const Forward forwards = forward(input, output);
  input.connect(source.bind("tcp://127.0.0.1:0"));
  ASSERT_SOON(pump_, input.peers_connected() == 1 && output.peers_connected() == 2 &&
                         source.peers_connected() == 1);
  ASSERT_TRUE(pump_.until(
      [&] {
        EXPECT_EQ(source.send(std::vector<std::byte>(1), 0), Status::ok);
        return came != 0;
      },
      "what is published comes"));
  pump_.remove(slow_context_);
  std::uint64_t sent = 0;
  const std::uint64_t before = came;
  for (int i = 0; i < 700; ++i) {
    ASSERT_TRUE(send(source, shorter_, 1));
    for (int each = 0; each < 3; ++each, ++sent) ASSERT_TRUE(send(source, longer_, 0));
  }
  source.flush();
  ASSERT_SOON(pump_, came >= before + sent);
}

// Its answers wait at the stage, short ones among those of another requester.
TEST_P(ForwardSlowPeer, that_asks_leaves_the_output_its_memory) {
  if (GetParam() == Mode::unbuffered) GTEST_SKIP() << "the same";
  Context server_context;
  pump_.add(server_context);
  Request slow(slow_context_);
  Request fast(here_);
  Reply input(stage_);
  Request output(stage_);
  Reply server(server_context);
  const Forward forwards = forward(input, output);
  std::vector<ReplyTo> shorts;
  std::vector<ReplyTo> longs;
  server.on_request([&](const MessageView& request, ReplyTo to) {
    if (request.text() == "short") return shorts.push_back(std::move(to));
    if (request.text() == "long") return longs.push_back(std::move(to));
    EXPECT_EQ(to.send(std::vector<std::byte>(4000)), Status::ok);
  });
  const std::string address = input.bind("tcp://127.0.0.1:0");
  output.connect(server.bind("tcp://127.0.0.1:0"));
  slow.connect(address);
  fast.connect(address);
  ASSERT_SOON(pump_, slow.peers_connected() == 1 && fast.peers_connected() == 1 &&
                         output.peers_connected() == 1);
  std::uint64_t id = 0;
  for (int i = 0; i < 200; ++i) ASSERT_SOON(pump_, slow.send("long", id) == Status::ok);
  for (int i = 0; i < 200; ++i) ASSERT_SOON(pump_, slow.send("short", id) == Status::ok);
  slow.flush();
  ASSERT_SOON(pump_, longs.size() == 200 && shorts.size() == 200);
  pump_.remove(slow_context_);
  const auto waits = [&] {
    for (const auto& peer : input.peers()) {
      if (peer.waiting_bytes > 100'000) return true;
    }
    return false;
  };
  for (std::size_t i = 0; !waits(); ++i) {
    ASSERT_LT(i, longs.size());
    ASSERT_EQ(longs[i].send(longer_), Status::ok);
    pump_.run_for(std::chrono::milliseconds(5));
  }
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  fast.on_reply([&](std::uint64_t, const MessageView&) { ++answered; });
  for (ReplyTo& to : shorts) {
    ASSERT_EQ(to.send("short"), Status::ok);
    server.flush();
    for (int i = 0; i < 100; ++i, ++asked) ASSERT_SOON(pump_, fast.send("fast", id) == Status::ok);
    fast.flush();
    ASSERT_SOON(pump_, answered == asked);
  }
}

INSTANTIATE_TEST_SUITE_P(with, ForwardSlowPeer, testing::Values(Mode::buffered, Mode::unbuffered),
                         [](const testing::TestParamInfo<Mode>& mode) {
                           return mode.param == Mode::buffered ? "buffered" : "unbuffered";
                         });

}  // namespace
}  // namespace netio::test
