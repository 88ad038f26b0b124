// Ending in order: what was taken is delivered, the time is bounded, the other side knows.
#include <memory>
#include <optional>

#include "conformance/conformance.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

class Close : public Conformance {
 protected:
  // A peer takes nothing of what it is sent and goes; the socket is closed; the peer returns.
  template <class Peer, class Sender, class Closing>
  void delivers_to_who_returns(Sender& sender, Closing&& close) {
    Seen at_sender(sender);
    std::string address;
    {
      Peer peer(there_, options());
      peer.pause();
      address = bind(peer);
      sender.connect(address);
      ASSERT_SOON(pump_, sender.peers_connected() == 1);
      ASSERT_EQ(sender.send("for who returns"), Status::ok);
    }
    ASSERT_SOON(pump_, sender.peers_connected() == 0);
    close();
    // Nobody is there at first.
    ASSERT_SOON(pump_, sender.closed() || at_sender.was_down_for(DownReason::refused));
    Peer peer(there_, options());
    Inbox inbox(peer);
    (void)peer.bind(address);
    const auto start = std::chrono::steady_clock::now();
    ASSERT_SOON(pump_, at_sender.closings.size() == 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "waited for its linger";
    if (GetParam().mode == Mode::unbuffered) return;  // the first one had it
    EXPECT_EQ(at_sender.closings[0].acknowledged, 1U);
    EXPECT_EQ(inbox.size(), 1U);
  }
};

TEST_P(Close, delivers_what_was_taken_and_then_tells) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  pull.on_message([&](const MessageView& message) {
    if (!is_payload(message.bytes(), count)) ++wrong;
    ++count;
  });
  join(pull, push);
  std::uint64_t taken = 0;
  while (taken < 5000 && push.send(payload(taken, 100 + taken % 400)) == Status::ok) ++taken;
  ASSERT_GT(taken, 100U);
  push.close();
  EXPECT_TRUE(at_push.closings.empty()) << "told from inside close()";
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_EQ(count, taken);
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(at_push.closings[0].sent, taken);
  EXPECT_EQ(at_push.closings[0].acknowledged, taken);
  EXPECT_EQ(at_push.closings[0].unacknowledged, 0U);
  EXPECT_TRUE(push.closed());
  EXPECT_EQ(push.peers_connected(), 0U);
  EXPECT_EQ(push.books().acknowledged, taken);
}

TEST_P(Close, delivers_a_large_message_under_way) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  Inbox inbox(pull);
  join(pull, push);
  ASSERT_EQ(push.send(payload(0, 24U << 20U)), Status::ok);
  push.close(30s);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_TRUE(is_payload(inbox[0].bytes, 0));
  EXPECT_EQ(at_push.closings[0].acknowledged, 1U);
}

TEST_P(Close, is_seen_as_closed_by_peer) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_pull(pull);
  Seen at_push(push);
  Inbox inbox(pull);
  join(pull, push);
  ASSERT_EQ(push.send("one"), Status::ok);
  push.close();
  ASSERT_SOON(pump_, at_pull.downs.size() == 1 && at_push.closings.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::closed_by_peer) << at_pull.why();
  EXPECT_FALSE(at_pull.downs[0].peer.retrying);
  EXPECT_TRUE(at_pull.downs[0].peer.was_up);
  EXPECT_EQ(at_pull.downs[0].peer.books.delivered, 1U);
  EXPECT_EQ(pull.peers_connected(), 0U);
  EXPECT_EQ(pull.counters().disconnects, 1U);
  pump_.run_for(30ms);
  EXPECT_EQ(at_pull.downs.size(), 1U);
  EXPECT_EQ(at_push.closings.size(), 1U);
}

TEST_P(Close, of_the_dialed_end_is_seen_and_the_other_keeps_trying) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  pull.close();
  ASSERT_SOON(pump_, !at_push.downs.empty());
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::closed_by_peer) << at_push.why();
  EXPECT_TRUE(at_push.downs[0].peer.retrying);
}

TEST_P(Close, takes_no_more_messages) {
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  push.close();
  EXPECT_EQ(push.send("late"), Status::closed);
  EXPECT_EQ(push.lend(payload(1, 10), 1), Status::closed);
  EXPECT_EQ(push.send(Message::copy_of(payload(1, 10))), Status::closed);
  push.flush();
  ASSERT_SOON(pump_, push.closed());
  EXPECT_EQ(push.send("later"), Status::closed);
  EXPECT_EQ(push.books().sent, 0U);
}

TEST_P(Close, twice_is_once) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  ASSERT_EQ(push.send("one"), Status::ok);
  push.close();
  push.close();
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  push.close();
  pump_.run_for(30ms);
  EXPECT_EQ(at_push.closings.size(), 1U);
}

TEST_P(Close, again_sets_a_new_linger) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  pull.on_message([](const MessageView&) {});
  pull.pause();
  join(pull, push);
  const std::uint64_t taken = send_until_again(push, 4000);
  const auto start = std::chrono::steady_clock::now();
  push.close(1h);
  pump_.run_for(30ms);
  EXPECT_TRUE(at_push.closings.empty());
  push.close(0s);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  EXPECT_EQ(at_push.closings[0].sent, taken);
  EXPECT_TRUE(add_up(at_push.closings[0]));
}

TEST_P(Close, without_peers_comes_at_once) {
  Push never_used(here_, options());
  Push bound(here_, options());
  Push connecting(here_, options());
  Pull pull(there_, options());
  Seen at_never_used(never_used);
  Seen at_bound(bound);
  Seen at_connecting(connecting);
  Seen at_pull(pull);
  std::string nobody;
  {
    Pull gone(there_);
    nobody = bind(gone);
  }
  (void)bind(bound);
  (void)bind(pull);
  connecting.connect(nobody);
  pump_.turns(3);
  const auto start = std::chrono::steady_clock::now();
  for (Socket* socket : {static_cast<Socket*>(&never_used), static_cast<Socket*>(&bound),
                         static_cast<Socket*>(&connecting), static_cast<Socket*>(&pull)}) {
    socket->close(20s);
  }
  ASSERT_SOON(pump_, at_never_used.closings.size() == 1 && at_bound.closings.size() == 1 &&
                         at_connecting.closings.size() == 1 && at_pull.closings.size() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "waited for its linger";
}

TEST_P(Close, stops_listening) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  Seen at_pull(pull);
  const std::string address = bind(pull);
  pull.close();
  ASSERT_SOON(pump_, at_pull.closings.size() == 1);
  push.connect(address);
  ASSERT_SOON(pump_, !at_push.downs.empty());
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::refused) << at_push.why();
  EXPECT_FALSE(at_push.downs[0].peer.was_up);
  Pull successor(there_, options());
  EXPECT_EQ(port_of(successor.bind(address)), port_of(address));
}

TEST_P(Close, gives_up_when_linger_expires) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  Seen at_pull(pull);
  pull.on_message([](const MessageView&) {});
  pull.pause();
  join(pull, push);
  const std::uint64_t taken = send_until_again(push, 4000);
  const auto start = std::chrono::steady_clock::now();
  push.close(200ms);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, 190ms);
  EXPECT_LT(took, 5s);
  const Books& books = at_push.closings[0];
  EXPECT_TRUE(add_up(books));
  EXPECT_EQ(books.sent, taken);
  EXPECT_EQ(books.acknowledged, 0U);
  EXPECT_EQ(push.peers_connected(), 0U);
  // For the other side it did not end in order.
  pull.resume();
  ASSERT_SOON(pump_, at_pull.downs.size() == 1);
  EXPECT_EQ(at_pull.downs[0].down.reason, DownReason::lost) << at_pull.why();
}

TEST_P(Close, with_no_linger_comes_at_once) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_push(push);
  pull.on_message([](const MessageView&) {});
  pull.pause();
  join(pull, push);
  (void)send_until_again(push, 4000);
  push.close(0s);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_TRUE(add_up(at_push.closings[0]));
}

TEST_P(Close, is_not_held_up_by_a_peer_that_is_away_and_owes_nothing) {
  Push push(here_, options());
  Seen at_push(push);
  std::string address;
  {
    Pull pull(there_, options());
    pull.on_message([](const MessageView&) {});
    address = bind(pull);
    push.connect(address);
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    ASSERT_EQ(push.send("settled"), Status::ok);
    settle(push);
  }
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  const auto start = std::chrono::steady_clock::now();
  push.close(20s);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "waited for its linger";
  EXPECT_EQ(at_push.closings[0].acknowledged, 1U);
}

// Messages that no connection was handed so far wait for the peer to return, and not for ever.
TEST_P(Close, gives_up_on_a_peer_that_is_away_when_linger_expires) {
  Push push(here_, patient());
  Seen at_push(push);
  {
    Pull pull(there_, options());
    pull.pause();
    join(pull, push);
    ASSERT_EQ(push.send("for nobody"), Status::ok);
  }
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  const auto start = std::chrono::steady_clock::now();
  push.close(100ms);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  const Books& books = at_push.closings[0];
  EXPECT_TRUE(add_up(books));
  EXPECT_EQ(books.sent, 1U);
  EXPECT_EQ(books.acknowledged, 0U);
  if (GetParam().mode == Mode::buffered) {
    EXPECT_GE(std::chrono::steady_clock::now() - start, 90ms);
    EXPECT_EQ(books.dropped_by[static_cast<std::size_t>(DropReason::linger_expired)], 1U);
  }
}

TEST_P(Close, delivers_to_a_peer_that_returns_while_it_lingers) {
  Push push(here_, patient());
  delivers_to_who_returns<Pull>(push, [&] { push.close(20s); });
}

TEST_P(Close, of_a_paused_pair_hears_a_peer_that_returns) {
  Pair pair(here_, patient());
  delivers_to_who_returns<Pair>(pair, [&] {
    pair.pause();
    pair.close(20s);
  });
}

TEST_P(Close, of_both_ends_at_once_is_in_order) {
  Pair left(here_, options());
  Pair right(there_, options());
  Seen at_left(left);
  Seen at_right(right);
  Inbox left_inbox(left);
  Inbox right_inbox(right);
  join(left, right);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(left.send("from the left"), Status::ok);
    ASSERT_EQ(right.send("from the right"), Status::ok);
  }
  left.close(20s);
  right.close(20s);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_SOON(pump_, at_left.closings.size() == 1 && at_right.closings.size() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "waited for its linger";
  for (const Books& books : {at_left.closings[0], at_right.closings[0]}) {
    EXPECT_TRUE(add_up(books));
    EXPECT_EQ(books.sent, 100U);
    EXPECT_EQ(books.unacknowledged, 0U);
  }
  EXPECT_EQ(at_left.closings[0].acknowledged, right_inbox.size());
  EXPECT_EQ(at_right.closings[0].acknowledged, left_inbox.size());
}

TEST_P(Close, of_both_ends_at_once_is_in_order_while_one_does_not_read) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_pull(pull);
  Seen at_push(push);
  pull.on_message([](const MessageView&) {});
  pull.pause();
  join(pull, push);
  constexpr std::uint64_t count = 12;
  const std::size_t size = GetParam().page_bytes * 2 / 3;
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(send(push, payload(i, size)), Status::ok);
  push.close(20s);
  pump_.run_for(30ms);
  pull.close(20s);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_SOON(pump_, at_pull.closings.size() == 1 && at_push.closings.size() == 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s) << "waited for its linger, or a stall";
  EXPECT_TRUE(add_up(at_push.closings[0]));
  EXPECT_EQ(at_push.closings[0].dropped(), count) << at_push.why();
}

TEST_P(Close, of_a_receiver_that_does_not_read_is_answered_by_a_sender_that_is_full) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_pull(pull);
  Seen at_push(push);
  pull.on_message([](const MessageView&) {});
  pull.pause();
  join(pull, push);
  const std::vector<std::byte> memory = payload(0, 300'000);
  std::uint64_t lent = 0;
  for (int i = 0; i < 20; ++i) {
    while (push.lend(memory, lent) == Status::ok) ++lent;
    pump_.run_for(5ms);
  }
  ASSERT_GT(lent, 1U);
  const auto start = std::chrono::steady_clock::now();
  pull.close(20s);
  ASSERT_SOON(pump_, at_pull.closings.size() == 1 && !at_push.downs.empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s) << "waited for its linger, or a stall";
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::closed_by_peer) << at_push.why();
}

TEST_P(Close, of_one_end_of_a_pair_delivers_its_messages_and_settles_the_others) {
  Pair left(here_, options());
  Pair right(there_, options());
  Seen at_left(left);
  Seen at_right(right);
  Inbox left_inbox(left);
  Inbox right_inbox(right);
  join(left, right);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(left.send("from the left"), Status::ok);
    ASSERT_EQ(right.send("from the right"), Status::ok);
  }
  left.close(20s);
  ASSERT_SOON(pump_, at_left.closings.size() == 1 && at_right.downs.size() == 1);
  EXPECT_EQ(right_inbox.size(), 100U);
  EXPECT_EQ(at_left.closings[0].acknowledged, 100U);
  EXPECT_EQ(at_right.downs[0].down.reason, DownReason::closed_by_peer) << at_right.why();
  const Books books = right.books();
  EXPECT_TRUE(add_up(books));
  EXPECT_EQ(books.acknowledged, left_inbox.size());
}

TEST_P(Close, of_every_sender_leaves_the_receiver_ready_for_more) {
  Pull pull(there_, options());
  Inbox inbox(pull);
  const std::string address = bind(pull);
  for (std::size_t i = 1; i <= 10; ++i) {
    Push push(here_, options());
    Seen at_push(push);
    push.connect(address);
    ASSERT_EQ(send(push, payload(i, 100)), Status::ok);
    push.close();
    ASSERT_SOON(pump_, at_push.closings.size() == 1);
    ASSERT_EQ(inbox.size(), i);
  }
  EXPECT_EQ(pull.counters().connects, 10U);
  ASSERT_SOON(pump_, pull.counters().disconnects == 10);
}

TEST_P(Close, may_be_followed_by_destruction_without_waiting) {
  Pull pull(there_, options());
  pull.on_message([](const MessageView&) {});
  const std::string address = bind(pull);
  for (int i = 0; i < 20; ++i) {
    Push push(here_, options());
    push.connect(address);
    pump_.turns(i);
    push.close();
    pump_.turns(i % 3);
  }
  pump_.run_for(20ms);
  Push push(here_, options());
  push.connect(address);
  ASSERT_EQ(send(push, payload(1, 10)), Status::ok);
  settle(push);
}

ON_EVERY_TRANSPORT_AND_MODE(Close);

}  // namespace
}  // namespace netio::test
