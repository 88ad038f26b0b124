// Pair: both directions with one peer, and only one.
#include <optional>

#include "conformance/conformance.hpp"

namespace netio::test {
namespace {

class PairSocket : public Conformance {};

TEST_P(PairSocket, carries_both_directions_at_once) {
  Pair left(here_, options());
  Pair right(there_, options());
  constexpr std::uint64_t count = 10'000;
  const auto size_of = [](std::uint64_t number, bool from_left) {
    return number % 500 == 0 ? std::size_t{80'000}
                             : std::size_t{8} + number % (from_left ? 90 : 70);
  };
  std::uint64_t at_left = 0;
  std::uint64_t at_right = 0;
  std::uint64_t wrong = 0;
  left.on_message([&](const MessageView& message) {
    if (message.size() != size_of(at_left, false) || !is_payload(message.bytes(), at_left)) ++wrong;
    ++at_left;
  });
  right.on_message([&](const MessageView& message) {
    if (message.size() != size_of(at_right, true) || !is_payload(message.bytes(), at_right)) {
      ++wrong;
    }
    ++at_right;
  });
  join(left, right);
  std::uint64_t from_left = 0;
  std::uint64_t from_right = 0;
  ASSERT_SOON(pump_, [&] {
    while (from_left < count &&
           left.send(payload(from_left, size_of(from_left, true))) == Status::ok) {
      ++from_left;
    }
    while (from_right < count &&
           right.send(payload(from_right, size_of(from_right, false))) == Status::ok) {
      ++from_right;
    }
    return at_left == count && at_right == count;
  }());
  EXPECT_EQ(wrong, 0U);
  settle(left);
  settle(right);
  EXPECT_EQ(left.books().acknowledged, count);
  EXPECT_EQ(left.books().delivered, count);
  EXPECT_EQ(right.books().acknowledged, count);
  EXPECT_EQ(right.books().delivered, count);
}

TEST_P(PairSocket, answers_from_inside_its_call_back) {
  Pair left(here_, options());
  Pair right(there_, options());
  std::uint64_t rounds = 0;
  right.on_message([&](const MessageView& message) {
    EXPECT_EQ(right.send(message.bytes(), message.tag() + 1), Status::ok);
  });
  left.on_message([&](const MessageView& message) {
    EXPECT_EQ(message.tag(), rounds + 1);
    if (++rounds < 500) {
      EXPECT_EQ(left.send(message.bytes(), rounds), Status::ok);
    }
  });
  join(left, right);
  ASSERT_EQ(left.send("there and back", 0), Status::ok);
  ASSERT_SOON(pump_, rounds == 500);
}

TEST_P(PairSocket, refuses_a_second_peer_as_busy) {
  Pair bound(there_, options());
  Pair first(here_, options());
  Pair second(here_, options());
  Inbox inbox(bound);
  Inbox first_inbox(first);
  Seen at_bound(bound);
  Seen at_second(second);
  const std::string address = bind(bound);
  first.connect(address);
  ASSERT_SOON(pump_, bound.peers_connected() == 1 && first.peers_connected() == 1);
  second.connect(address);
  ASSERT_SOON(pump_, !at_second.downs.empty());
  EXPECT_EQ(at_second.downs[0].down.reason, DownReason::rejected) << at_second.why();
  EXPECT_NE(at_second.downs[0].down.detail.find("busy"), std::string::npos) << at_second.why();
  EXPECT_TRUE(at_second.ups.empty());
  EXPECT_EQ(second.send("no"), Status::not_connected);
  ASSERT_SOON(pump_, bound.counters().rejected >= 1);
  EXPECT_EQ(bound.counters().connects, 1U);
  EXPECT_EQ(bound.peers_connected(), 1U);

  // The first is not disturbed.
  ASSERT_EQ(first.send("still here"), Status::ok);
  ASSERT_EQ(bound.send("and I"), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1 && first_inbox.size() == 1);
  EXPECT_EQ(first.counters().disconnects, 0U);
}

// Both answer before either connection is up.
TEST_P(PairSocket, takes_one_of_two_that_it_dials_at_once) {
  Pair one(there_, options());
  Pair other(there_, options());
  Pair dialing(here_, options());
  Inbox at_one(one);
  Inbox at_other(other);
  Seen seen(dialing);
  dialing.connect(bind(one));
  dialing.connect(bind(other));
  ASSERT_SOON(pump_, !seen.ups.empty() && !seen.downs.empty());
  EXPECT_EQ(dialing.peers_connected(), 1U);
  EXPECT_EQ(seen.downs[0].down.reason, DownReason::rejected) << seen.why();
  EXPECT_NE(seen.downs[0].down.detail.find("busy"), std::string::npos) << seen.why();
  EXPECT_FALSE(seen.downs[0].peer.was_up);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(send(dialing, payload(1, 20)), Status::ok);
  ASSERT_SOON(pump_, at_one.size() + at_other.size() == 10);
  EXPECT_TRUE(at_one.size() == 0 || at_other.size() == 0);
}

TEST_P(PairSocket, takes_another_peer_when_the_first_went) {
  Pair bound(there_, options());
  std::optional<Pair> first(std::in_place, here_, options());
  Pair second(here_, options());
  Inbox inbox(bound);
  const std::string address = bind(bound);
  first->on_message([](const MessageView&) {});
  second.on_message([](const MessageView&) {});
  first->connect(address);
  ASSERT_SOON(pump_, bound.peers_connected() == 1);
  ASSERT_EQ(send(*first, payload(1, 20)), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);
  first.reset();
  ASSERT_SOON(pump_, bound.peers_connected() == 0);
  EXPECT_EQ(bound.send("nobody"), Status::not_connected);
  second.connect(address);
  ASSERT_SOON(pump_, bound.peers_connected() == 1);
  ASSERT_EQ(send(second, payload(2, 20)), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 2);
  EXPECT_TRUE(is_payload(inbox[1].bytes, 2));
  EXPECT_NE(inbox[0].sender, inbox[1].sender);
}

// One direction held back does not hold the other.
TEST_P(PairSocket, pausing_one_direction_leaves_the_other) {
  Pair left(here_, options());
  Pair right(there_, options());
  Inbox left_inbox(left);
  Inbox right_inbox(right);
  join(left, right);
  right.pause();
  const std::uint64_t taken = send_until_again(left, 4000);
  send_numbered(right, 0, 1000, [](std::uint64_t) { return std::size_t{2000}; });
  ASSERT_SOON(pump_, left_inbox.size() == 1000);
  EXPECT_EQ(right_inbox.size(), 0U);
  // Acknowledgements are seen by a reader; a paused one gets them when it goes on.
  right.resume();
  ASSERT_SOON(pump_, right_inbox.size() == taken);
  settle(right);
  settle(left);
}

// No page for an acknowledgement may be to be had when it is due, and no message may follow that
// would carry it.
TEST_P(PairSocket, acknowledges_once_the_wire_has_room_again) {
  SocketOptions quick = options();
  quick.acknowledge_after = 2ms;
  Pair left(here_, quick);
  Pair right(there_, options());
  Inbox left_inbox(left);
  Inbox right_inbox(right);
  join(left, right);
  right.pause();
  const std::uint64_t taken = send_until_again(left, 4000);
  ASSERT_EQ(send(right, payload(0, 20)), Status::ok);
  right.flush();
  ASSERT_SOON(pump_, left_inbox.size() == 1);
  pump_.run_for(5 * quick.acknowledge_after);
  right.resume();
  ASSERT_SOON(pump_, right_inbox.size() == taken);
  settle(right);
}

ON_EVERY_TRANSPORT_AND_MODE(PairSocket);

}  // namespace
}  // namespace netio::test
