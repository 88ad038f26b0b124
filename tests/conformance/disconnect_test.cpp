// Letting one peer go: what was sent before is delivered, nothing is dialed any more, and the other
// peers do not notice.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class Disconnect : public Conformance {
 protected:
  static std::uint64_t only_peer(const Socket& socket) {
    const std::vector<PeerSnapshot> peers = socket.peers();
    EXPECT_EQ(peers.size(), 1U);
    return peers.empty() ? 0 : peers.front().id;
  }
  // It is forgotten, and in order.
  void expect_let_go(const Socket& socket, const Seen& seen, std::uint64_t sent) {
    ASSERT_SOON(pump_, !seen.downs.empty());
    ASSERT_EQ(seen.downs.size(), 1U) << seen.why();
    const Seen::Gone& gone = seen.downs[0];
    EXPECT_EQ(gone.down.reason, DownReason::closed_here) << seen.why();
    EXPECT_TRUE(gone.peer.was_up);
    EXPECT_FALSE(gone.peer.retrying);
    EXPECT_EQ(gone.peer.books.sent, sent);
    EXPECT_EQ(gone.peer.books.acknowledged, sent) << seen.why();
    EXPECT_TRUE(socket.peers().empty());
    EXPECT_EQ(socket.peers_connected(), 0U);
    EXPECT_EQ(socket.books().acknowledged, sent);
    EXPECT_TRUE(add_up(socket.books()));
  }
  // Others come to this address, and nobody else does.
  void expect_nobody_dials(const std::string& address, std::uint64_t witnesses = 5) {
    Pull newcomer(there_, options());
    Inbox inbox(newcomer);
    (void)newcomer.bind(address);
    for (std::uint64_t i = 0; i < witnesses; ++i) {
      Push witness(here_, options());
      witness.connect(address);
      ASSERT_EQ(send(witness, payload(i, 10)), Status::ok);
      ASSERT_SOON(pump_, inbox.size() == i + 1);
    }
    EXPECT_EQ(newcomer.counters().connects, witnesses);
    EXPECT_EQ(newcomer.counters().rejected, 0U);
  }
  static void expect_numbered(const Inbox& inbox, std::uint64_t count) {
    ASSERT_EQ(inbox.size(), count);
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(is_payload(inbox[i].bytes, i)) << i;
    }
  }
};

TEST_P(Disconnect, delivers_what_was_sent_before_and_dials_no_more) {
  std::optional<Pull> pull(std::in_place, there_, options());
  Push push(here_, patient(eager()));
  Seen at_push(push);
  Seen at_pull(*pull);
  Inbox inbox(*pull);
  const std::string address = bind(*pull);
  push.connect(address);
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  std::uint64_t sent = 0;
  while (sent < 500 && push.send(payload(sent, 100 + sent % 400)) == Status::ok) ++sent;
  ASSERT_GT(sent, 10U);
  const std::uint64_t id = only_peer(push);
  EXPECT_TRUE(push.disconnect(id, 1h));
  EXPECT_TRUE(at_push.downs.empty()) << "told from inside the call";
  EXPECT_EQ(push.send_to(id, payload(0, 10)), Status::not_connected);
  EXPECT_NE(push.send(payload(0, 10)), Status::ok);
  expect_let_go(push, at_push, sent);
  expect_numbered(inbox, sent);
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::closed_by_peer) << at_pull.why();
  EXPECT_FALSE(push.disconnect(id)) << "it is forgotten";
  pull.reset();
  expect_nobody_dials(address);
}

TEST_P(Disconnect, delivers_a_large_message_under_way) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  Inbox inbox(pull);
  join(pull, push);
  ASSERT_EQ(push.send(payload(0, 24U << 20U)), Status::ok);
  EXPECT_TRUE(push.disconnect(only_peer(push), 1h));
  expect_let_go(push, at_push, 1);
  expect_numbered(inbox, 1);
}

TEST_P(Disconnect, of_an_address_ends_the_attempts_there) {
  Pull pull(there_, options());
  Push push(here_, eager());
  Inbox inbox(pull);
  std::string nobody;
  {
    Pull gone(there_);
    nobody = bind(gone);
  }
  push.connect(nobody);
  join(pull, push);
  push.connect(nobody);
  ASSERT_EQ(push.peers().size(), 3U);
  Seen at_push(push);
  EXPECT_EQ(push.disconnect(nobody), 2U);
  const auto ended = [&] {
    return std::ranges::count_if(at_push.downs, [](const Seen::Gone& gone) {
      return gone.down.reason == DownReason::closed_here;
    });
  };
  ASSERT_SOON(pump_, ended() == 2);
  EXPECT_FALSE(at_push.downs.back().peer.was_up);
  EXPECT_FALSE(at_push.downs.back().peer.retrying);
  EXPECT_EQ(push.disconnect(nobody), 0U);
  ASSERT_EQ(push.peers().size(), 1U);
  EXPECT_TRUE(push.peers().front().up);
  ASSERT_EQ(push.send(payload(0, 10)), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);
  expect_nobody_dials(nobody);
}

// The way of a program whose peers come and go.
TEST_P(Disconnect, of_a_peer_that_was_never_up_in_its_on_down) {
  std::string nobody;
  {
    Pull gone(there_);
    nobody = bind(gone);
  }
  Push push(here_, eager());
  std::vector<DownReason> reasons;
  int failed = 0;
  push.on_down([&](const PeerInfo& peer, const Down& down) {
    reasons.push_back(down.reason);
    if (!peer.was_up && peer.retrying && ++failed == 3) {
      EXPECT_TRUE(push.disconnect(peer.id));
    }
  });
  push.connect(nobody);
  ASSERT_SOON(pump_, push.peers().empty());
  ASSERT_EQ(reasons.size(), 4U);
  EXPECT_EQ(reasons.back(), DownReason::closed_here);
  EXPECT_EQ(push.counters().rejected, 3U);
  expect_nobody_dials(nobody);
}

TEST_P(Disconnect, while_the_attempt_is_under_way) {
  for (int turns = 0; turns < 12; ++turns) {
    SCOPED_TRACE(turns);
    std::optional<Pull> pull(std::in_place, there_, options());
    pull->on_message([](const MessageView&) {});
    const std::string address = bind(*pull);
    Push push(here_, eager());
    Seen at_push(push);
    push.connect(address);
    pump_.turns(turns);
    EXPECT_EQ(push.disconnect(address), 1U);
    ASSERT_SOON(pump_, push.peers().empty());
    ASSERT_EQ(at_push.downs.size(), 1U);
    EXPECT_EQ(at_push.downs[0].down.reason, DownReason::closed_here) << at_push.why();
    EXPECT_EQ(at_push.downs[0].peer.was_up, !at_push.ups.empty());
    pull.reset();
    expect_nobody_dials(address, 1);
  }
}

TEST_P(Disconnect, delivers_to_a_peer_that_is_away_and_returns) {
  Push push(here_, patient(eager()));
  Seen at_push(push);
  std::string address;
  {
    Pull pull(there_, options());
    pull.pause();
    address = bind(pull);
    push.connect(address);
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    ASSERT_EQ(push.send("for who returns"), Status::ok);
  }
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  EXPECT_TRUE(push.disconnect(only_peer(push), 1h));
  Pull pull(there_, options());
  Inbox inbox(pull);
  (void)pull.bind(address);
  ASSERT_SOON(pump_, push.peers().empty());
  EXPECT_EQ(at_push.downs.back().down.reason, DownReason::closed_here) << at_push.why();
  EXPECT_TRUE(add_up(push.books()));
  EXPECT_EQ(push.books().unacknowledged, 0U);
  if (GetParam().mode == Mode::unbuffered) return;  // the first one had it
  EXPECT_EQ(push.books().acknowledged, 1U);
  EXPECT_EQ(inbox.size(), 1U);
}

TEST_P(Disconnect, gives_up_when_linger_expires) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  Seen at_pull(pull);
  pull.on_message([](const MessageView&) {});
  pull.pause();
  join(pull, push);
  const std::uint64_t taken = send_until_again(push, 4000);
  const std::uint64_t id = only_peer(push);
  EXPECT_TRUE(push.disconnect(id, 1h));
  pump_.turns(20);
  EXPECT_TRUE(at_push.downs.empty());
  EXPECT_TRUE(push.disconnect(id, 0s)) << "sets a new linger";
  ASSERT_SOON(pump_, at_push.downs.size() == 1);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::closed_here) << at_push.why();
  const Books books = push.books();
  EXPECT_TRUE(add_up(books));
  EXPECT_EQ(books.sent, taken);
  EXPECT_EQ(books.acknowledged, 0U);
  EXPECT_EQ(books.unacknowledged, 0U);
  EXPECT_EQ(at_push.downs[0].peer.books.sent, taken);
  EXPECT_TRUE(push.peers().empty());
  pull.resume();
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::lost) << at_pull.why();
}

TEST_P(Disconnect, leaves_the_other_peers_alone) {
  Push push(here_, options());
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<std::unique_ptr<Inbox>> inboxes;
  std::vector<std::unique_ptr<Seen>> seen;
  for (int i = 0; i < 3; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    inboxes.push_back(std::make_unique<Inbox>(*pulls.back()));
    seen.push_back(std::make_unique<Seen>(*pulls.back()));
    push.connect(bind(*pulls.back()));
    ASSERT_SOON(pump_, push.peers_connected() == static_cast<std::size_t>(i + 1));
  }
  constexpr std::uint64_t count = 300;
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(send(push, payload(i, 50)), Status::ok);
  EXPECT_TRUE(push.disconnect(push.peers()[1].id, 1h));
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(send(push, payload(i, 50)), Status::ok);
  settle(push);
  ASSERT_SOON(pump_, push.peers().size() == 2);
  EXPECT_EQ(inboxes[0]->size() + inboxes[1]->size() + inboxes[2]->size(), 2 * count);
  EXPECT_EQ(inboxes[1]->size(), count / 3);
  EXPECT_TRUE(seen[0]->downs.empty() && seen[2]->downs.empty());
  EXPECT_EQ(push.books().acknowledged, 2 * count);
}

TEST_P(Disconnect, of_a_tag_s_peer_gives_its_tags_to_others) {
  SocketOptions by_tag = options();
  by_tag.distribute = Distribute::by_tag;
  Push push(here_, by_tag);
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<std::unique_ptr<Inbox>> inboxes;
  for (int i = 0; i < 2; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    inboxes.push_back(std::make_unique<Inbox>(*pulls.back()));
    push.connect(bind(*pulls.back()));
    ASSERT_SOON(pump_, push.peers_connected() == static_cast<std::size_t>(i + 1));
  }
  constexpr std::uint64_t tags = 100;
  const auto send_all = [&] {
    for (std::uint64_t tag = 0; tag < tags; ++tag) {
      ASSERT_EQ(send(push, payload(tag, 20), tag), Status::ok);
    }
  };
  send_all();
  EXPECT_TRUE(push.disconnect(push.peers()[0].id, 1h));
  send_all();
  settle(push);
  ASSERT_SOON(pump_, push.peers().size() == 1);
  EXPECT_GT(inboxes[0]->size(), 0U);
  EXPECT_LT(inboxes[0]->size(), tags);
  EXPECT_EQ(inboxes[0]->size() + inboxes[1]->size(), 2 * tags);
}

// The peer was accepted, and dials again by itself.
TEST_P(Disconnect, of_a_sender_stops_delivery_and_it_comes_again_as_a_new_peer) {
  Pull pull(there_, options());
  Push push(here_, eager());
  Push other(here_, options());
  Seen at_pull(pull);
  Seen at_push(push);
  std::uint64_t let_go = 0;
  std::uint64_t of_it = 0;
  std::uint64_t of_others = 0;
  pull.on_message([&](const MessageView& message) {
    if (message.tag() == 7) return void(++of_others);
    if (++of_it != 3) return;
    let_go = pull.sender_id();
    EXPECT_TRUE(pull.disconnect(let_go, 1h));
    EXPECT_EQ(at_pull.downs.size(), 0U);
  });
  join(pull, push);
  join(pull, other);
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_EQ(push.send(payload(i, 10)), Status::ok);
  push.flush();
  ASSERT_SOON(pump_, at_pull.downs.size() == 1 && at_push.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::closed_here) << at_pull.why();
  EXPECT_EQ(at_pull.downs[0].peer.id, let_go);
  EXPECT_EQ(at_pull.downs[0].peer.books.delivered, 3U);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::closed_by_peer) << at_push.why();
  EXPECT_EQ(of_it, 3U);
  EXPECT_EQ(push.books().acknowledged, 3U);
  EXPECT_EQ(push.books().dropped_by[static_cast<std::size_t>(DropReason::peer_closed)], 7U);
  EXPECT_EQ(pull.books().delivered, 3U);
  ASSERT_EQ(send(push, payload(10, 10)), Status::ok);
  ASSERT_SOON(pump_, of_it == 4);
  EXPECT_NE(pull.sender_id(), let_go);
  EXPECT_EQ(at_push.downs.size(), 1U) << at_push.why();
  EXPECT_FALSE(pull.disconnect(let_go)) << "its stream is forgotten";
  ASSERT_EQ(other.send(payload(0, 10), 7), Status::ok);
  ASSERT_SOON(pump_, of_others == 1);
}

TEST_P(Disconnect, of_an_accepted_receiver_delivers_and_it_comes_again) {
  Push push(here_, options());
  Pull pull(there_, eager());
  Inbox inbox(pull);
  Seen at_pull(pull);
  Seen at_push(push);
  pull.connect(bind(push));
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(push.send(payload(i, 50)), Status::ok);
  const std::uint64_t id = only_peer(push);
  EXPECT_TRUE(push.disconnect(id, 1h));
  ASSERT_SOON(pump_, at_push.downs.size() == 1);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::closed_here) << at_push.why();
  EXPECT_EQ(at_push.downs[0].peer.books.acknowledged, 100U);
  ASSERT_EQ(send(push, payload(100, 50)), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 101);
  expect_numbered(inbox, 101);
  ASSERT_EQ(at_push.ups.size(), 2U);
  EXPECT_NE(at_push.ups[1].id, id);
  EXPECT_EQ(at_pull.downs.size(), 1U) << at_pull.why();
  settle(push);
  EXPECT_EQ(push.books().acknowledged, 101U);
}

TEST_P(Disconnect, forgets_the_stream_of_a_peer_that_went) {
  Pull pull(there_, options());
  Seen at_pull(pull);
  pull.on_message([](const MessageView&) {});
  {
    Push push(here_, options());
    join(pull, push);
  }
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_TRUE(pull.disconnect(at_pull.downs[0].peer.id));
  EXPECT_FALSE(pull.disconnect(at_pull.downs[0].peer.id));
}

TEST_P(Disconnect, of_one_end_of_a_pair_makes_room_for_another) {
  Pair left(here_, options());
  std::optional<Pair> right(std::in_place, there_, options());
  Seen at_left(left);
  Seen at_right(*right);
  Inbox left_inbox(left);
  Inbox right_inbox(*right);
  left.connect(bind(*right));
  ASSERT_SOON(pump_, left.peers_connected() == 1 && right->peers_connected() == 1);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(left.send("from the left"), Status::ok);
    ASSERT_EQ(right->send("from the right"), Status::ok);
  }
  EXPECT_TRUE(left.disconnect(only_peer(left), 1h));
  ASSERT_SOON(pump_, at_left.downs.size() == 1 && at_right.downs.size() == 1);
  EXPECT_EQ(right_inbox.size(), 100U);
  EXPECT_EQ(left.books().acknowledged, 100U);
  EXPECT_EQ(right->books().acknowledged, left_inbox.size());
  EXPECT_TRUE(add_up(right->books()));
  Pair third(there_, options());
  Inbox third_inbox(third);
  left.connect(bind(third));
  ASSERT_EQ(send(left, payload(0, 10)), Status::ok);
  ASSERT_SOON(pump_, third_inbox.size() == 1);
}

TEST_P(Disconnect, of_nobody_answers_so_and_of_nonsense_throws) {
  Push push(here_, options());
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  EXPECT_FALSE(push.disconnect(0));
  EXPECT_FALSE(push.disconnect(99));
  EXPECT_EQ(push.disconnect("tcp://127.0.0.1:1"), 0U);
  EXPECT_EQ(pull.disconnect("tcp://127.0.0.1:1"), 0U);
  EXPECT_THROW((void)push.disconnect("nonsense"), AddressError);
  EXPECT_THROW((void)push.disconnect("pigeon://roof:1"), AddressError);
  push.close();
  EXPECT_FALSE(push.disconnect(1)) << "all are let go";
  ASSERT_SOON(pump_, push.closed());
  EXPECT_FALSE(push.disconnect(1));
}

TEST_P(Disconnect, in_on_up) {
  Push push(here_, options());
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  int ups = 0;
  std::vector<Down> downs;
  push.on_up([&](const PeerInfo& peer) {
    ++ups;
    EXPECT_TRUE(push.disconnect(peer.id));
    EXPECT_TRUE(downs.empty());
  });
  push.on_down([&](const PeerInfo&, const Down& down) { downs.push_back(down); });
  push.connect(bind(pull));
  ASSERT_SOON(pump_, downs.size() == 1);
  EXPECT_EQ(downs[0].reason, DownReason::closed_here);
  EXPECT_EQ(ups, 1);
  EXPECT_TRUE(push.peers().empty());
}

TEST_P(Disconnect, in_on_writable) {
  Push push(here_, options());
  Pull pull(there_, options());
  Inbox inbox(pull);
  Seen at_push(push);
  int called = 0;
  push.on_writable([&] {
    if (called++ != 0) return;
    ASSERT_EQ(push.send("last"), Status::ok);
    EXPECT_TRUE(push.disconnect(only_peer(push), 1h));
  });
  ASSERT_EQ(push.send("early"), Status::not_connected);
  push.connect(bind(pull));
  expect_let_go(push, at_push, 1);
  EXPECT_EQ(inbox.size(), 1U);
}

TEST_P(Disconnect, and_the_socket_destroyed_in_on_down) {
  std::optional<Push> push(std::in_place, here_, options());
  Pull pull(there_, options());
  Inbox inbox(pull);
  join(pull, *push);
  ASSERT_EQ(push->send("one"), Status::ok);
  push->on_down([&](const PeerInfo&, const Down&) { push.reset(); });
  EXPECT_TRUE(push->disconnect(only_peer(*push), 1h));
  ASSERT_SOON(pump_, !push);
  EXPECT_EQ(inbox.size(), 1U);
}

TEST_P(Disconnect, and_the_socket_closed_before_it_is_done) {
  Push push(here_, options());
  Pull pull(there_, options());
  Inbox inbox(pull);
  Seen at_push(push);
  pull.pause();
  join(pull, push);
  const std::uint64_t taken = send_until_again(push, 4000);
  EXPECT_TRUE(push.disconnect(only_peer(push), 1h));
  push.close(1h);
  pump_.turns(20);
  EXPECT_TRUE(at_push.closings.empty());
  pull.resume();
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_EQ(at_push.closings[0].acknowledged, taken);
  EXPECT_EQ(inbox.size(), taken);
}

ON_EVERY_TRANSPORT_AND_MODE(Disconnect);

}  // namespace
}  // namespace netio::test
