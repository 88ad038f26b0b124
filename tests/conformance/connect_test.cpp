// Coming up and going down: either end first, again after the other was remade, mixed freely.
#include <memory>
#include <optional>

#include "conformance/conformance.hpp"
#include "support/raw_tcp.hpp"

namespace netio::test {
namespace {

class Connect : public Conformance {
 protected:
  // An address where nobody listens now, but somebody could.
  std::string unused_address() {
    Pull taken(there_);
    return bind(taken);
  }
};

TEST_P(Connect, bind_to_any_port_returns_the_real_one) {
  Pull pull(there_, options());
  Pull other(there_, options());
  const std::string first = bind(pull);
  const std::string second = bind(pull);
  const std::string third = bind(other);
  EXPECT_NE(first, second);
  EXPECT_NE(first, third);
  for (const std::string& address : {first, second, third}) {
    EXPECT_NE(address, GetParam().address);
    EXPECT_EQ(address.find("://"), GetParam().address.find("://")) << address;
  }
}

TEST_P(Connect, on_up_comes_once_at_both_ends_and_says_who_dialed) {
  Pull pull(there_, options());
  Push push(here_, options());
  Seen at_pull(pull);
  Seen at_push(push);
  join(pull, push);
  ASSERT_SOON(pump_, at_pull.ups.size() == 1 && at_push.ups.size() == 1);
  pump_.run_for(20ms);
  ASSERT_EQ(at_pull.ups.size(), 1U);
  ASSERT_EQ(at_push.ups.size(), 1U);
  EXPECT_TRUE(at_push.ups[0].dialed);
  EXPECT_FALSE(at_pull.ups[0].dialed);
  EXPECT_FALSE(at_push.ups[0].address.empty());
  EXPECT_FALSE(at_pull.ups[0].address.empty());
  EXPECT_EQ(push.counters().connects, 1U);
  EXPECT_EQ(pull.counters().connects, 1U);
  EXPECT_TRUE(at_push.downs.empty());
  EXPECT_TRUE(at_pull.downs.empty());
}

TEST_P(Connect, nothing_comes_from_inside_bind_or_connect) {
  Pull pull(there_, options());
  Push push(here_, options());
  bool inside = false;
  int wrong = 0;
  push.on_up([&](const PeerInfo&) { wrong += inside || !here_.loop().in_turn() ? 1 : 0; });
  push.on_down(
      [&](const PeerInfo&, const Down&) { wrong += inside || !here_.loop().in_turn() ? 1 : 0; });
  const std::string nobody = unused_address();
  const std::string address = bind(pull);
  inside = true;
  push.connect(nobody);
  push.connect(address);
  inside = false;
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  EXPECT_EQ(wrong, 0);
}

TEST_P(Connect, either_end_may_come_first) {
  const std::string address = unused_address();
  Push push(here_, options());
  Seen at_push(push);
  push.connect(address);
  ASSERT_SOON(pump_, at_push.downs.size() >= 2);
  for (const Seen::Gone& gone : at_push.downs) {
    EXPECT_EQ(gone.down.reason, DownReason::refused) << gone.down.detail;
    EXPECT_TRUE(gone.peer.retrying);
    EXPECT_TRUE(gone.peer.dialed);
    EXPECT_FALSE(gone.down.detail.empty());
  }
  EXPECT_TRUE(at_push.ups.empty());
  EXPECT_EQ(push.counters().connects, 0U);
  EXPECT_EQ(push.counters().disconnects, 0U);

  Pull pull(there_, options());
  Inbox inbox(pull);
  (void)pull.bind(address);
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  ASSERT_EQ(send(push, payload(1, 100)), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);
}

TEST_P(Connect, the_receiver_may_be_the_one_that_dials) {
  Push push(here_, options());
  Pull pull(there_, options());
  Inbox inbox(pull);
  Seen at_pull(pull);
  join(push, pull);
  ASSERT_SOON(pump_, at_pull.ups.size() == 1);
  EXPECT_TRUE(at_pull.ups[0].dialed);
  send_numbered(push, 0, 1000, [](std::uint64_t i) { return std::size_t{8} + i % 300; });
  ASSERT_SOON(pump_, inbox.size() == 1000);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(is_payload(inbox[i].bytes, i));
}

TEST_P(Connect, a_receiver_remade_on_the_same_address_is_found_again) {
  Push push(here_, options());
  Seen at_push(push);
  std::string address;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  for (int life = 1; life <= 3; ++life) {
    Context there(small_context(GetParam().page_bytes));
    pump_.add(there);
    {
      Pull pull(there, options());
      pull.on_message([&](const MessageView&) { ++received; });
      if (life == 1) {
        address = bind(pull);
        push.connect(address);
      } else {
        (void)pull.bind(address);
      }
      ASSERT_SOON(pump_, push.peers_connected() == 1);
      EXPECT_EQ(at_push.ups.size(), static_cast<std::size_t>(life));
      EXPECT_EQ(at_push.ups.back().restarts, static_cast<std::uint64_t>(life - 1));
      for (int i = 0; i < 100; ++i, ++sent) ASSERT_EQ(send(push, payload(sent, 200)), Status::ok);
      ASSERT_SOON(pump_, received == sent);
      settle(push);
    }
    pump_.remove(there);
    ASSERT_SOON(pump_, push.peers_connected() == 0);
  }
  EXPECT_EQ(push.books().acknowledged, 300U);
  EXPECT_EQ(push.books().dropped(), 0U);
  EXPECT_EQ(push.counters().connects, 3U);
  EXPECT_EQ(push.counters().disconnects, 3U);
  // The same peer, as far as this socket is concerned: one address it dials.
  EXPECT_EQ(at_push.ups[0].id, at_push.ups[2].id);
}

TEST_P(Connect, a_sender_remade_is_a_new_peer) {
  Pull pull(there_, options());
  Inbox inbox(pull);
  Seen at_pull(pull);
  const std::string address = bind(pull);
  for (std::uint64_t life = 0; life < 3; ++life) {
    Push push(here_, options());
    Seen at_push(push);
    push.connect(address);
    for (std::uint64_t i = 0; i < 10; ++i) {
      ASSERT_EQ(send(push, payload(10 * life + i, 50)), Status::ok);
    }
    push.close();
    ASSERT_SOON(pump_, at_push.closings.size() == 1);
    EXPECT_EQ(at_push.closings[0].acknowledged, 10U);
    ASSERT_SOON(pump_, at_pull.downs.size() == life + 1);
    EXPECT_EQ(at_pull.downs[life].peer.books.delivered, 10U);
    EXPECT_FALSE(at_pull.downs[life].peer.retrying);
  }
  ASSERT_EQ(inbox.size(), 30U);
  for (std::uint64_t i = 0; i < 30; ++i) EXPECT_TRUE(is_payload(inbox[i].bytes, i));
  EXPECT_EQ(pull.books().delivered, 30U);
  EXPECT_NE(at_pull.ups[0].id, at_pull.ups[1].id);
  EXPECT_NE(at_pull.ups[1].id, at_pull.ups[2].id);
}

TEST_P(Connect, on_down_tells_the_books_of_that_peer) {
  Push push(here_, options());
  Seen at_push(push);
  std::optional<Pull> first(std::in_place, there_, options());
  Pull second(there_, options());
  first->on_message([](const MessageView&) {});
  second.on_message([](const MessageView&) {});
  join(*first, push);
  join(second, push);
  send_numbered(push, 0, 200, [](std::uint64_t) { return std::size_t{32}; });
  settle(push);
  first.reset();
  ASSERT_SOON(pump_, !at_push.downs.empty());
  const Seen::Gone& gone = at_push.downs[0];
  EXPECT_EQ(gone.peer.id, at_push.ups[0].id);
  EXPECT_EQ(gone.peer.books.sent, 100U);
  EXPECT_EQ(gone.peer.books.acknowledged, 100U);
  EXPECT_TRUE(gone.peer.retrying);
  EXPECT_EQ(gone.down.reason, DownReason::lost) << "it was cut: destroyed without close";
  EXPECT_EQ(push.books().acknowledged, 200U);
}

TEST_P(Connect, binds_and_connects_mix) {
  Push push(here_, options());
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<std::unique_ptr<Inbox>> inboxes;
  const std::string first = bind(push);
  const std::string second = bind(push);
  for (int i = 0; i < 6; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    inboxes.push_back(std::make_unique<Inbox>(*pulls.back()));
  }
  pulls[0]->connect(first);
  pulls[1]->connect(first);
  pulls[2]->connect(second);
  pulls[3]->connect(second);
  push.connect(bind(*pulls[4]));
  push.connect(bind(*pulls[5]));
  ASSERT_SOON(pump_, push.peers_connected() == 6);
  send_numbered(push, 0, 600, [](std::uint64_t) { return std::size_t{24}; });
  for (const auto& inbox : inboxes) ASSERT_SOON(pump_, inbox->size() == 100);
}

// Two connections between the same sockets are two peers.
TEST_P(Connect, the_same_address_may_be_connected_twice) {
  Push push(here_, options());
  Pull pull(there_, options());
  Inbox inbox(pull);
  const std::string address = bind(pull);
  push.connect(address);
  push.connect(address);
  ASSERT_SOON(pump_, push.peers_connected() == 2 && pull.peers_connected() == 2);
  send_numbered(push, 0, 100, [](std::uint64_t) { return std::size_t{24}; });
  ASSERT_SOON(pump_, inbox.size() == 100);
  settle(push);
  EXPECT_EQ(push.books().acknowledged, 100U);
}

TEST_P(Connect, both_ends_may_live_in_one_context) {
  Pair left(here_, options());
  Pair right(here_, options());
  Inbox left_inbox(left);
  Inbox right_inbox(right);
  join(left, right);
  const auto size_of = [](std::uint64_t i) { return std::size_t{8} + i % 5000; };
  send_numbered(left, 0, 500, size_of);
  send_numbered(right, 0, 500, size_of);
  ASSERT_SOON(pump_, left_inbox.size() == 500 && right_inbox.size() == 500);
}

TEST_P(Connect, many_sockets_share_a_context) {
  constexpr std::size_t pairs = 40;
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<std::unique_ptr<Push>> pushes;
  std::uint64_t received = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    pushes.push_back(std::make_unique<Push>(here_, options()));
    pulls.back()->on_message([&](const MessageView&) { ++received; });
    pushes.back()->connect(bind(*pulls.back()));
  }
  for (int round = 0; round < 20; ++round) {
    for (const auto& push : pushes) ASSERT_EQ(send(*push, payload(1, 3000)), Status::ok);
  }
  ASSERT_SOON(pump_, received == pairs * 20);
}

// Of tcp: who dials, and when, is the same for every transport.
TEST(Redial, begins_with_the_shortest_delay_after_a_connection_that_held) {
  Context here(small_context());
  Context there(small_context());
  Pump pump{&here, &there};
  SocketOptions options;
  options.reconnect_after_min = 1ms;
  options.reconnect_after_max = 500ms;
  std::optional<Pull> pull(std::in_place, there);
  const std::string address = pull->bind("tcp://" + own_host() + ":0");
  Push push(here, options);
  push.connect(address);
  ASSERT_SOON(pump, push.peers_connected() == 1);
  pull.reset();
  constexpr std::uint64_t until_delays_are_longest = 17;
  ASSERT_SOON(pump, push.counters().rejected == until_delays_are_longest);
  pull.emplace(there).bind(address);
  ASSERT_SOON(pump, push.peers_connected() == 1);
  pump.run_for(options.reconnect_after_max + 50ms);
  pull.reset();
  ASSERT_SOON(pump, push.peers_connected() == 0);
  constexpr std::uint64_t more = 5;
  const auto begin = here.loop().now();
  ASSERT_SOON(pump, push.counters().rejected == until_delays_are_longest + more);
  EXPECT_LT(here.loop().now() - begin, more * options.reconnect_after_max / 2);
}

ON_EVERY_TRANSPORT_MODE_AND_SPELLING(Connect);

}  // namespace
}  // namespace netio::test
