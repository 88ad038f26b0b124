// How full a publisher is: as full as the subscriber that will hold it up first, and no fuller.
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "conformance/publishing.hpp"

namespace netio::test {
namespace {

class PublishBusy : public Publishing {
 protected:
  static constexpr std::size_t message_bytes = 2000;
  static constexpr std::size_t queue_bytes = std::size_t{1} << 20U;
  static constexpr SubscribeOptions blocking{.policy = Policy::block,
                                             .behind_bytes_max = queue_bytes};

  // A subscriber to everything that writes nothing down.
  struct Taker {
    Taker(PublishBusy& test, const std::string& address, const SubscribeOptions& subscription)
        : socket(test.there_, subscription, test.options()) {
      socket.on_message([](const MessageView&) {});
      socket.on_subscribed([this](const PeerInfo&, const Subscribed&) { told = true; });
      socket.subscribe_all();
      socket.connect(address);
    }
    Subscribe socket;
    bool told = false;
  };
  struct Busy {
    explicit Busy(Publish& socket) {
      socket.on_high_watermark([this] { ++high; });
      socket.on_low_watermark([this] { ++low; });
    }
    [[nodiscard]] bool now() const { return high > low; }
    int high = 0;
    int low = 0;
  };
  [[nodiscard]] SocketOptions publisher_options() const {
    SocketOptions small = options();
    small.send_bytes_max = 128U << 10U;
    return small;
  }
  // One message; a turn without waiting follows.
  bool publish_one(Publish& publish) {
    const Status status = publish.send(message_, 1);
    pump_.turn(0ms);
    return status == Status::ok;
  }
  // Publishes until the answer stays again; how many were taken.
  std::uint64_t publish_until_held_up(Publish& publish) {
    std::uint64_t taken = 0;
    for (int refused = 0; refused < 50 && taken < 100'000;) {
      const bool ok = publish_one(publish);
      refused = ok ? 0 : refused + 1;
      taken += ok ? 1 : 0;
      if (!ok) pump_.turn();
    }
    return taken;
  }

  const std::vector<std::byte> message_ = payload(0, message_bytes);
};

TEST_P(PublishBusy, is_raised_while_a_quarter_of_one_queue_of_eight_is_free) {
  Publish publish(here_, {}, publisher_options());
  Busy busy(publish);
  const std::string address = bind(publish);
  std::deque<Taker> takers;
  for (int i = 0; i < 8; ++i) takers.emplace_back(*this, address, blocking);
  for (const Taker& taker : takers) ASSERT_SOON(pump_, taker.told);
  pump_.turns(3);
  EXPECT_FALSE(busy.now());
  takers[3].socket.pause();
  std::uint64_t taken = 0;
  std::uint64_t taken_at_busy = 0;
  std::uint64_t taken_when_full = 0;
  for (int refused = 0; refused < 50 && taken < 100'000;) {
    const double before = publish.fill();
    if (publish_one(publish)) {
      refused = 0;
      ++taken;
      taken_when_full += before >= 1.0 ? 1 : 0;
    } else {
      ++refused;
      pump_.turn();
    }
    if (!busy.now()) taken_at_busy = taken;
  }
  EXPECT_DOUBLE_EQ(publish.fill(), 1.0);
  EXPECT_TRUE(busy.now());
  EXPECT_GE((taken - taken_at_busy) * message_bytes, queue_bytes / 4);
  EXPECT_LE(taken_when_full, GetParam().page_bytes / message_bytes + 1) << "but for an open page";
  takers[3].socket.resume();
  ASSERT_SOON(pump_, !busy.now() && publish.fill() <= 0.25);
  EXPECT_TRUE(publish_one(publish));
  settle(publish);
  EXPECT_EQ(publish.books().dropped(), 0U);
}

// A message that is refused may have opened a page for those who would have taken it. A flush in
// the same turn must not leave it open: what is gathered there later would stay.
TEST_P(PublishBusy, keeps_no_page_open_for_a_message_that_it_refused) {
  Publish publish(here_, {}, publisher_options());
  const std::string address = bind(publish);
  // Subscribers are asked in any order: one of the two others is asked before the one that blocks.
  std::deque<Subscribe> subscribers;
  std::size_t told = 0;
  std::array<std::uint64_t, 3> received{};
  for (std::size_t i = 0; i < 3; ++i) {
    Subscribe& one = subscribers.emplace_back(there_, blocking, options());
    one.on_message([&received, i](const MessageView& message) {
      received[i] += message.tag() == 100 + i ? 1U : 0U;
    });
    one.on_subscribed([&told](const PeerInfo&, const Subscribed&) { ++told; });
    one.subscribe(1);
    one.subscribe(100 + i);
    one.connect(address);
    ASSERT_SOON(pump_, told == i + 1);
  }
  subscribers[1].pause();
  ASSERT_GT(publish_until_held_up(publish), 0U);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(publish.send(message_, 1), Status::again);
    publish.flush();
    for (const std::uint64_t tag : {100U, 102U}) ASSERT_EQ(publish.send("small", tag), Status::ok);
    EXPECT_SOON(pump_, received[0] == received[2] && received[2] == std::uint64_t(i) + 1);
  }
}

TEST_P(PublishBusy, is_not_raised_for_subscribers_that_lose_messages) {
  Publish publish(here_, {}, publisher_options());
  Busy busy(publish);
  Taker slow(*this, bind(publish), {.policy = Policy::drop_new, .behind_bytes_max = queue_bytes});
  ASSERT_SOON(pump_, slow.told);
  slow.socket.pause();
  for (int i = 0; i < 100'000 && publish.books().dropped() < 100; ++i) {
    ASSERT_TRUE(publish_one(publish));
    ASSERT_LT(publish.fill(), 0.75);
  }
  EXPECT_GE(publish.books().dropped(), 100U);
  EXPECT_EQ(busy.high, 0);
}

TEST_P(PublishBusy, is_cleared_when_the_last_subscriber_leaves) {
  Publish publish(here_, {}, publisher_options());
  Busy busy(publish);
  EXPECT_DOUBLE_EQ(publish.fill(), 0.0) << "nobody holds it up";
  pump_.turns(3);
  EXPECT_EQ(busy.high, 0);
  const std::string address = bind(publish);
  std::optional<Taker> only(std::in_place, *this, address, blocking);
  ASSERT_SOON(pump_, only->told);
  only.reset();
  ASSERT_SOON(pump_, publish.peers_connected() == 0);
  pump_.turns(3);
  EXPECT_DOUBLE_EQ(publish.fill(), 0.0);
  EXPECT_FALSE(busy.now());
  // The same of one that held it up.
  only.emplace(*this, address, blocking);
  ASSERT_SOON(pump_, only->told);
  only->socket.pause();
  (void)publish_until_held_up(publish);
  EXPECT_DOUBLE_EQ(publish.fill(), 1.0);
  EXPECT_TRUE(busy.now());
  only.reset();
  ASSERT_SOON(pump_, publish.peers_connected() == 0 && !busy.now());
  EXPECT_DOUBLE_EQ(publish.fill(), 0.0);
  EXPECT_TRUE(publish_one(publish));
}

TEST_P(PublishBusy, ends_with_the_socket) {
  Publish publish(here_, {}, publisher_options());
  Busy busy(publish);
  int closed = 0;
  publish.on_closed([&closed](const Books&) { ++closed; });
  Taker slow(*this, bind(publish), blocking);
  ASSERT_SOON(pump_, slow.told);
  slow.socket.pause();
  (void)publish_until_held_up(publish);
  EXPECT_TRUE(busy.now());
  publish.close(20ms);
  ASSERT_SOON(pump_, closed == 1);
  EXPECT_DOUBLE_EQ(publish.fill(), 0.0);
  EXPECT_FALSE(busy.now());
}

ON_EVERY_TRANSPORT_AND_MODE(PublishBusy);

}  // namespace
}  // namespace netio::test
