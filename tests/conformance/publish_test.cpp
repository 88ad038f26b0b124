// Publish and Subscribe: who gets which message, from which one on, and that the books of both ends
// say the same.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "conformance/publishing.hpp"

namespace netio::test {
namespace {

class PublishSocket : public Publishing {};

TEST_P(PublishSocket, sends_each_subscriber_what_it_asked_for) {
  Publish publish(here_, {}, options());
  const std::string address = bind(publish);
  Reader even(*this, address);
  Reader range(*this, address);
  Reader all(*this, address);
  for (std::uint64_t tag = 0; tag < 40; tag += 2) even.socket.subscribe(tag);
  range.socket.subscribe({10, 19});
  range.socket.subscribe({15, 24});
  all.socket.subscribe_all();
  ASSERT_SOON(pump_, even.told() && range.told() && all.told());
  for (std::uint64_t tag = 0; tag < 40; ++tag) ASSERT_EQ(send(publish, tag, tag), Status::ok);
  ASSERT_SOON(pump_, all.inbox.size() == 40);
  settle(publish);
  ASSERT_EQ(even.inbox.size(), 20U);
  ASSERT_EQ(range.inbox.size(), 15U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(even.inbox[i].tag, 2 * i);
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(range.inbox[i].tag, 10 + i);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(number_of(all.inbox[i].bytes), i);
  EXPECT_EQ(publish.books().sent, 75U);
  EXPECT_EQ(publish.books().acknowledged, 75U);
}

TEST_P(PublishSocket, a_message_nobody_wants_is_counted_and_goes_nowhere) {
  Publish publish(here_, {}, options());
  const std::string address = bind(publish);
  const PublishTag unwanted = publish.tag(7);
  EXPECT_FALSE(unwanted.wanted());
  EXPECT_EQ(publish.send("nobody is there", 7), Status::ok);
  Reader reader(*this, address);
  reader.socket.subscribe(8);
  ASSERT_SOON(pump_, reader.told());
  EXPECT_EQ(unwanted.send("nobody wants it"), Status::ok);
  EXPECT_EQ(publish.send("nor that", 9), Status::ok);
  EXPECT_TRUE(publish.tag(8).wanted());
  EXPECT_EQ(publish.tag(8).send("but this"), Status::ok);
  ASSERT_SOON(pump_, reader.inbox.size() == 1);
  pump_.run_for(10ms);
  EXPECT_EQ(reader.inbox.size(), 1U);
  EXPECT_EQ(publish.counters().published, 4U);
  EXPECT_EQ(publish.counters().unwanted, 3U);
  EXPECT_EQ(publish.books().sent, 1U);
}

TEST_P(PublishSocket, each_message_leaves_in_time_though_nothing_follows) {
  SocketOptions late = options();
  late.flush_when_idle = false;
  Publish publish(here_, {}, late);
  Reader reader(*this, bind(publish));
  reader.socket.subscribe_all();
  ASSERT_SOON(pump_, reader.told());
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(send(publish, i, 1), Status::ok);
    ASSERT_SOON(pump_, reader.inbox.size() == i + 1);
  }
}

TEST_P(PublishSocket, a_change_of_the_set_takes_effect_from_the_number_told) {
  Publish publish(here_, {}, options());
  Reader reader(*this, bind(publish));
  reader.socket.subscribe(1);
  ASSERT_SOON(pump_, reader.told());
  EXPECT_EQ(reader.answers.back().revision, 1U);
  EXPECT_EQ(reader.answers.back().from, 0U);
  std::uint64_t sent = 0;
  const auto send_both = [&] {
    ASSERT_EQ(send(publish, sent, 1), Status::ok);
    ASSERT_EQ(send(publish, sent++, 2), Status::ok);
  };
  for (int i = 0; i < 50; ++i) send_both();
  reader.socket.unsubscribe(1);
  reader.socket.subscribe(2);
  // The publisher goes on while the change is under way.
  while (reader.answers.size() < 2 && sent < 100'000) {
    send_both();
    pump_.turn(0ms);
  }
  ASSERT_EQ(reader.answers.size(), 2U);
  const std::uint64_t from = reader.answers.back().from;
  for (int i = 0; i < 50; ++i) send_both();
  settle(publish);
  ASSERT_EQ(publish.books().sent, reader.inbox.size());
  for (std::size_t i = 0; i < reader.inbox.size(); ++i) {
    ASSERT_EQ(reader.inbox[i].tag, i < from ? 1U : 2U) << i << " of " << from;
  }
  // Nothing between the two is missing: what had the one tag until then has the other after.
  EXPECT_EQ(number_of(reader.inbox[from - 1].bytes) + 1, number_of(reader.inbox[from].bytes));
}

TEST_P(PublishSocket, tells_its_user_who_subscribes_and_unsubscribes) {
  Publish publish(here_, {}, options());
  std::vector<std::pair<char, TagRange>> told;
  const auto tell = [&told](char what) {
    return [&told, what](const PeerInfo& peer, std::span<const TagRange> ranges) {
      EXPECT_NE(peer.id, 0U);
      for (const TagRange& range : ranges) told.emplace_back(what, range);
    };
  };
  publish.on_subscribe(tell('+'));
  publish.on_unsubscribe(tell('-'));
  {
    Reader reader(*this, bind(publish));
    reader.socket.subscribe({5, 9});
    ASSERT_SOON(pump_, told.size() == 1);
    EXPECT_EQ(told[0], std::pair('+', (TagRange{5, 9})));
    reader.socket.unsubscribe({7, 20});
    reader.socket.subscribe(3);
    ASSERT_SOON(pump_, told.size() == 3);
    EXPECT_EQ(told[1], std::pair('-', (TagRange{7, 9})));
    EXPECT_EQ(told[2], std::pair('+', (TagRange{3, 3})));
    reader.socket.close();
    ASSERT_SOON(pump_, reader.socket.closed() && told.size() == 5);
  }
  EXPECT_EQ(told[3], std::pair('-', (TagRange{3, 3})));
  EXPECT_EQ(told[4], std::pair('-', (TagRange{5, 6})));
}

TEST_P(PublishSocket, subscribers_may_be_there_before_the_publisher) {
  Subscribe first(there_, {.policy = Policy::block}, options());
  Subscribe second(there_, {.policy = Policy::block}, options());
  Inbox first_inbox(first);
  Inbox second_inbox(second);
  first.subscribe(1);
  second.subscribe_all();
  Publish publish(here_, {}, options());
  // A publisher may connect as well.
  publish.connect(bind(first));
  publish.connect(bind(second));
  ASSERT_SOON(pump_, publish.tag(1).wanted() && publish.tag(2).wanted());
  ASSERT_SOON(pump_, publish.peers_connected() == 2);
  pump_.run_for(5ms);
  ASSERT_EQ(send(publish, 0, 2), Status::ok);
  ASSERT_EQ(send(publish, 1, 1), Status::ok);
  ASSERT_SOON(pump_, first_inbox.size() == 1 && second_inbox.size() == 2);
}

TEST_P(PublishSocket, one_subscriber_hears_many_publishers) {
  Publish left(here_, {}, options());
  Publish right(here_, {}, options());
  Reader reader(*this, bind(left));
  reader.socket.connect(bind(right));
  reader.socket.subscribe({1, 2});
  ASSERT_SOON(pump_, left.tag(1).wanted() && right.tag(1).wanted());
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(send(left, i, 1), Status::ok);
    ASSERT_EQ(send(right, i, 2), Status::ok);
  }
  ASSERT_SOON(pump_, reader.inbox.size() == 200);
  std::map<std::uint64_t, std::uint64_t> next;
  for (const Inbox::Arrived& message : reader.inbox.messages) {
    EXPECT_EQ(number_of(message.bytes), next[message.tag]++);
  }
}

TEST_P(PublishSocket, subscriptions_are_renewed_after_a_reconnect) {
  auto publish = std::make_unique<Publish>(here_, PublishOptions{}, options());
  const std::string address = bind(*publish);
  Reader reader(*this, address);
  reader.socket.subscribe({1, 3});
  ASSERT_SOON(pump_, reader.told());
  publish.reset();
  ASSERT_SOON(pump_, reader.socket.peers_connected() == 0);
  reader.socket.unsubscribe(2);
  publish = std::make_unique<Publish>(here_, PublishOptions{}, options());
  publish->bind(address);
  ASSERT_SOON(pump_, publish->tag(1).wanted());
  EXPECT_FALSE(publish->tag(2).wanted());
  EXPECT_TRUE(publish->tag(3).wanted());
  ASSERT_EQ(send(*publish, 5, 3), Status::ok);
  ASSERT_SOON(pump_, reader.inbox.size() == 1);
}

TEST_P(PublishSocket, a_body_is_encoded_once_for_subscribers_with_the_same_set) {
  Publish publish(here_, {}, options());
  const std::string address = bind(publish);
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back(std::make_unique<Reader>(*this, address));
    readers.back()->socket.subscribe({0, 9});
    ASSERT_SOON(pump_, readers.back()->told());
  }
  Reader other(*this, address);
  other.socket.subscribe({5, 9});
  ASSERT_SOON(pump_, other.told());
  const std::size_t large = GetParam().page_bytes * 3;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::size_t size = i % 10 == 3 ? large : 100;
    const auto message = payload(i, size);
    ASSERT_EQ(send_bytes(publish, message, i % 10), Status::ok);
  }
  settle(publish);
  EXPECT_EQ(publish.books().sent, 450U);
  EXPECT_EQ(publish.counters().bodies_encoded, 150U);
  for (const auto& reader : readers) {
    ASSERT_EQ(reader->inbox.size(), 100U);
    for (std::uint64_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(is_payload(reader->inbox[i].bytes, i)) << i;
    }
  }
  EXPECT_EQ(other.inbox.size(), 50U);
}

TEST_P(PublishSocket, lent_passed_on_and_allocated_messages_reach_everybody) {
  Publish publish(here_, {}, options());
  const std::string address = bind(publish);
  Reader one(*this, address);
  Reader two(*this, address);
  one.socket.subscribe_all();
  two.socket.subscribe({0, 5});
  ASSERT_SOON(pump_, one.told() && two.told());
  std::vector<std::uint64_t> released;
  publish.on_released([&](std::uint64_t token) { released.push_back(token); });
  const std::vector<std::byte> lent = payload(1, 300'000);
  ASSERT_EQ(publish.lend(lent, 77, 1), Status::ok);
  ASSERT_EQ(publish.send(Message::copy_of(payload(2, 200'000), 2)), Status::ok);
  Status status = Status::ok;
  Message loan = publish.allocate(100'000, status, 3);
  ASSERT_EQ(status, Status::ok);
  fill_payload(loan.writable_bytes(), 3);
  ASSERT_EQ(publish.send(std::move(loan)), Status::ok);
  EXPECT_FALSE(loan);
  ASSERT_EQ(publish.lend(lent, 78, 99), Status::ok);
  ASSERT_EQ(publish.lend(lent, 79, 0), Status::ok);
  settle(publish);
  ASSERT_SOON(pump_, released.size() == 3);
  std::sort(released.begin(), released.end());
  EXPECT_EQ(released, (std::vector<std::uint64_t>{77, 78, 79}));
  ASSERT_EQ(one.inbox.size(), 5U);
  ASSERT_EQ(two.inbox.size(), 4U);
  for (const std::uint64_t i : {1U, 2U, 3U}) {
    EXPECT_TRUE(is_payload(one.inbox[i - 1].bytes, i));
    EXPECT_TRUE(is_payload(two.inbox[i - 1].bytes, i));
    EXPECT_EQ(two.inbox[i - 1].tag, i);
  }
}

TEST_P(PublishSocket, answers_closed_through_every_door_after_close) {
  Publish publish(here_, {}, options());
  Reader reader(*this, bind(publish));
  reader.socket.subscribe(1);
  ASSERT_SOON(pump_, reader.told());
  const PublishTag wanted = publish.tag(1);
  const PublishTag unwanted = publish.tag(2);
  ASSERT_EQ(wanted.send("the last"), Status::ok);
  publish.close();
  EXPECT_EQ(wanted.send("no"), Status::closed);
  EXPECT_EQ(unwanted.send("no"), Status::closed);
  EXPECT_EQ(publish.send("no", 1), Status::closed);
  EXPECT_EQ(publish.send("no", 3), Status::closed);
  EXPECT_EQ(publish.send(Message::copy_of(payload(0, 8), 3)), Status::closed);
  Status status = Status::ok;
  EXPECT_FALSE(publish.allocate(8, status, 1));
  EXPECT_EQ(status, Status::closed);
  ASSERT_SOON(pump_, publish.closed());
  EXPECT_EQ(reader.inbox.size(), 1U);
  EXPECT_EQ(publish.books().acknowledged, 1U);
}

TEST_P(PublishSocket, a_range_that_ends_before_it_begins_is_refused) {
  Subscribe subscribe(there_);
  EXPECT_THROW(subscribe.subscribe({2, 1}), Error);
  EXPECT_TRUE(subscribe.subscribed().empty());
}

TEST_P(PublishSocket, may_be_destroyed_in_its_call_backs) {
  auto publish = std::make_unique<Publish>(here_, PublishOptions{}, options());
  const std::string address = bind(*publish);
  bool called = false;
  publish->on_subscribe([&](const PeerInfo&, std::span<const TagRange>) {
    called = true;
    publish.reset();
  });
  Reader reader(*this, address);
  reader.socket.subscribe(1);
  ASSERT_SOON(pump_, called && reader.socket.peers_connected() == 0);
}

TEST_P(PublishSocket, a_restarted_subscriber_misses_nothing_of_the_one_before) {
  const SubscribeOptions subscription{.policy = Policy::drop_new, .behind_bytes_max = 64U << 10U};
  Publish publish(here_, {}, options());
  auto first = std::make_unique<Subscribe>(there_, subscription, options());
  const std::string address = bind(*first);
  first->subscribe_all();
  first->pause();
  publish.connect(address);
  ASSERT_SOON(pump_, publish.tag(1).wanted());
  ASSERT_SOON(pump_, [&] {
    for (std::uint64_t i = 0; i < 64; ++i) (void)publish.send(payload(i, 1000), 1);
    return publish.books().dropped() > 0;
  }());
  first.reset();
  ASSERT_SOON(pump_, publish.peers_connected() == 0);
  Subscribe second(there_, subscription, options());
  Inbox inbox(second);
  std::uint64_t gaps = 0;
  second.on_gap([&](const PeerInfo&, const Gap&) { ++gaps; });
  second.subscribe_all();
  second.bind(address);
  ASSERT_SOON(pump_, publish.tag(1).wanted());
  ASSERT_EQ(send(publish, 5, 1), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);
  EXPECT_EQ(second.books().missed, 0U);
  EXPECT_EQ(gaps, 0U);
}

TEST_P(PublishSocket, what_a_subscriber_cannot_take_does_not_hold_back_what_it_can) {
  SocketOptions late = options();
  late.flush_when_idle = false;
  Publish publish(here_, {}, late);
  SocketOptions little = options();
  little.message_bytes_max = 1000;
  Subscribe subscribe(there_, {.policy = Policy::block}, little);
  Inbox inbox(subscribe);
  std::uint64_t missed = 0;
  subscribe.on_gap([&](const PeerInfo&, const Gap& gap) { missed += gap.count; });
  subscribe.subscribe_all();
  subscribe.connect(bind(publish));
  ASSERT_SOON(pump_, publish.tag(1).wanted());
  ASSERT_EQ(send(publish, 0, 1, 1001), Status::ok);
  ASSERT_SOON(pump_, missed == 1);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(send(publish, i, 1, 1000), Status::ok);
    ASSERT_SOON(pump_, inbox.size() == i + 1);
  }
}

ON_EVERY_TRANSPORT_AND_MODE(PublishSocket);

}  // namespace
}  // namespace netio::test
