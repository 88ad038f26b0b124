// How a Forward ends: what is left to the socket that it had, and what becomes of acknowledgements.
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

// A stage with one context, a source and a sink beside it.
class ForwardEnd : public testing::Test {
 protected:
  void connect_source(Pull& input) {
    source_.connect(input.bind("tcp://127.0.0.1:0"));
    ASSERT_SOON(pump_, source_.peers_connected() == 1);
  }
  void connect_sink(Push& output) {
    output.connect(sink_.bind("tcp://127.0.0.1:0"));
    ASSERT_SOON(pump_, output.peers_connected() == 1);
    sink_.on_message([this](const MessageView&) { ++came_; });
  }
  void send(int count) {
    for (int i = 0; i < count; ++i) ASSERT_EQ(source_.send("text"), Status::ok);
    source_.flush();
  }
  // So many messages wait in the stage.
  void send_and_hold(Pull& input, const Forward& forwards, int count) {
    ASSERT_NO_FATAL_FAILURE(connect_source(input));
    send(count);
    ASSERT_SOON(pump_, forwards.books().held == static_cast<std::uint64_t>(count));
  }
  static SocketOptions released() {
    SocketOptions options;
    options.acknowledge = Acknowledge::released;
    return options;
  }

  Context here_;
  Context stage_;
  Context there_;
  Pump pump_{&here_, &stage_, &there_};
  Push source_{here_};
  Pull sink_{there_};
  std::uint64_t came_ = 0;
};

TEST_F(ForwardEnd, the_input_is_read_again_though_requests_were_held) {
  Request asker(here_);
  Reply input(stage_);
  Request output(stage_);
  Forward forwards = forward(input, output);
  asker.connect(input.bind("tcp://127.0.0.1:0"));
  ASSERT_SOON(pump_, asker.peers_connected() == 1 && input.peers_connected() == 1);
  std::uint64_t id = 0;
  ASSERT_EQ(asker.send("held", id), Status::ok);
  asker.flush();
  ASSERT_SOON(pump_, forwards.books().held == 1 && input.paused());
  forwards = Forward();
  EXPECT_FALSE(input.paused());
  int came = 0;
  input.on_request([&](const MessageView&, ReplyTo to) {
    ++came;
    EXPECT_EQ(to.send("answer"), Status::ok);
  });
  ASSERT_EQ(asker.send("next", id), Status::ok);
  asker.flush();
  ASSERT_SOON(pump_, came == 1);
}

TEST_F(ForwardEnd, the_input_is_read_again_after_an_end_in_order) {
  Pull input(stage_);
  Push output(stage_);
  Forward forwards = forward(input, output);
  ASSERT_NO_FATAL_FAILURE(connect_source(input));
  ASSERT_NO_FATAL_FAILURE(connect_sink(output));
  bool ended = false;
  forwards.finish(std::chrono::seconds(10), [&] { ended = true; });
  ASSERT_SOON(pump_, ended);
  EXPECT_TRUE(input.paused());
  forwards = Forward();
  EXPECT_FALSE(input.paused());
  forwards = forward(input, output);
  send(1);
  ASSERT_SOON(pump_, came_ == 1);
}

TEST_F(ForwardEnd, no_time_to_linger_is_none_at_all) {
  Pull input(stage_);
  Push output(stage_);
  Forward forwards = forward(input, output);
  ASSERT_NO_FATAL_FAILURE(send_and_hold(input, forwards, 1));
  bool ended = false;
  forwards.finish(std::chrono::nanoseconds::min(), [&] { ended = true; });
  ASSERT_SOON(pump_, ended);
  EXPECT_EQ(forwards.books().dropped, 1U);
}

// What it dropped cannot be told apart from what comes behind it: the position is one number.
TEST_F(ForwardEnd, what_was_held_is_acknowledged_with_what_the_next_one_passes_on) {
  Pull input(stage_, released());
  Push nobody(stage_);
  Push output(stage_);
  Forward forwards = forward(input, nobody);
  ASSERT_NO_FATAL_FAILURE(send_and_hold(input, forwards, 10));
  forwards = Forward();
  pump_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(source_.books().acknowledged, 0U);
  forwards = forward(input, output);
  ASSERT_NO_FATAL_FAILURE(connect_sink(output));
  send(1);
  ASSERT_SOON(pump_, came_ == 1 && source_.books().acknowledged == 11);
}

TEST_F(ForwardEnd, a_call_back_of_the_users_acknowledges_again) {
  Pull input(stage_, released());
  Push nobody(stage_);
  Forward forwards = forward(input, nobody);
  ASSERT_NO_FATAL_FAILURE(send_and_hold(input, forwards, 10));
  forwards = Forward();
  send(1);
  pump_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(source_.books().acknowledged, 0U);
  int came = 0;
  input.on_message([&](const MessageView&) { ++came; });
  ASSERT_SOON(pump_, came == 1 && source_.books().acknowledged == 11);
}

TEST_F(ForwardEnd, it_may_be_destroyed_when_it_tells_of_a_message_that_is_too_large) {
  SocketOptions short_ones;
  short_ones.message_bytes_max = 1000;
  const std::vector<std::byte> large(2000);
  for (const bool held : {false, true}) {
    Pull input(stage_);
    Push output(stage_, short_ones);
    Push source(here_);
    Pull sink(there_);
    Forward forwards = forward(input, output);
    int told = 0;
    forwards.on_dropped([&](const MessageView& message) {
      forwards = Forward();
      EXPECT_EQ(message.size(), large.size());
      ++told;
    });
    if (!held) output.connect(sink.bind("tcp://127.0.0.1:0"));
    source.connect(input.bind("tcp://127.0.0.1:0"));
    ASSERT_SOON(pump_, source.peers_connected() == 1);
    for (const std::size_t bytes : {10U, 2000U, 10U}) {
      ASSERT_EQ(source.send(std::vector<std::byte>(bytes)), Status::ok);
    }
    source.flush();
    if (held) {
      ASSERT_SOON(pump_, forwards.books().held != 0);
      output.connect(sink.bind("tcp://127.0.0.1:0"));
    }
    ASSERT_SOON(pump_, told == 1);
    int left = 0;
    input.on_message([&](const MessageView&) { ++left; });
    ASSERT_EQ(source.send("next"), Status::ok);
    source.flush();
    ASSERT_SOON(pump_, left != 0);
  }
}

TEST_F(ForwardEnd, of_requests_it_may_be_destroyed_when_it_tells_of_one_that_is_too_large) {
  SocketOptions short_ones;
  short_ones.message_bytes_max = 1000;
  Request asker(here_);
  Reply input(stage_);
  Request output(stage_, {}, short_ones);
  Reply answerer(there_);
  answerer.on_request([](const MessageView&, ReplyTo) {});
  Forward forwards = forward(input, output);
  bool told = false;
  forwards.on_dropped([&](const MessageView&) {
    forwards = Forward();
    told = true;
  });
  output.connect(answerer.bind("tcp://127.0.0.1:0"));
  asker.connect(input.bind("tcp://127.0.0.1:0"));
  ASSERT_SOON(pump_, asker.peers_connected() == 1 && output.peers_connected() == 1);
  std::uint64_t id = 0;
  Outcome outcome = Outcome::timed_out;
  asker.on_failed([&](std::uint64_t, Outcome was) { outcome = was; });
  ASSERT_EQ(asker.send(std::vector<std::byte>(2000), id), Status::ok);
  asker.flush();
  ASSERT_SOON(pump_, told && outcome == Outcome::not_answered);
}

TEST_F(ForwardEnd, the_call_for_what_is_dropped_may_set_another) {
  SocketOptions short_ones;
  short_ones.message_bytes_max = 1000;
  Pull input(stage_);
  Push output(stage_, short_ones);
  Forward forwards = forward(input, output);
  int first = 0;
  int second = 0;
  forwards.on_dropped([&](const MessageView&) {
    ++first;
    forwards.on_dropped([&](const MessageView&) { ++second; });
  });
  ASSERT_NO_FATAL_FAILURE(connect_source(input));
  ASSERT_NO_FATAL_FAILURE(connect_sink(output));
  const std::vector<std::byte> large(2000);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(source_.send(large), Status::ok);
  source_.flush();
  ASSERT_SOON(pump_, first == 1 && second == 2);
}

// In the middle of a flood: what the next stage has acknowledged is acknowledged, whatever memory
// was not free yet when this was looked at last.
TEST_F(ForwardEnd, the_good_bye_acknowledges_all_that_was_passed_on) {
  for (int round = 0; round < 10; ++round) {
    Pull input(stage_, released());
    Push output(stage_);
    Push source(here_);
    Pull sink(there_);
    std::uint64_t came = 0;
    sink.on_message([&](const MessageView&) { ++came; });
    Forward forwards = forward(input, output);
    output.connect(sink.bind("tcp://127.0.0.1:0"));
    source.connect(input.bind("tcp://127.0.0.1:0"));
    ASSERT_SOON(pump_, source.peers_connected() == 1 && output.peers_connected() == 1);
    bool closed = false;
    input.on_closed([&](const Books&) { closed = true; });
    const std::vector<std::byte> message(1000);
    bool ending = false;
    while (!closed) {
      for (int i = 0; i < 1000 && source.send(message) == Status::ok; ++i) continue;
      if (came > 10'000 && !std::exchange(ending, true)) {
        forwards.finish(std::chrono::seconds(10), [&] {
          input.close(std::chrono::seconds(10));
          output.close(std::chrono::seconds(10));
        });
      }
      pump_.turn();
    }
    ASSERT_SOON(pump_, source.peers_connected() == 0 && came == output.books().sent);
    EXPECT_EQ(source.books().acknowledged, came);
  }
}

// The sink goes while messages are held for it.
TEST_F(ForwardEnd, what_a_sink_took_before_it_went_is_acknowledged) {
  Pull input(stage_, released());
  Push output(stage_);
  auto sink = std::make_unique<Pull>(there_);
  std::uint64_t came = 0;
  sink->on_message([&](const MessageView&) {
    if (++came == 1000) sink->close(std::chrono::seconds(10));
  });
  Forward forwards = forward(input, output);
  output.connect(sink->bind("tcp://127.0.0.1:0"));
  ASSERT_NO_FATAL_FAILURE(connect_source(input));
  ASSERT_SOON(pump_, output.peers_connected() == 1);
  bool gone = false;
  bool closed = false;
  input.on_closed([&](const Books&) { closed = true; });
  output.on_down([&](const PeerInfo&, const Down&) {
    gone = true;
    forwards.finish(std::chrono::nanoseconds(0), [&] { input.close(std::chrono::seconds(10)); });
  });
  const std::vector<std::byte> message(1000);
  while (!gone) {
    for (int i = 0; i < 100 && source_.send(message) == Status::ok; ++i) continue;
    pump_.turn();
  }
  ASSERT_SOON(pump_, closed && source_.peers_connected() == 0);
  EXPECT_EQ(came, 1000U);
  EXPECT_LE(source_.books().acknowledged, came);
  EXPECT_GE(source_.books().acknowledged, came - 100);  // by whole pages
  forwards = Forward();
}

TEST_F(ForwardEnd, tags_that_only_its_subscribers_wanted_are_given_up) {
  Publish source(here_);
  Subscribe input(stage_);
  Publish output(stage_);
  Subscribe sink(there_);
  input.subscribe(7);
  Forward forwards = forward(input, output);
  input.connect(source.bind("tcp://127.0.0.1:0"));
  sink.subscribe(8);
  sink.connect(output.bind("tcp://127.0.0.1:0"));
  const auto subscribed = [&](std::uint64_t tag) {
    for (const TagRange& range : input.subscribed()) {
      if (range.first <= tag && tag <= range.last) return true;
    }
    return false;
  };
  ASSERT_SOON(pump_, subscribed(8));
  forwards = Forward();
  EXPECT_TRUE(subscribed(7));
  EXPECT_FALSE(subscribed(8));
}

}  // namespace
}  // namespace netio::test
