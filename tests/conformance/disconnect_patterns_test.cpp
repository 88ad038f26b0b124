// Letting a requester, a replier, a subscriber or a publisher go.
#include <optional>
#include <string>

#include "conformance/publishing.hpp"
#include "conformance/requesting.hpp"

namespace netio::test {
namespace {

class DisconnectRequest : public Requesting {};

TEST_P(DisconnectRequest, waits_for_the_answers_that_are_under_way) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, eager());
  Seen at_request(request);
  write_down(request);
  hold_all(reply);
  join(reply, request);
  for (int i = 0; i < 3; ++i) (void)ask(request);
  EXPECT_TRUE(request.disconnect(request.peers().front().id, 1h));
  std::uint64_t id = 0;
  EXPECT_NE(request.send("late", id), Status::ok);
  ASSERT_SOON(pump_, open_.size() == 3);
  for (ReplyTo& each : open_) {
    EXPECT_TRUE(at_request.downs.empty());
    ASSERT_SOON(pump_, each.send("so") == Status::ok);
    reply.flush();
    pump_.turns(10);
  }
  ASSERT_SOON(pump_, at_request.downs.size() == 1);
  EXPECT_EQ(at_request.downs[0].down.reason, DownReason::closed_here) << at_request.why();
  EXPECT_EQ(answered_, 3);
  EXPECT_TRUE(failed_.empty());
  EXPECT_TRUE(request.peers().empty());
  EXPECT_EQ(request.requests().under_way, 0U);
}

TEST_P(DisconnectRequest, gives_up_when_linger_expires_and_another_one_gets_what_may_be_repeated) {
  Reply reply(there_, {}, options());
  Reply other(there_, {}, options());
  Request request(here_, {}, eager());
  Seen at_request(request);
  write_down(request);
  hold_all(reply);
  join(reply, request);
  (void)ask(request);
  (void)ask(request, {.idempotent = true});
  ASSERT_SOON(pump_, open_.size() == 2);
  const std::uint64_t id = request.peers().front().id;
  other.on_request([](const MessageView&, ReplyTo to) { EXPECT_EQ(to.send("so"), Status::ok); });
  join(other, request);
  ASSERT_SOON(pump_, request.books().unacknowledged == 0);
  EXPECT_TRUE(request.disconnect(id, 0s));
  ASSERT_SOON(pump_, failed_.size() == 1 && answered_ == 1);
  EXPECT_EQ(failed_[0], Outcome::in_doubt);
  EXPECT_EQ(request.requests().repeated, 1U);
  ASSERT_EQ(at_request.downs.size(), 1U);
  EXPECT_EQ(at_request.downs[0].down.reason, DownReason::closed_here) << at_request.why();
  EXPECT_NE(at_request.why().find("did not answer in time"), std::string::npos);
  EXPECT_EQ(request.peers().size(), 1U);
}

TEST_P(DisconnectRequest, does_not_wait_for_what_was_cancelled) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, eager());
  Seen at_request(request);
  write_down(request);
  hold_all(reply);
  join(reply, request);
  const std::uint64_t id = ask(request);
  ASSERT_SOON(pump_, open_.size() == 1);
  EXPECT_TRUE(request.disconnect(request.peers().front().id, 1h));
  pump_.turns(10);
  EXPECT_TRUE(at_request.downs.empty());
  EXPECT_EQ(request.cancel(id), Status::ok);
  ASSERT_SOON(pump_, at_request.downs.size() == 1);
  EXPECT_EQ(at_request.downs[0].down.reason, DownReason::closed_here) << at_request.why();
  EXPECT_TRUE(failed_.empty());
}

TEST_P(DisconnectRequest, in_on_reply) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, eager());
  Seen at_request(request);
  hold_all(reply);
  request.on_reply([&](std::uint64_t, const MessageView&) {
    if (++answered_ == 1) {
      EXPECT_TRUE(request.disconnect(request.peers().front().id, 1h));
    }
  });
  join(reply, request);
  for (int i = 0; i < 3; ++i) (void)ask(request);
  ASSERT_SOON(pump_, open_.size() == 3);
  for (ReplyTo& each : open_) ASSERT_EQ(each.send("so"), Status::ok);
  ASSERT_SOON(pump_, at_request.downs.size() == 1);
  EXPECT_EQ(answered_, 3);
}

TEST_P(DisconnectRequest, of_a_requester_ends_its_requests_and_it_comes_again) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, eager());
  Seen at_reply(reply);
  write_down(request);
  std::uint64_t requester = 0;
  reply.on_request([&](const MessageView&, ReplyTo to) {
    requester = reply.sender_id();
    open_.push_back(std::move(to));
  });
  join(reply, request);
  (void)ask(request);
  (void)ask(request);
  ASSERT_SOON(pump_, open_.size() == 2);
  ASSERT_EQ(open_[0].send("so"), Status::ok);
  EXPECT_TRUE(reply.disconnect(requester, 1h));
  EXPECT_EQ(open_[1].send("late"), Status::not_connected);
  ASSERT_SOON(pump_, at_reply.downs.size() == 1 && failed_.size() == 1);
  EXPECT_EQ(at_reply.downs[0].down.reason, DownReason::closed_here) << at_reply.why();
  EXPECT_EQ(failed_[0], Outcome::not_answered);
  EXPECT_EQ(answered_, 1);
  open_.clear();
  const std::uint64_t before = requester;
  (void)ask(request);
  ASSERT_SOON(pump_, open_.size() == 1);
  EXPECT_NE(requester, before);
  ASSERT_EQ(open_[0].send("so"), Status::ok);
  ASSERT_SOON(pump_, answered_ == 2);
}

TEST_P(DisconnectRequest, of_a_requester_in_on_request) {
  Reply reply(there_, {}, options());
  Request request(here_, {}, eager());
  write_down(request);
  int asked = 0;
  reply.on_request([&](const MessageView&, ReplyTo) {
    if (++asked == 1) {
      EXPECT_TRUE(reply.disconnect(reply.sender_id(), 1h));
    }
  });
  join(reply, request);
  for (int i = 0; i < 3; ++i) {
    std::uint64_t id = 0;
    ASSERT_EQ(request.send("?", id), Status::ok);
  }
  ASSERT_SOON(pump_, failed_.size() == 3);
  EXPECT_EQ(failed_[0], Outcome::not_answered);
  EXPECT_EQ(asked, 1);
}

ON_EVERY_TRANSPORT(DisconnectRequest);

class DisconnectPublish : public Publishing {
 protected:
  static SubscribeOptions blocking() { return {.policy = Policy::block}; }
};

TEST_P(DisconnectPublish, of_a_subscriber_delivers_what_was_published_before) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  int unsubscribed = 0;
  publish.on_unsubscribe([&](const PeerInfo&, std::span<const TagRange>) { ++unsubscribed; });
  const std::string address = bind(publish);
  Reader first(*this, address);
  first.socket.subscribe(7);
  ASSERT_SOON(pump_, first.told());
  Reader second(*this, address);
  second.socket.subscribe(7);
  ASSERT_SOON(pump_, second.told());
  constexpr std::uint64_t count = 200;
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(send(publish, i, 7), Status::ok);
  const std::uint64_t id = publish.peers().front().id;
  EXPECT_TRUE(publish.disconnect(id, 1h));
  EXPECT_EQ(unsubscribed, 0) << "told from inside the call";
  for (std::uint64_t i = count; i < 2 * count; ++i) {
    ASSERT_EQ(publish.send(payload(i, 64), 7), Status::ok);
  }
  ASSERT_SOON(pump_, at_publish.downs.size() == 1);
  EXPECT_EQ(at_publish.downs[0].peer.id, id);
  EXPECT_EQ(at_publish.downs[0].down.reason, DownReason::closed_here) << at_publish.why();
  EXPECT_EQ(at_publish.downs[0].peer.books.acknowledged, count);
  EXPECT_EQ(first.inbox.size(), count);
  EXPECT_EQ(unsubscribed, 1);
  ASSERT_SOON(pump_, second.inbox.size() == 2 * count);
  EXPECT_TRUE(second.seen.downs.empty());
  // It comes again by itself, as a new subscriber.
  ASSERT_SOON(pump_, first.answers.size() == 2);
  ASSERT_EQ(send(publish, 2 * count, 7), Status::ok);
  ASSERT_SOON(pump_, first.inbox.size() == count + 1);
  EXPECT_TRUE(first.gaps.empty());
}

TEST_P(DisconnectPublish, of_a_subscriber_that_holds_the_publisher_up_lets_it_go_on) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  int writable = 0;
  publish.on_writable([&] { ++writable; });
  const std::string address = bind(publish);
  Reader reader(*this, address);
  reader.socket.subscribe(7);
  ASSERT_SOON(pump_, reader.told());
  reader.socket.pause();
  ASSERT_SOON(pump_, publish.send(payload(0, 4000), 7) == Status::again);
  const std::uint64_t id = publish.peers().front().id;
  EXPECT_TRUE(publish.disconnect(id, 1h));
  ASSERT_SOON(pump_, writable > 0);
  EXPECT_EQ(publish.send(payload(0, 4000), 7), Status::ok);
  EXPECT_TRUE(publish.disconnect(id, 0s));
  ASSERT_SOON(pump_, at_publish.downs.size() == 1);
  EXPECT_TRUE(add_up(publish.books()));
  EXPECT_EQ(publish.books().unacknowledged, 0U);
}

TEST_P(DisconnectPublish, of_a_subscriber_in_on_subscribe) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  int subscribed = 0;
  publish.on_subscribe([&](const PeerInfo& peer, std::span<const TagRange>) {
    if (++subscribed == 1) {
      EXPECT_TRUE(publish.disconnect(peer.id, 1h));
    }
  });
  Reader reader(*this, bind(publish));
  reader.socket.subscribe(7);
  ASSERT_SOON(pump_, subscribed == 2);
  ASSERT_EQ(at_publish.downs.size(), 1U);
  EXPECT_EQ(at_publish.downs[0].down.reason, DownReason::closed_here) << at_publish.why();
  ASSERT_EQ(send(publish, 0, 7), Status::ok);
  ASSERT_SOON(pump_, reader.inbox.size() == 1);
}

// The call comes while the connection ends: that is told once.
TEST_P(DisconnectPublish, of_a_subscriber_in_on_unsubscribe) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  bool let_go = false;
  publish.on_unsubscribe([&](const PeerInfo& peer, std::span<const TagRange>) {
    let_go = true;
    (void)publish.disconnect(peer.id);
  });
  auto reader = std::make_unique<Reader>(*this, bind(publish));
  reader->socket.subscribe(7);
  ASSERT_SOON(pump_, reader->told());
  reader.reset();
  ASSERT_SOON(pump_, let_go && at_publish.downs.size() == 1);
  Reader next(*this, bind(publish));
  next.socket.subscribe(8);
  ASSERT_SOON(pump_, next.told());
  EXPECT_EQ(at_publish.downs.size(), 1U) << at_publish.why();
}

TEST_P(DisconnectPublish, of_a_publisher_ends_the_subscription_there) {
  Publish publish(here_, {}, options());
  Publish other(here_, {}, options());
  Seen at_publish(publish);
  const std::string address = bind(publish);
  Reader reader(*this, address);
  reader.socket.connect(bind(other));
  reader.socket.subscribe(7);
  ASSERT_SOON(pump_, reader.answers.size() == 2);
  EXPECT_EQ(reader.socket.disconnect(address), 1U);
  reader.socket.subscribe(8);
  ASSERT_SOON(pump_, at_publish.downs.size() == 1 && reader.seen.downs.size() == 1);
  EXPECT_EQ(at_publish.downs[0].down.reason, DownReason::closed_by_peer) << at_publish.why();
  EXPECT_EQ(reader.seen.downs[0].down.reason, DownReason::closed_here) << reader.seen.why();
  ASSERT_SOON(pump_, reader.answers.size() == 3);
  ASSERT_EQ(send(publish, 0, 7), Status::ok);
  EXPECT_EQ(publish.counters().unwanted, 1U);
  ASSERT_EQ(send(other, 1, 8), Status::ok);
  ASSERT_SOON(pump_, reader.inbox.size() == 1);
}

ON_EVERY_TRANSPORT(DisconnectPublish);

class DisconnectAway : public Publishing {
 protected:
  using Conformance::send;
  using Publishing::send;
  // The receiver is away, and payload(0) is kept for it.
  void cut_off_with_a_message(Push& push, Pull& pull, Relay& relay) {
    pull.connect(relay.address());
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    relay.hold(true);
    ASSERT_EQ(push.send(payload(0, 10)), Status::ok);
    push.flush();
    pump_.turns(5);
    relay.forbid(true);
    relay.cut();
    relay.hold(false);
  }
  // payload(0) is forgotten.
  void expect_the_next_alone(Push& push, const Inbox& inbox) {
    ASSERT_EQ(send(push, payload(1, 10)), Status::ok);
    ASSERT_SOON(pump_, inbox.size() == 1);
    EXPECT_TRUE(is_payload(inbox[0].bytes, 1));
  }
};

TEST_P(DisconnectAway, of_a_subscriber_that_is_away_forgets_it) {
  Publish publish(here_, {}, keeping());
  Seen at_publish(publish);
  int unsubscribed = 0;
  publish.on_unsubscribe([&](const PeerInfo&, std::span<const TagRange>) { ++unsubscribed; });
  Relay relay(bind(publish));
  Reader reader(*this, relay.address());
  reader.socket.subscribe(7);
  ASSERT_SOON(pump_, reader.told());
  relay.forbid(true);
  relay.cut();
  ASSERT_SOON(pump_, at_publish.downs.size() == 1);
  ASSERT_EQ(publish.peers().size(), 1U) << "it is not awaited";
  ASSERT_EQ(send(publish, 0, 7), Status::ok);
  const std::uint64_t id = publish.peers().front().id;
  EXPECT_TRUE(publish.disconnect(id, 1h));
  ASSERT_SOON(pump_, at_publish.downs.size() == 2);
  EXPECT_EQ(at_publish.downs[1].down.reason, DownReason::closed_here) << at_publish.why();
  EXPECT_TRUE(publish.peers().empty());
  EXPECT_EQ(unsubscribed, 1);
  EXPECT_TRUE(add_up(publish.books()));
  EXPECT_FALSE(publish.disconnect(id));
  relay.forbid(false);
  ASSERT_SOON(pump_, reader.answers.size() == 2);
  ASSERT_EQ(send(publish, 1, 7), Status::ok);
  ASSERT_SOON(pump_, reader.inbox.size() == 1);
  EXPECT_NE(publish.peers().front().id, id);
}

// It is not on record yet.
TEST_P(DisconnectAway, of_a_receiver_in_its_on_down_forgets_what_is_kept_for_it) {
  Push push(here_, keeping());
  Pull pull(there_, keeping());
  Inbox inbox(pull);
  bool known = false;
  int downs = 0;
  push.on_down([&](const PeerInfo& peer, const Down&) {
    ++downs;
    known = push.disconnect(peer.id);
  });
  Relay relay(bind(push));
  cut_off_with_a_message(push, pull, relay);
  ASSERT_SOON(pump_, downs == 1);
  EXPECT_TRUE(known);
  pump_.turns(2);
  EXPECT_EQ(push.books().unacknowledged, 0U);
  EXPECT_EQ(push.send_to_all(payload(1, 10)).away, 0U);
  relay.forbid(false);
  expect_the_next_alone(push, inbox);
}

// Its kept messages go with it.
TEST_P(DisconnectAway, of_a_receiver_that_is_away_forgets_what_is_kept_for_it) {
  Push push(here_, keeping());
  Pull pull(there_, keeping());
  Inbox inbox(pull);
  Seen at_push(push);
  Relay relay(bind(push));
  cut_off_with_a_message(push, pull, relay);
  ASSERT_SOON(pump_, at_push.downs.size() == 1);
  EXPECT_TRUE(push.disconnect(at_push.downs[0].peer.id));
  EXPECT_TRUE(add_up(push.books()));
  EXPECT_EQ(push.books().unacknowledged, 0U);
  relay.forbid(false);
  expect_the_next_alone(push, inbox);
}

// What was taken for it is sent again within the time.
TEST_P(DisconnectAway, of_a_receiver_that_is_dialed_resends_what_it_has_not_acknowledged) {
  Push push(here_, keeping());
  Pull pull(there_, keeping());
  Inbox inbox(pull);
  Seen at_push(push);
  Relay relay(bind(pull));
  push.connect(relay.address());
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  relay.hold(true);
  constexpr std::uint64_t count = 20;
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(send(push, payload(i, 10)), Status::ok);
  push.flush();
  pump_.turns(5);
  EXPECT_TRUE(push.disconnect(push.peers().front().id, 1h));
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(pump_, push.peers().empty());
  EXPECT_EQ(at_push.downs.back().down.reason, DownReason::closed_here) << at_push.why();
  EXPECT_EQ(push.books().acknowledged, count);
  ASSERT_EQ(inbox.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) EXPECT_TRUE(is_payload(inbox[i].bytes, i));
}

ON_TCP_IN_EVERY_MODE(DisconnectAway);

}  // namespace
}  // namespace netio::test
