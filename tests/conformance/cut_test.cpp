// Connections cut underneath two sockets that live on: the books stay exact, and it goes on.
#include <map>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"
#include "wire/hello.hpp"

namespace netio::test {
namespace {

class Cut : public Conformance {
 protected:
  // Numbered messages, of which some may be missing but none may come twice or out of order.
  void expect_increasing(Receiving& socket) {
    socket.on_message([this](const MessageView& message) {
      if (message.tag() < next_ || !is_payload(message.bytes(), message.tag())) ++wrong_;
      next_ = message.tag() + 1;
      ++received_;
    });
  }

  // Sends messages first..last, whatever happens underneath.
  void flood(Sending& socket, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t number = first; number < last; ++number) {
      const std::size_t size = number % 200 == 99 ? 150'000 : 10 + number * 31 % 900;
      ASSERT_EQ(send(socket, payload(number, size), number), Status::ok) << number;
    }
  }

  // Once nothing is in doubt, each knows exactly what the other does.
  void expect_exact(const Socket& sender, const Socket& receiver) {
    settle(sender);
    const Books sent = sender.books();
    const Books got = receiver.books();
    EXPECT_TRUE(add_up(sent));
    EXPECT_EQ(sent.acknowledged, got.delivered);
    EXPECT_EQ(sent.dropped(),
              got.missed + sent.dropped_by[static_cast<std::size_t>(DropReason::not_sent)]);
    EXPECT_EQ(got.delivered, received_);
    EXPECT_EQ(wrong_, 0U);
  }

  std::uint64_t next_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t wrong_ = 0;
};

// Its user may wait for the peer before it gives the memory back.
TEST_P(Cut, a_connection_is_made_again_though_all_pages_are_out) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  Relay relay(bind(pull));
  push.connect(relay.address());
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  std::vector<Message> out;
  Status status = Status::ok;
  for (;;) {
    Message message = push.allocate(100, status);
    if (status != Status::ok) break;
    out.push_back(std::move(message));
  }
  ASSERT_EQ(status, Status::again);
  Inbox inbox(pull);
  for (std::uint64_t time = 2; time < 5; ++time) {
    relay.cut();
    ASSERT_SOON(pump_, push.counters().connects == time && push.peers_connected() == 1);
  }
  out.pop_back();  // buffered messages are gathered in a page
  for (Message& message : out) {
    ASSERT_SOON(pump_, push.send(std::move(message)) == Status::ok);
  }
  ASSERT_SOON(pump_, inbox.size() == out.size());
}

TEST_P(Cut, an_idle_connection_is_made_again) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  Seen at_pull(pull);
  Seen at_push(push);
  expect_increasing(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  for (std::uint64_t round = 1; round <= 5; ++round) {
    ASSERT_EQ(send(push, payload(round, 40), round), Status::ok);
    ASSERT_SOON(pump_, push.books().acknowledged == round);
    relay.cut();
    ASSERT_SOON(pump_, at_push.downs.size() == round && at_pull.downs.size() == round);
    EXPECT_EQ(at_push.downs.back().down.reason, DownReason::lost) << at_push.why();
    EXPECT_TRUE(at_push.downs.back().peer.retrying);
    EXPECT_EQ(at_push.downs.back().peer.books.acknowledged, round);
    EXPECT_EQ(at_pull.downs.back().down.reason, DownReason::lost) << at_pull.why();
    EXPECT_EQ(at_pull.downs.back().peer.books.delivered, round);
  }
  expect_exact(push, pull);
  EXPECT_EQ(push.books().dropped(), 0U);
}

TEST_P(Cut, a_connection_that_ends_without_a_good_bye_is_lost_and_made_again) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  Seen at_pull(pull);
  Seen at_push(push);
  expect_increasing(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  ASSERT_SOON(pump_, at_push.ups.size() == 1 && at_pull.ups.size() == 1);
  relay.cut(Relay::End::fin);
  ASSERT_SOON(pump_, at_push.ups.size() == 2 && at_pull.ups.size() == 2);
  EXPECT_EQ(at_push.ups[0].id, at_push.ups[1].id);
  EXPECT_EQ(at_push.ups[1].restarts, 0U) << "the same one came back";
  EXPECT_TRUE(at_push.was_down_for(DownReason::lost)) << "a FIN without a good-bye is no good-bye";
  EXPECT_TRUE(at_pull.was_down_for(DownReason::lost)) << at_pull.why();
}

TEST_P(Cut, before_the_first_message_came_is_missed_all_the_same) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  Seen at_push(push);
  Seen at_pull(pull);
  expect_increasing(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  ASSERT_SOON(pump_, at_push.ups.size() == 1 && at_pull.ups.size() == 1);
  relay.hold(true);
  ASSERT_EQ(send(push, payload(0, 40), 0), Status::ok);
  push.flush();
  pump_.turns(3);
  relay.cut();
  relay.hold(false);
  ASSERT_SOON(pump_, at_push.ups.size() == 2 && at_pull.ups.size() == 2);
  expect_exact(push, pull);
  EXPECT_EQ(push.books().dropped(), 1U);
  EXPECT_EQ(pull.books().missed, 1U);
}

TEST_P(Cut, in_the_middle_of_a_stream_leaves_the_books_exact) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  expect_increasing(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  pump_.after_each_turn(BooksCheck(push));
  pump_.after_each_turn(BooksCheck(pull));
  Random random(5);
  std::uint64_t sent = 0;
  while (relay.cuts() < 12) {
    // Anywhere: in a header, a frame, a large message.
    if (!relay.fault_pending()) relay.cut_after(random.below(300'000));
    flood(push, sent, sent + 100);
    sent += 100;
    ASSERT_LT(sent, 100'000U);
  }
  relay.cut_no_more();
  ASSERT_SOON(pump_, push.peers_connected() == 1 && pull.peers_connected() == 1);
  expect_exact(push, pull);
  EXPECT_EQ(push.books().sent, sent);
  pump_.forget_checks();
}

// Each message comes, or is told to be missing where it would have come.
TEST_P(Cut, what_was_lost_is_told_where_it_is_missing) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  std::uint64_t gaps = 0;
  pull.on_message([this](const MessageView& message) {
    if (message.tag() != next_++) ++wrong_;
    ++received_;
  });
  pull.on_gap([&](const PeerInfo& peer, const Gap& gap) {
    EXPECT_EQ(gap.first, next_);
    EXPECT_GT(gap.count, 0U);
    EXPECT_EQ(gap.reason, DropReason::connection_lost);
    EXPECT_EQ(peer.id, 1U);
    next_ += gap.count;
    ++gaps;
  });
  Relay relay(bind(pull));
  push.connect(relay.address());
  Random random(7);
  std::uint64_t sent = 0;
  while (relay.cuts() < 8) {
    if (!relay.fault_pending()) relay.cut_after(random.below(100'000));
    flood(push, sent, sent + 100);
    sent += 100;
    ASSERT_LT(sent, 100'000U);
  }
  relay.cut_no_more();
  flood(push, sent, sent + 1);
  settle(push);
  ASSERT_SOON(pump_, next_ == sent + 1);
  EXPECT_EQ(wrong_, 0U);
  EXPECT_GT(gaps, 0U);
  EXPECT_EQ(pull.books().missed, next_ - received_);
}

TEST_P(Cut, in_the_middle_of_a_hello_is_tried_again) {
  Pull pull(there_, eager());
  expect_increasing(pull);
  Relay relay(bind(pull));
  std::uint64_t sent = 0;
  for (std::uint64_t after = 0; after < detail::hello_fixed_bytes; after += 9) {
    Push push(here_, eager());
    Seen at_push(push);
    relay.cut_after(after);
    push.connect(relay.address());
    ASSERT_SOON(pump_, at_push.downs.size() == 1);
    EXPECT_EQ(at_push.downs[0].down.reason, DownReason::lost) << at_push.why();
    EXPECT_TRUE(at_push.downs[0].peer.retrying);
    EXPECT_TRUE(at_push.ups.empty());
    flood(push, sent, sent + 10);
    sent += 10;
    settle(push);
    EXPECT_EQ(push.books().acknowledged, 10U);
    EXPECT_EQ(at_push.downs.size(), 1U);
  }
  EXPECT_EQ(received_, sent);
  EXPECT_EQ(wrong_, 0U);
}

TEST_P(Cut, of_a_receiver_that_dialed_leaves_the_books_exact) {
  Push push(here_, eager());
  Pull pull(there_, eager());
  expect_increasing(pull);
  Relay relay(bind(push));
  pull.connect(relay.address());
  pump_.after_each_turn(BooksCheck(push));
  pump_.after_each_turn(BooksCheck(pull));
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  for (std::uint64_t round = 0; round < 8; ++round) {
    flood(push, round * 300, round * 300 + 300);
    relay.cut();
    ASSERT_SOON(pump_, push.counters().disconnects == round + 1);
  }
  ASSERT_SOON(pump_, push.peers_connected() == 1 && pull.peers_connected() == 1);
  expect_exact(push, pull);
  pump_.forget_checks();
}

TEST_P(Cut, of_a_pair_leaves_the_books_of_both_directions_exact) {
  Pair left(here_, eager());
  Pair right(there_, eager());
  std::map<const Pair*, std::uint64_t> next;
  std::map<const Pair*, std::uint64_t> received;
  std::uint64_t wrong = 0;
  for (Pair* pair : {&left, &right}) {
    pair->on_message([&, pair](const MessageView& message) {
      if (message.tag() < next[pair] || !is_payload(message.bytes(), message.tag())) ++wrong;
      next[pair] = message.tag() + 1;
      ++received[pair];
    });
  }
  Relay relay(bind(right));
  left.connect(relay.address());
  pump_.after_each_turn(BooksCheck(left));
  pump_.after_each_turn(BooksCheck(right));
  Random random(9);
  for (std::uint64_t number = 0; relay.cuts() < 8; ++number) {
    if (!relay.fault_pending()) relay.cut_after(random.below(50'000));
    const std::size_t size = number % 100 == 50 ? 100'000 : 20 + number % 100;
    ASSERT_EQ(send(left, payload(number, size), number), Status::ok);
    ASSERT_EQ(send(right, payload(number, size), number), Status::ok);
    ASSERT_LT(number, 100'000U);
  }
  relay.cut_no_more();
  ASSERT_SOON(pump_, left.peers_connected() == 1 && right.peers_connected() == 1);
  settle(left);
  settle(right);
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(left.books().acknowledged, right.books().delivered);
  EXPECT_EQ(right.books().acknowledged, left.books().delivered);
  EXPECT_EQ(left.books().delivered, received[&left]);
  EXPECT_EQ(right.books().delivered, received[&right]);
  pump_.forget_checks();
}

// The network broke on one side only: the receiver still believes in a connection that the sender
// has given up, and sees it return on a new one.
TEST_P(Cut, a_peer_that_returns_before_its_loss_was_seen_is_taken_back) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  expect_increasing(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  for (std::uint64_t round = 0; round < 5; ++round) {
    flood(push, round * 300, round * 300 + 300);
    relay.strand();
  }
  flood(push, 1500, 1600);
  expect_exact(push, pull);
  ASSERT_SOON(pump_, pull.peers_connected() == 1);
}

TEST_P(Cut, a_pair_is_not_busy_with_the_ghost_of_its_own_peer) {
  Pair bound(there_, eager());
  Pair dialing(here_, eager());
  Inbox at_dialing(dialing);
  expect_increasing(bound);
  Relay relay(bind(bound));
  dialing.connect(relay.address());
  ASSERT_EQ(send(dialing, payload(0, 50), 0), Status::ok);
  ASSERT_SOON(pump_, received_ == 1);
  relay.strand();
  ASSERT_SOON(pump_, dialing.counters().connects == 2);
  ASSERT_EQ(send(dialing, payload(1, 50), 1), Status::ok);
  ASSERT_EQ(send(bound, payload(2, 50), 2), Status::ok);
  ASSERT_SOON(pump_, received_ == 2 && at_dialing.size() == 1);
  expect_exact(dialing, bound);
}

TEST_P(Cut, while_paused_in_the_middle_of_a_page_leaves_the_books_exact) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  pull.on_message([&](const MessageView& message) {
    if (message.tag() < next_ || !is_payload(message.bytes(), message.tag())) ++wrong_;
    next_ = message.tag() + 1;
    if (++received_ % 37 == 0) pull.pause();
  });
  Relay relay(bind(pull));
  push.connect(relay.address());
  pump_.after_each_turn(BooksCheck(push));
  pump_.after_each_turn(BooksCheck(pull));
  Random random(13);
  std::uint64_t number = 0;
  std::uint64_t pauses = 0;
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 100 && number < 3000; ++i, ++number) {
      if (push.send(payload(number, 50), number) != Status::ok) break;
    }
    if (pull.paused()) {
      if (++pauses % 5 == 0) relay.cut();
      pump_.turns(static_cast<int>(random.below(5)));
      pull.resume();
    }
    return number == 3000;
  }());
  ASSERT_SOON(pump_, [&] {
    if (pull.paused()) pull.resume();
    return push.books().unsettled() == 0;
  }());
  expect_exact(push, pull);
  pump_.forget_checks();
}

TEST_P(Cut, lent_bytes_come_back_once_whatever_is_cut) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  expect_increasing(pull);
  std::map<std::uint64_t, int> released;
  push.on_released([&](std::uint64_t token) { ++released[token]; });
  Relay relay(bind(pull));
  push.connect(relay.address());
  std::vector<std::vector<std::byte>> lent;
  for (std::uint64_t i = 0; i < 40; ++i) lent.push_back(payload(i, 50'000 * (i % 8) + 100));
  for (std::uint64_t i = 0; i < lent.size(); ++i) {
    if (i % 5 == 2) relay.cut_after(200'000);
    Status status = Status::again;
    ASSERT_SOON(pump_, (status = push.lend(lent[i], i, i)) != Status::again &&
                           status != Status::not_connected);
    ASSERT_EQ(status, Status::ok);
  }
  relay.cut_no_more();
  ASSERT_SOON(pump_, released.size() == lent.size() && push.books().unsettled() == 0);
  for (const auto& [token, count] : released) EXPECT_EQ(count, 1) << "token " << token;
  expect_exact(push, pull);
}

TEST_P(Cut, a_slow_network_changes_nothing_but_the_time) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  Seen at_push(push);
  expect_increasing(pull);
  Relay relay(bind(pull));
  relay.set_delay(20ms);
  push.connect(relay.address());
  flood(push, 0, 2000);
  push.close(30s);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_EQ(at_push.closings[0].acknowledged, 2000U);
  EXPECT_EQ(received_, 2000U);
  EXPECT_EQ(wrong_, 0U);
  EXPECT_EQ(at_push.closings[0].dropped(), 0U);
}

TEST_P(Cut, a_network_that_stands_still_holds_the_sender_back) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  expect_increasing(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  flood(push, 0, 10);
  settle(push);
  relay.hold(true);
  std::uint64_t number = 10;
  for (int refused = 0; refused < 50;) {
    if (push.send(payload(number, 900), number) == Status::ok) {
      ++number;
      refused = 0;
    } else {
      ++refused;
      pump_.turn();
    }
  }
  EXPECT_EQ(push.counters().disconnects, 0U);
  relay.hold(false);
  expect_exact(push, pull);
  EXPECT_EQ(push.books().acknowledged, number);
}

// TCP would have noticed; a middle-box that rewrites the stream might not.
TEST_P(Cut, a_byte_lost_from_the_stream_ends_the_connection_and_no_more) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  Seen at_pull(pull);
  pull.on_message([&](const MessageView&) { ++received_; });
  Relay relay(bind(pull));
  push.connect(relay.address());
  flood(push, 0, 100);
  settle(push);
  relay.lose_byte_after(30'003);
  flood(push, 100, 3000);
  ASSERT_SOON(pump_, !at_pull.downs.empty());
  EXPECT_TRUE(at_pull.downs[0].down.reason == DownReason::protocol_error ||
              at_pull.downs[0].down.reason == DownReason::message_too_big)
      << at_pull.why();
  flood(push, 3000, 3100);
  settle(push);
  EXPECT_EQ(push.books().acknowledged, pull.books().delivered);
  EXPECT_EQ(pull.books().delivered, received_);
  EXPECT_EQ(push.books().dropped(), pull.books().missed);
}

TEST_P(Cut, a_network_that_comes_and_goes_is_reported_and_outlived) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  Seen at_push(push);
  expect_increasing(pull);
  Relay relay(bind(pull));
  relay.forbid(true);
  push.connect(relay.address());
  ASSERT_SOON(pump_, at_push.downs.size() >= 3);
  for (const Seen::Gone& gone : at_push.downs) {
    EXPECT_TRUE(gone.peer.retrying);
    EXPECT_FALSE(gone.down.detail.empty());
  }
  EXPECT_TRUE(at_push.ups.empty());
  relay.forbid(false);
  flood(push, 0, 100);
  // The receiver knows the sender from its first page on; what never came from a stranger is not
  // missed.
  ASSERT_SOON(pump_, pull.books().delivered > 0);
  relay.forbid(true);
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  EXPECT_EQ(push.send("nobody", 100), Status::not_connected);
  relay.forbid(false);
  flood(push, 100, 200);
  expect_exact(push, pull);
}

// What it dropped before is told once, not again on the next connection.
TEST_P(Cut, of_a_publisher_that_dialed_leaves_its_drops_exact) {
  Subscribe subscribe(there_, {.policy = Policy::drop_new, .behind_bytes_max = 1U << 20U}, eager());
  expect_increasing(subscribe);
  std::uint64_t answers = 0;
  subscribe.on_subscribed([&](const PeerInfo&, const Subscribed&) { ++answers; });
  subscribe.subscribe_all();
  Relay relay(bind(subscribe));
  Publish publish(here_, {}, eager());
  publish.connect(relay.address());
  ASSERT_SOON(pump_, answers == 1);
  subscribe.pause();
  std::uint64_t number = 0;
  const auto publish_one = [&] {
    const std::uint64_t tag = ++number;
    return publish.send(payload(tag, 20'000), tag);
  };
  ASSERT_SOON(pump_, publish_one() == Status::ok && publish.books().dropped() > 100);
  subscribe.resume();
  const auto all_known = [&] { return received_ + subscribe.books().missed == number; };
  // The gap is told behind what waited, at the latest with the next message.
  ASSERT_SOON(pump_, publish.books().unsettled() == 0);
  ASSERT_EQ(publish_one(), Status::ok);
  ASSERT_SOON(pump_, all_known());
  const std::uint64_t missed = subscribe.books().missed;
  EXPECT_EQ(missed, publish.books().dropped());

  relay.cut();
  ASSERT_SOON(pump_, answers == 2);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(publish_one(), Status::ok);
  ASSERT_SOON(pump_, all_known() && publish.books().unsettled() == 0);
  EXPECT_EQ(subscribe.books().missed, missed);
  EXPECT_EQ(wrong_, 0U);
}

ON_TCP_IN_EVERY_MODE(Cut);

}  // namespace
}  // namespace netio::test
