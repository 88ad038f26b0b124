// A subscriber whose connection is cut is one that takes nothing for a while: its policy applies,
// and what it was sent comes once and in order when it is back.
#include <memory>
#include <vector>

#include "conformance/publishing.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

class PublishResume : public Publishing {
 protected:
  // A subscriber to all tags, which checks that the numbers of what it is given and of what
  // is missing leave none out. The tag of each message is its number in the publisher.
  struct Reader {
    Reader(PublishResume& test, const SubscribeOptions& subscription)
        : socket(test.there_, subscription, test.keeping()) {
      socket.on_message([this](const MessageView& message) {
        const std::uint64_t number = message.tag() >> 10U;
        if (number < next) ++wrong;
        if (!is_payload(message.bytes(), number)) ++wrong;
        skipped += number - next;
        next = number + 1;
        ++received;
      });
      socket.on_gap([this](const PeerInfo&, const Gap& gap) { told_missing += gap.count; });
      socket.on_subscribed([this](const PeerInfo&, const Subscribed&) { ++answers; });
      socket.subscribe_all();
    }
    Subscribe socket;
    std::uint64_t next = 0;
    std::uint64_t received = 0;
    std::uint64_t skipped = 0;
    std::uint64_t told_missing = 0;
    std::uint64_t wrong = 0;
    int answers = 0;
  };
  Status publish_next(Publish& socket, std::size_t size) {
    const Status status = send(socket, number_, number_ << 10U, size);
    if (status == Status::ok) ++number_;
    return status;
  }
  std::uint64_t number_ = 0;
};

TEST_P(PublishResume, nothing_is_lost_with_block_wherever_a_connection_is_cut) {
  Publish publish(here_, {}, keeping());
  Relay relay(bind(publish));
  Reader reader(*this, {.policy = Policy::block});
  reader.socket.connect(relay.address());
  ASSERT_SOON(pump_, reader.answers == 1);
  pump_.after_each_turn(BooksCheck(publish));
  pump_.after_each_turn(BooksCheck(reader.socket));
  Random random(7);
  while (relay.cuts() < 30 || publish.counters().resent == 0) {
    // Towards who sends go acknowledgements alone.
    if (!relay.fault_pending()) relay.cut_after(random.below(400));
    for (int i = 0; i < 100; ++i) ASSERT_EQ(publish_next(publish, size_of(number_)), Status::ok);
    pump_.turn();
    ASSERT_LT(number_, 100'000U);
  }
  relay.cut_no_more();
  ASSERT_SOON(pump_, publish.books().acknowledged == number_);
  EXPECT_EQ(reader.received, number_);
  EXPECT_EQ(reader.wrong + reader.skipped + reader.told_missing, 0U);
  EXPECT_EQ(reader.socket.books().missed, 0U);
  EXPECT_EQ(publish.books().dropped(), 0U);
  EXPECT_GT(publish.counters().resent, 0U);
  pump_.forget_checks();
}

TEST_P(PublishResume, nothing_is_lost_where_the_publisher_dialed) {
  Reader reader(*this, {.policy = Policy::block});
  Relay relay(bind(reader.socket));
  Publish publish(here_, {}, keeping());
  publish.connect(relay.address());
  ASSERT_SOON(pump_, reader.answers == 1);
  pump_.after_each_turn(BooksCheck(publish));
  for (std::uint64_t round = 0; round < 20; ++round) {
    for (int i = 0; i < 300; ++i) ASSERT_EQ(publish_next(publish, size_of(number_)), Status::ok);
    ASSERT_SOON(pump_, publish.peers_connected() == 1);
    relay.cut();
    ASSERT_SOON(pump_, publish.counters().disconnects == round + 1);
  }
  ASSERT_SOON(pump_, publish.books().acknowledged == number_)
      << "acknowledged " << publish.books().acknowledged << " of " << number_ << ", received "
      << reader.received << ", connected " << publish.peers_connected() << " and "
      << reader.socket.peers_connected() << ", disconnects " << publish.counters().disconnects
      << " and " << reader.socket.counters().disconnects;
  EXPECT_EQ(reader.received, number_);
  EXPECT_EQ(reader.wrong + reader.skipped + reader.told_missing, 0U);
  pump_.forget_checks();
}

// Each number is given once, or told as missing. Of what is kept for who can do without it, the
// oldest is given up where a message would have to wait.
TEST_P(PublishResume, what_a_policy_drops_is_told_over_all_connections) {
  for (const Policy policy : {Policy::drop_new, Policy::drop_old, Policy::sample}) {
    SCOPED_TRACE(static_cast<int>(policy));
    number_ = 0;
    Publish publish(here_, {}, keeping());
    Relay relay(bind(publish));
    Reader reader(*this, {.policy = policy, .behind_bytes_max = 20'000});
    reader.socket.connect(relay.address());
    ASSERT_SOON(pump_, reader.answers == 1);
    Random random(3);
    while (relay.cuts() < 10) {
      if (!relay.fault_pending()) relay.cut_after(random.below(400));
      for (int i = 0; i < 100; ++i) ASSERT_EQ(publish_next(publish, size_of(number_)), Status::ok);
      pump_.turns(2);
    }
    relay.cut_no_more();
    ASSERT_SOON(pump_, publish.peers_connected() == 1 && reader.socket.peers_connected() == 1);
    ASSERT_SOON(pump_, publish.books().unsettled() == 0);
    ASSERT_EQ(publish_next(publish, 10), Status::ok);
    ASSERT_SOON(pump_, reader.next == number_);
    EXPECT_EQ(reader.wrong, 0U);
    EXPECT_EQ(reader.skipped, reader.told_missing);
    EXPECT_EQ(reader.received + reader.told_missing, number_);
    EXPECT_EQ(publish.books().sent, number_);
    EXPECT_EQ(publish.books().dropped(), reader.told_missing);
  }
}

// It holds the publisher up, as one that takes nothing does.
TEST_P(PublishResume, who_is_away_holds_the_publisher_up_with_block_until_it_is_given_up) {
  SocketOptions with = keeping();
  with.resume_within = 300ms;
  Publish publish(here_, {}, with);
  int gone = 0;
  publish.on_unsubscribe([&](const PeerInfo&, std::span<const TagRange>) { ++gone; });
  Relay relay(bind(publish));
  Reader reader(*this, {.policy = Policy::block, .behind_bytes_max = 1000});
  reader.socket.connect(relay.address());
  ASSERT_SOON(pump_, reader.answers == 1);
  relay.forbid(true);
  ASSERT_SOON(pump_, publish.counters().disconnects == 1);
  const auto message = payload(0, 500);
  Status status = Status::ok;
  for (int i = 0; i < 2000 && status == Status::ok; ++i) {
    status = publish.send(message, 1);
    publish.flush();
  }
  EXPECT_EQ(status, Status::again);
  EXPECT_EQ(gone, 0);
  EXPECT_EQ(publish.peers().size(), 1U);
  bool told = false;
  publish.on_writable([&] { told = true; });
  ASSERT_SOON(pump_, told);
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(publish.send(message, 1), Status::ok);
  ASSERT_SOON(pump_, publish.peers().empty());
  EXPECT_TRUE(add_up(publish.books()));
  EXPECT_EQ(publish.books().unacknowledged, 0U);
  // It begins anew when it is back, and is told what it did not get.
  relay.forbid(false);
  ASSERT_SOON(pump_, reader.answers == 2);
}

// After block_for_max it has lost its policy, and gets it back when it is back.
TEST_P(PublishResume, who_is_away_for_too_long_does_not_hold_the_others_up) {
  Publish publish(here_, {.block_for_max = 200ms}, keeping());
  int changes = 0;
  publish.on_policy_changed([&](const PeerSnapshot&) { ++changes; });
  const std::string address = bind(publish);
  Relay relay(address);
  Reader away(*this, {.policy = Policy::block, .behind_bytes_max = 1000});
  away.socket.connect(relay.address());
  Reader other(*this, {.policy = Policy::block});
  other.socket.connect(address);
  ASSERT_SOON(pump_, away.answers == 1 && other.answers == 1);
  relay.forbid(true);
  ASSERT_SOON(pump_, publish.counters().disconnects == 1);
  while (changes == 0) ASSERT_EQ(publish_next(publish, 500), Status::ok);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(publish_next(publish, 500), Status::ok);
  ASSERT_SOON(pump_, other.received == number_);
  relay.forbid(false);
  ASSERT_SOON(pump_, changes == 2 && away.socket.peers_connected() == 1);
  ASSERT_EQ(publish_next(publish, 500), Status::ok);
  ASSERT_SOON(pump_, away.next == number_);
  EXPECT_EQ(away.wrong, 0U);
  EXPECT_EQ(away.received + away.told_missing, number_);
  EXPECT_GT(away.told_missing, 0U);
}

// What it asks for meanwhile is in force when it is back.
TEST_P(PublishResume, a_set_that_changes_while_it_is_away_is_told_when_it_is_back) {
  Publish publish(here_, {}, keeping());
  Relay relay(bind(publish));
  Subscribe subscribe(there_, {.policy = Policy::block}, keeping());
  std::vector<std::uint64_t> tags;
  std::vector<Subscribed> answers;
  subscribe.on_message([&](const MessageView& message) { tags.push_back(message.tag()); });
  subscribe.on_subscribed(
      [&](const PeerInfo&, const Subscribed& answer) { answers.push_back(answer); });
  subscribe.subscribe(TagRange{1, 1});
  subscribe.connect(relay.address());
  ASSERT_SOON(pump_, answers.size() == 1);
  relay.forbid(true);
  ASSERT_SOON(pump_, subscribe.peers_connected() == 0 && publish.peers_connected() == 0);
  ASSERT_EQ(publish.send(payload(0, 10), 1), Status::ok);
  ASSERT_EQ(publish.send(payload(0, 10), 2), Status::ok);  // nobody wants it
  subscribe.subscribe(TagRange{2, 2});
  pump_.turns(10);
  relay.forbid(false);
  ASSERT_SOON(pump_, answers.size() == 3);
  // The set that it had is in force first.
  EXPECT_EQ(answers[1].revision, answers[0].revision);
  EXPECT_EQ(answers[1].from, 0U);
  EXPECT_GT(answers[2].revision, answers[0].revision);
  EXPECT_EQ(answers[2].from, 1U);
  EXPECT_FALSE(answers[0].goes_on);
  EXPECT_TRUE(answers[1].goes_on);
  EXPECT_TRUE(answers[2].goes_on);
  ASSERT_EQ(publish.send(payload(0, 10), 2), Status::ok);
  ASSERT_SOON(pump_, tags.size() == 2);
  EXPECT_EQ(tags, (std::vector<std::uint64_t>{1, 2}));
}

// Where more than a quarter of the pool is taken, an answer behind a message must not wait until
// another peer gives pages back: the message leaves before the answer is posted.
TEST_P(PublishResume, what_was_told_behind_a_message_is_told_again_behind_it) {
  Pull reads_nothing(there_, options());
  Push push(here_, keeping(std::size_t{2} << 20U));
  join(reads_nothing, push);
  ASSERT_GT(send_until_again(push, 1000) * 1000, small_pool_bytes / 4);

  Publish publish(here_, {}, keeping());
  const std::string address = bind(publish);
  Relay relay(address);
  Subscribe subscribe(there_, {.policy = Policy::block}, keeping());
  std::string seen;
  subscribe.on_message([&](const MessageView&) { seen += "message, "; });
  subscribe.on_subscribed([&](const PeerInfo&, const Subscribed& answer) {
    seen +=
        "set " + std::to_string(answer.revision) + " from " + std::to_string(answer.from) + ", ";
  });
  subscribe.subscribe(TagRange{1, 1});
  subscribe.connect(relay.address());
  ASSERT_SOON(pump_, !seen.empty());
  Subscribe keeps_the_page(there_, {.policy = Policy::block}, keeping());
  bool in_force = false;
  keeps_the_page.on_subscribed([&](const PeerInfo&, const Subscribed&) { in_force = true; });
  keeps_the_page.subscribe(TagRange{1, 1});
  keeps_the_page.connect(address);
  ASSERT_SOON(pump_, in_force);

  // The change has come to the publisher's kernel. The publisher sends a message, then answers the
  // change, and both are lost with the connection.
  std::vector<TagRange> more;
  for (std::uint64_t tag = 2; tag < 40; tag += 2) more.push_back({tag, tag});
  subscribe.subscribe(more);
  Pump there{&there_};
  const std::uint64_t before = relay.bytes_to_target();
  ASSERT_SOON(there, relay.bytes_to_target() >= before + more.size() * sizeof(TagRange));
  relay.hold(true);
  int changes = 0;
  publish.on_subscribe([&](const PeerInfo&, std::span<const TagRange>) { ++changes; });
  ASSERT_EQ(publish.send(payload(0, GetParam().page_bytes / 2), 1), Status::ok);
  publish.flush();
  Pump here{&here_};
  ASSERT_SOON(here, changes == 1);
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(here, publish.peers_connected() == 1);

  // At last the set that the subscriber has sent on the new connection.
  seen.clear();
  ASSERT_SOON(pump_, seen == "set 1 from 0, message, set 2 from 1, set 3 from 1, ") << seen;
}

ON_TCP_IN_EVERY_MODE(PublishResume);

}  // namespace
}  // namespace netio::test
