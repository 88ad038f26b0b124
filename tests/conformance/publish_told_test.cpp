// What a subscriber that is behind is told: each reason for which messages of it were dropped, and
// why it was disconnected.
#include <array>
#include <cstdint>
#include <numeric>

#include "conformance/publishing.hpp"

namespace netio::test {
namespace {

class PublishTold : public Publishing {
 protected:
  static constexpr std::size_t message_bytes = 1000;
  static constexpr std::size_t queue_bytes = 256U << 10U;

  // A subscriber to everything that sums up what it is told.
  struct Listener : Reader {
    Listener(PublishTold& test, const std::string& address, const SubscribeOptions& subscription)
        : Reader(test, address, subscription) {
      socket.on_message([this](const MessageView& message) {
        in_order = in_order && number_of(message.bytes()) == next;
        ++next;
      });
      socket.on_gap([this](const PeerInfo&, const Gap& gap) {
        gaps.push_back(gap);
        in_order = in_order && gap.first == next;
        next += gap.count;
        missed_by.at(static_cast<std::size_t>(gap.reason)) += gap.count;
      });
      socket.subscribe_all();
    }
    std::uint64_t next = 0;
    bool in_order = true;
    std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count_)> missed_by{};
  };

  // Publishes the next numbers until that many more were dropped.
  void publish_until_dropped(Publish& publish, std::uint64_t& number, std::uint64_t count) {
    const std::uint64_t enough = publish.books().dropped() + count;
    for (const std::uint64_t end = number + 200'000; number < end; ++number) {
      if (publish.books().dropped() >= enough) return;
      ASSERT_EQ(send(publish, number, 1, message_bytes), Status::ok);
      if (number % 64 == 0) pump_.turn(0ms);
    }
    FAIL() << "nothing was dropped";
  }
  // Publishes until the next message is for `others` subscribers alone.
  void publish_until_dismissed(Publish& publish, std::uint64_t& number, std::uint64_t others) {
    ASSERT_SOON(pump_, [&] {
      const std::uint64_t before = publish.books().sent;
      EXPECT_EQ(send(publish, number++, 1, message_bytes), Status::ok);
      return publish.books().sent == before + others;
    }());
  }
};

TEST_P(PublishTold, each_reason_of_messages_dropped_in_a_row_is_a_gap_of_its_own) {
  Publish publish(here_, {}, options());
  SocketOptions small = options();
  small.message_bytes_max = 5000;
  Subscribe slow(there_, {.policy = Policy::drop_new, .behind_bytes_max = queue_bytes}, small);
  std::vector<Gap> gaps;
  bool told = false;
  slow.on_message([](const MessageView&) {});
  slow.on_gap([&gaps](const PeerInfo&, const Gap& gap) { gaps.push_back(gap); });
  slow.on_subscribed([&told](const PeerInfo&, const Subscribed&) { told = true; });
  slow.subscribe_all();
  slow.connect(bind(publish));
  ASSERT_SOON(pump_, told);
  slow.pause();
  std::uint64_t number = 0;
  publish_until_dropped(publish, number, 100);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(send(publish, number++, 1, 6000), Status::ok);  // larger than it takes
    publish.flush();
  }
  publish_until_dropped(publish, number, 100);
  publish.flush();
  slow.resume();
  ASSERT_SOON(pump_, slow.books().delivered + slow.books().missed == number);
  settle(publish);
  const Books books = publish.books();
  EXPECT_EQ(books.dropped_by[static_cast<std::size_t>(DropReason::not_sent)], 3U);
  for (const DropReason reason : {DropReason::dropped_new, DropReason::not_sent}) {
    const std::uint64_t missed = std::accumulate(
        gaps.begin(), gaps.end(), std::uint64_t{0}, [reason](std::uint64_t sum, const Gap& gap) {
          return sum + (gap.reason == reason ? gap.count : 0);
        });
    EXPECT_EQ(missed, books.dropped_by[static_cast<std::size_t>(reason)]) << to_string(reason);
  }
}

TEST_P(PublishTold, why_it_was_disconnected_if_it_reads_on) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  const std::string address = bind(publish);
  Listener slow(*this, address, {.policy = Policy::disconnect, .behind_bytes_max = queue_bytes});
  Listener other(*this, address, {.policy = Policy::block});
  ASSERT_SOON(pump_, slow.told() && other.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until_dropped(publish, number, 1);
  publish_until_dismissed(publish, number, 1);
  slow.socket.resume();
  ASSERT_SOON(pump_, !slow.seen.downs.empty() && !at_publish.downs.empty());
  EXPECT_EQ(slow.seen.downs[0].down.reason, DownReason::too_slow) << slow.seen.why();
  EXPECT_NE(slow.seen.why().find("behind"), std::string::npos) << slow.seen.why();
  EXPECT_TRUE(slow.seen.downs[0].peer.retrying);
  EXPECT_EQ(at_publish.downs[0].down.reason, DownReason::too_slow) << at_publish.why();
  // Nothing is in doubt: all that it was sent it has got.
  EXPECT_EQ(at_publish.downs[0].peer.books.acknowledged, slow.socket.books().delivered);
  EXPECT_EQ(at_publish.downs[0].peer.books.unacknowledged, 0U);
  // It comes back by itself, is told what it has missed, and goes on.
  ASSERT_SOON(pump_, slow.answers.size() == 2) << slow.seen.why() << at_publish.why();
  EXPECT_EQ(slow.answers.back().from, slow.next);
  EXPECT_TRUE(slow.in_order);
  const std::uint64_t before = slow.next;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(send(publish, number++, 1, message_bytes), Status::ok);
  }
  ASSERT_SOON(pump_, slow.next == before + 10 && other.next == number);
  settle(publish);
  EXPECT_TRUE(other.in_order && other.gaps.empty());
  EXPECT_EQ(slow.socket.books().delivered + slow.socket.books().missed, slow.next);
  EXPECT_TRUE(add_up(publish.books()));
}

TEST_P(PublishTold, why_it_was_disconnected_by_a_publisher_that_had_dialed) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  Subscribe slow(there_, {.policy = Policy::disconnect, .behind_bytes_max = queue_bytes},
                 options());
  Seen at_slow(slow);
  std::vector<Subscribed> answers;
  slow.on_message([](const MessageView&) {});
  slow.on_subscribed(
      [&answers](const PeerInfo&, const Subscribed& answer) { answers.push_back(answer); });
  slow.subscribe_all();
  publish.connect(bind(slow));
  ASSERT_SOON(pump_, answers.size() == 1);
  slow.pause();
  std::uint64_t number = 0;
  publish_until_dropped(publish, number, 1);
  publish_until_dismissed(publish, number, 0);
  slow.resume();
  ASSERT_SOON(pump_, !at_slow.downs.empty() && !at_publish.downs.empty());
  EXPECT_EQ(at_slow.downs[0].down.reason, DownReason::too_slow) << at_slow.why();
  EXPECT_EQ(at_publish.downs[0].down.reason, DownReason::too_slow) << at_publish.why();
  EXPECT_TRUE(at_publish.downs[0].peer.retrying);
  ASSERT_SOON(pump_, answers.size() == 2);
  EXPECT_EQ(answers[1].from, slow.books().delivered + slow.books().missed);
  ASSERT_EQ(send(publish, number++, 1, message_bytes), Status::ok);
  settle(publish);
  EXPECT_EQ(slow.books().delivered + slow.books().missed, answers[1].from + 1);
  EXPECT_EQ(publish.books().dropped(), slow.books().missed);
  EXPECT_TRUE(add_up(publish.books()));
}

// It holds its connection only for as long as a greeting might take.
TEST_P(PublishTold, nothing_if_it_reads_nothing_and_is_disconnected_all_the_same) {
  SocketOptions soon = options();
  soon.handshake_within = 300ms;
  Publish publish(here_, {}, soon);
  Seen at_publish(publish);
  Listener slow(*this, bind(publish),
                {.policy = Policy::disconnect, .behind_bytes_max = queue_bytes});
  ASSERT_SOON(pump_, slow.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until_dropped(publish, number, 1);
  ASSERT_SOON(pump_, !at_publish.downs.empty());
  EXPECT_EQ(at_publish.downs[0].down.reason, DownReason::too_slow) << at_publish.why();
  EXPECT_TRUE(add_up(publish.books()));
  // What is published meanwhile is not for it.
  const std::uint64_t sent = publish.books().sent;
  ASSERT_EQ(send(publish, number++, 1, message_bytes), Status::ok);
  EXPECT_EQ(publish.books().sent, sent);
  slow.socket.resume();
  ASSERT_SOON(pump_, slow.answers.size() == 2) << slow.seen.why() << at_publish.why();
  EXPECT_EQ(slow.answers.back().from, slow.next);
}

// The publisher closes while one is on its way out.
TEST_P(PublishTold, why_it_was_disconnected_though_the_publisher_closes_as_well) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  Listener slow(*this, bind(publish),
                {.policy = Policy::disconnect, .behind_bytes_max = queue_bytes});
  ASSERT_SOON(pump_, slow.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until_dropped(publish, number, 1);
  publish_until_dismissed(publish, number, 0);
  publish.close(30s);
  pump_.turns(3);
  slow.socket.resume();
  ASSERT_SOON(pump_, at_publish.closings.size() == 1 && !slow.seen.downs.empty());
  EXPECT_EQ(slow.seen.downs[0].down.reason, DownReason::too_slow) << slow.seen.why();
  EXPECT_TRUE(add_up(at_publish.closings[0]));
}

// Nor does one that is on its way out keep the publisher from closing.
TEST_P(PublishTold, nothing_if_it_reads_nothing_and_closing_waits_no_longer_for_it) {
  SocketOptions soon = options();
  soon.handshake_within = 300ms;
  Publish publish(here_, {}, soon);
  Seen at_publish(publish);
  Listener slow(*this, bind(publish),
                {.policy = Policy::disconnect, .behind_bytes_max = queue_bytes});
  ASSERT_SOON(pump_, slow.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until_dropped(publish, number, 1);
  publish_until_dismissed(publish, number, 0);
  publish.close(1h);
  ASSERT_SOON(pump_, at_publish.closings.size() == 1);
  EXPECT_EQ(at_publish.downs.at(0).down.reason, DownReason::too_slow) << at_publish.why();
  EXPECT_TRUE(add_up(at_publish.closings[0]));
}

ON_EVERY_TRANSPORT_AND_MODE(PublishTold);

}  // namespace
}  // namespace netio::test
