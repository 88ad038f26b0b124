// A stream that goes on over another wire than before: what tcp did not deliver is kept, and comes
// over shared memory.
#include <memory>
#include <string>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

class WireMove : public testing::TestWithParam<Mode> {
 protected:
  [[nodiscard]] static SocketOptions keeping() {
    SocketOptions options;
    options.mode = GetParam();
    options.resume_bytes_max = std::size_t{1} << 20U;
    options.reconnect_after_min = 2ms;
    options.reconnect_after_max = 20ms;
    return options;
  }
  static std::size_t size_of(std::uint64_t number) {
    if (number % 200 == 99) return 150'000;
    return number % 50 == 20 ? 30'000 : 10 + number * 31 % 900;
  }
  // Connects through a relay, which cuts the connection over tcp while the dialing side waits for
  // an answer over shared memory. So the next connection stays on tcp.
  void begin_on_tcp(Socket& bound, Socket& dialing) {
    const std::string address = bound.bind("netio://127.0.0.1:0");
    relay_ = std::make_unique<Relay>("tcp" + address.substr(5));
    dialing.connect("netio" + relay_->address().substr(3));
    while (relay_->bytes_from_target() == 0) {
      here_.loop().run_once(1ms);
      if (relay_->bytes_from_target() == 0) there_.loop().run_once(std::chrono::nanoseconds(0));
    }
    // Turns, not only time: this thread may not run for longer than that.
    const auto only_here = [this] {
      const auto end = std::chrono::steady_clock::now() + 20ms;
      for (int turn = 0; turn < 20 || std::chrono::steady_clock::now() < end; ++turn) {
        here_.loop().run_once(1ms);
      }
    };
    only_here();
    relay_->cut();
    only_here();
    ASSERT_SOON(pump_, dialing.peers_connected() == 1 && bound.peers_connected() == 1);
    ASSERT_EQ(dialing.peers().at(0).wire, "tcp");
    const std::string why = dialing.peers().at(0).wire_reason;
    ASSERT_TRUE(why.starts_with("shm: failed before it was up: ")) << why;
  }
  template <typename Sender>
  void send(Sender& socket, std::uint64_t last) {
    for (; sent_ < last; ++sent_) {
      const auto message = payload(sent_, size_of(sent_));
      Status status = Status::again;
      ASSERT_SOON(pump_, (status = socket.send(message, sent_)) == Status::ok);
    }
  }
  void take(const MessageView& message) {
    if (message.tag() != received_ || !is_payload(message.bytes(), message.tag())) ++wrong_;
    ++received_;
  }
  // Cuts tcp with much under way; whatever follows goes over shared memory.
  template <typename Sender>
  void move(Sender& sender, Socket& bound, Socket& dialing) {
    send(sender, 300);
    relay_->hold(true);
    // As much as is kept, some of it behind the relay.
    for (bool taken = true; taken;) {
      taken = sender.send(payload(sent_, size_of(sent_)), sent_) == Status::ok;
      if (taken) ++sent_;
    }
    pump_.turns(8);
    relay_->cut();
    relay_->hold(false);
    ASSERT_SOON(pump_, dialing.peers_connected() == 1 && dialing.peers().at(0).wire == "shm" &&
                           bound.peers_connected() == 1);
    send(sender, sent_ + 1000);
    ASSERT_SOON(pump_, sender.books().acknowledged + sender.books().dropped() == sent_);
    EXPECT_EQ(received_, sent_);
    EXPECT_EQ(wrong_, 0U);
    EXPECT_EQ(sender.books().dropped(), 0U);
    EXPECT_GT(sender.counters().resent, 0U);
    EXPECT_EQ(bound.peers().at(0).wire, "shm");
    EXPECT_TRUE(add_up(sender.books()));
  }

  Context here_{small_context()};
  Context there_{small_context()};
  Pump pump_{&here_, &there_};
  std::unique_ptr<Relay> relay_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t wrong_ = 0;
};

TEST_P(WireMove, of_a_sender_that_dialed_loses_nothing) {
  Pull pull(there_, keeping());
  Push push(here_, keeping());
  pull.on_message([this](const MessageView& message) { take(message); });
  begin_on_tcp(pull, push);
  move(push, pull, push);
}

// On tcp a large segment goes as it lies, behind a front; shared memory has none.
TEST_P(WireMove, of_messages_with_a_front_loses_nothing) {
  SocketOptions options = keeping();
  options.resume_bytes_max = std::size_t{4} << 20U;
  Pull pull(there_, options);
  Push push(here_, options);
  const auto head = payload(1, 100);
  const auto body = payload(2, 40'000);
  pull.on_message([&](const MessageView& message) {
    const auto segments = message.segments();
    const bool whole = segments.size() == 2 && is_payload(segments[0], 1) &&
                       segments[0].size() == head.size() && is_payload(segments[1], 2) &&
                       segments[1].size() == body.size();
    if (!whole) ++wrong_;
    ++received_;
  });
  begin_on_tcp(pull, push);
  const auto send_one = [&] {
    const Status status = push.send_segments({head, Message::copy_of(body)});
    if (status == Status::ok) ++sent_;
    return status;
  };
  relay_->hold(true);
  while (send_one() == Status::ok) pump_.turn(0ms);
  relay_->cut();
  relay_->hold(false);
  ASSERT_SOON(pump_, push.peers_connected() == 1 && push.peers().at(0).wire == "shm");
  for (int i = 0; i < 20; ++i) ASSERT_SOON(pump_, send_one() == Status::ok);
  ASSERT_SOON(pump_, push.books().acknowledged + push.books().dropped() == sent_);
  EXPECT_EQ(received_, sent_);
  EXPECT_EQ(wrong_, 0U);
  EXPECT_EQ(push.books().dropped(), 0U);
  EXPECT_GT(push.counters().resent, 0U);
}

TEST_P(WireMove, of_a_receiver_that_dialed_loses_nothing) {
  Push push(there_, keeping());
  Pull pull(here_, keeping());
  pull.on_message([this](const MessageView& message) { take(message); });
  begin_on_tcp(push, pull);
  move(push, push, pull);
}

TEST_P(WireMove, of_a_subscriber_loses_nothing) {
  Publish publish(there_, {}, keeping());
  Subscribe subscribe(here_, {.policy = Policy::block}, keeping());
  bool told = false;
  subscribe.on_subscribed([&](const PeerInfo&, const Subscribed&) { told = true; });
  subscribe.on_message([this](const MessageView& message) { take(message); });
  subscribe.subscribe_all();
  begin_on_tcp(publish, subscribe);
  ASSERT_SOON(pump_, told);
  move(publish, publish, subscribe);
  EXPECT_EQ(subscribe.books().missed, 0U);
}

INSTANTIATE_TEST_SUITE_P(in, WireMove, testing::Values(Mode::buffered, Mode::unbuffered),
                         [](const testing::TestParamInfo<Mode>& mode) {
                           return std::string(mode.param == Mode::buffered ? "buffered"
                                                                           : "unbuffered");
                         });

}  // namespace
}  // namespace netio::test
