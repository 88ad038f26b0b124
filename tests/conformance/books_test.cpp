// The books: what was sent is acknowledged, dropped or in doubt, at every moment and at both ends.
#include <memory>
#include <optional>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class BooksOf : public Conformance {};

TEST_P(BooksOf, a_fresh_socket_are_empty) {
  const Push push(here_, options());
  const Books books = push.books();
  EXPECT_EQ(books.sent, 0U);
  EXPECT_EQ(books.acknowledged, 0U);
  EXPECT_EQ(books.dropped(), 0U);
  EXPECT_EQ(books.unacknowledged, 0U);
  EXPECT_EQ(books.delivered, 0U);
  EXPECT_EQ(books.missed, 0U);
}

TEST_P(BooksOf, a_busy_pair_add_up_after_every_turn) {
  Pair left(here_, options());
  Pair right(there_, options());
  std::uint64_t at_left = 0;
  std::uint64_t at_right = 0;
  Random random(3);
  left.on_message([&](const MessageView&) {
    ++at_left;
    EXPECT_EQ(left.books().delivered, at_left) << "the message at hand counts";
  });
  right.on_message([&](const MessageView&) {
    ++at_right;
    EXPECT_TRUE(add_up(right.books()));
  });
  join(left, right);
  pump_.after_each_turn(BooksCheck(left));
  pump_.after_each_turn(BooksCheck(right));
  constexpr std::uint64_t count = 3000;
  std::uint64_t sent = 0;
  std::uint64_t sent_back = 0;
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 20 && sent < count; ++i) {
      const std::size_t size = random.one_in(100) ? 200'000 : random.below(500);
      if (left.send(payload(sent, size)) != Status::ok) break;
      // Every message is in the books the moment send() answers ok.
      EXPECT_EQ(left.books().sent, sent + 1);
      EXPECT_TRUE(add_up(left.books()));
      if (right.send(payload(sent, 10)) == Status::ok) ++sent_back;
      ++sent;
    }
    return at_right == count && left.books().unsettled() == 0 && right.books().unsettled() == 0;
  }());
  EXPECT_EQ(right.books().sent, sent_back);
  EXPECT_EQ(left.books().acknowledged, right.books().delivered);
  EXPECT_EQ(right.books().acknowledged, left.books().delivered);
  EXPECT_EQ(left.books().dropped() + right.books().dropped(), 0U);
  EXPECT_EQ(left.books().missed + right.books().missed, 0U);
  pump_.forget_checks();
}

TEST_P(BooksOf, both_ends_agree_once_it_is_quiet_and_after_close) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_pull(pull);
  Seen at_push(push);
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  send_numbered(push, 0, 5000, [](std::uint64_t i) { return i * 7 % 900; });
  settle(push);
  EXPECT_EQ(push.books().acknowledged, 5000U);
  EXPECT_EQ(pull.books().delivered, 5000U);
  push.close();
  ASSERT_SOON(pump_, at_push.closings.size() == 1 && at_pull.downs.size() == 1);
  EXPECT_EQ(at_push.closings[0].acknowledged, 5000U);
  EXPECT_EQ(at_push.closings[0].sent, 5000U);
  EXPECT_EQ(at_pull.downs[0].peer.books.delivered, 5000U);
  EXPECT_EQ(pull.books().delivered, 5000U);
  EXPECT_EQ(pull.books().missed, 0U);
}

// An idle receiver says what it delivered within acknowledge_after, without being asked.
TEST_P(BooksOf, a_single_message_is_acknowledged_in_time) {
  SocketOptions quick = options();
  quick.acknowledge_after = 1ms;
  Pull pull(there_, quick);
  Push push(here_, options());
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(push.send("one"), Status::ok);
    ASSERT_SOON(pump_, push.books().acknowledged == i);
  }
}

// What is acknowledged was delivered to the call-back: never more than that.
TEST_P(BooksOf, nothing_is_acknowledged_before_it_was_delivered) {
  Pull pull(there_, options());
  Push push(here_, options());
  std::uint64_t delivered = 0;
  pull.on_message([&](const MessageView&) {
    ++delivered;
    if (delivered % 100 == 0) pull.pause();
  });
  join(pull, push);
  pump_.after_each_turn([&] { EXPECT_LE(push.books().acknowledged, delivered); });
  send_numbered(push, 0, 1000, [](std::uint64_t) { return std::size_t{64}; });
  ASSERT_SOON(pump_, [&] {
    if (pull.paused() && push.books().acknowledged == delivered) pull.resume();
    return push.books().acknowledged == 1000;
  }());
  pump_.forget_checks();
}

TEST_P(BooksOf, a_sender_with_several_peers_are_the_sum_of_theirs) {
  Push push(here_, options());
  Seen at_push(push);
  std::vector<std::unique_ptr<Pull>> pulls;
  for (int i = 0; i < 3; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    pulls.back()->on_message([](const MessageView&) {});
    join(*pulls.back(), push);
  }
  send_numbered(push, 0, 900, [](std::uint64_t) { return std::size_t{64}; });
  settle(push);
  for (auto& pull : pulls) pull->close();
  ASSERT_SOON(pump_, at_push.downs.size() == 3);
  Books sum;
  for (const Seen::Gone& gone : at_push.downs) {
    EXPECT_TRUE(add_up(gone.peer.books));
    sum.sent += gone.peer.books.sent;
    sum.acknowledged += gone.peer.books.acknowledged;
  }
  EXPECT_EQ(sum.sent, 900U);
  EXPECT_EQ(sum.acknowledged, 900U);
  EXPECT_EQ(push.books().sent, 900U) << "peers that went stay in the sum";
  EXPECT_EQ(push.books().acknowledged, 900U);
}

// The receiver goes without a word, and with it whatever it had not acknowledged.
TEST_P(BooksOf, messages_for_a_receiver_that_never_returns_are_in_doubt_and_then_dropped) {
  Push push(here_, options());
  Seen at_push(push);
  std::string address;
  std::uint64_t taken = 0;
  {
    Pull pull(there_, options());
    pull.on_message([](const MessageView&) {});
    pull.pause();
    address = bind(pull);
    push.connect(address);
    ASSERT_SOON(pump_, push.peers_connected() == 1);
    taken = send_until_again(push, 1000);
  }
  ASSERT_SOON(pump_, push.peers_connected() == 0);
  EXPECT_TRUE(add_up(push.books()));
  EXPECT_EQ(push.books().acknowledged, 0U);
  EXPECT_EQ(push.books().sent, taken);

  // Another socket at the same place: it has not got what the first was sent.
  Pull successor(there_, options());
  std::uint64_t received = 0;
  successor.on_message([&](const MessageView&) { ++received; });
  (void)successor.bind(address);
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  ASSERT_EQ(send(push, payload(0, 10)), Status::ok);
  settle(push);
  const Books books = push.books();
  EXPECT_EQ(books.sent, taken + 1);
  EXPECT_EQ(books.acknowledged + books.dropped(), taken + 1);
  EXPECT_EQ(books.acknowledged, received);
  EXPECT_GT(books.dropped_by[static_cast<std::size_t>(DropReason::connection_lost)], 0U);
}

TEST_P(BooksOf, what_a_closing_receiver_had_not_taken_is_dropped_as_peer_closed) {
  Push push(here_, options());
  Pull pull(there_, options());
  Seen at_push(push);
  std::uint64_t delivered = 0;
  pull.on_message([&](const MessageView&) {
    if (++delivered == 10) pull.close();
  });
  // The pull dials, so that the push has no reason to expect it back.
  pull.connect(bind(push));
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  send_numbered(push, 0, 25, [](std::uint64_t) { return std::size_t{64}; });
  ASSERT_SOON(pump_, at_push.downs.size() == 1);
  EXPECT_EQ(at_push.downs[0].down.reason, DownReason::closed_by_peer) << at_push.why();
  EXPECT_EQ(delivered, 10U) << "a pull stops delivering at once";
  const Books books = push.books();
  EXPECT_EQ(books.sent, 25U);
  EXPECT_EQ(books.acknowledged, 10U);
  EXPECT_EQ(books.dropped(), 15U);
  EXPECT_EQ(books.dropped_by[static_cast<std::size_t>(DropReason::peer_closed)], 15U);
  EXPECT_EQ(books.unacknowledged, 0U);
}

TEST_P(BooksOf, counters_count_messages_bytes_and_pages) {
  Pull pull(there_, options());
  Push push(here_, options());
  pull.on_message([](const MessageView&) {});
  join(pull, push);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(send(push, payload(i, i)), Status::ok);
    bytes += i;
  }
  settle(push);
  EXPECT_EQ(push.counters().bytes_sent, bytes);
  EXPECT_EQ(pull.counters().bytes_received, bytes);
  EXPECT_GT(push.counters().pages_sent, 0U);
  EXPECT_EQ(push.counters().pages_sent, pull.counters().pages_received);
  if (GetParam().mode == Mode::unbuffered) {
    EXPECT_GE(push.counters().pages_sent, 1000U) << "one message, one post";
  }
}

// Each page that carries messages is counted once, also one that a pause cuts in two; greetings,
// acknowledgements and good-byes are not.
TEST_P(BooksOf, pages_are_counted_exactly) {
  Pull pull(there_, options());
  Push push(here_, patient());
  Seen at_push(push);
  std::uint64_t delivered = 0;
  pull.on_message([&](const MessageView&) {
    if (++delivered == 8) pull.pause();
  });
  join(pull, push);
  const bool buffered = GetParam().mode == Mode::buffered;
  for (std::uint64_t page = 1; page <= 3; ++page) {
    for (int i = 0; i < 3; ++i) ASSERT_EQ(send(push, payload(0, 100)), Status::ok);
    push.flush();
    ASSERT_EQ(push.counters().pages_sent, buffered ? page : 3 * page);
  }
  ASSERT_SOON(pump_, pull.paused());
  EXPECT_EQ(pull.counters().pages_received, buffered ? 3U : 8U);
  pull.resume();
  ASSERT_SOON(pump_, delivered == 9);
  EXPECT_EQ(pull.counters().pages_received, buffered ? 3U : 9U);

  // Ten pages as a whole, less than a page more for what stands before each part.
  ASSERT_EQ(send(push, payload(0, 10 * GetParam().page_bytes)), Status::ok);
  settle(push);
  push.close();
  ASSERT_SOON(pump_, at_push.closings.size() == 1 && pull.peers_connected() == 0);
  const std::uint64_t of_large = buffered && !GetParam().read_in_place ? 11U : 1U;
  EXPECT_EQ(push.counters().pages_sent, (buffered ? 3U : 9U) + of_large);
  EXPECT_EQ(pull.counters().pages_received, (buffered ? 3U : 9U) + of_large);
  EXPECT_EQ(pull.counters().pages_sent, 0U);
  EXPECT_EQ(push.counters().pages_received, 0U);
}

ON_EVERY_TRANSPORT_AND_MODE(BooksOf);

}  // namespace
}  // namespace netio::test
