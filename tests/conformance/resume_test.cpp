// Connections cut underneath two sockets that keep what is not acknowledged: nothing is lost,
// nothing comes twice, and all in order.
#include <map>
#include <memory>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

class Resume : public Conformance {
 protected:
  // Every message, each once, in order.
  void expect_all(Receiving& socket) {
    socket.on_message([this](const MessageView& message) {
      if (message.tag() != received_ || !is_payload(message.bytes(), message.tag())) ++wrong_;
      ++received_;
    });
  }
  void flood(Sending& socket, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t number = first; number < last; ++number) {
      ASSERT_EQ(send(socket, payload(number, size_of(number)), number), Status::ok) << number;
    }
  }
  void expect_nothing_lost(const Socket& sender, const Socket& receiver) {
    settle(sender);
    const Books sent = sender.books();
    EXPECT_TRUE(add_up(sent));
    EXPECT_EQ(sent.dropped(), 0U);
    EXPECT_EQ(sent.acknowledged, sent.sent);
    EXPECT_EQ(receiver.books().delivered, sent.sent);
    EXPECT_EQ(receiver.books().missed, 0U);
    EXPECT_EQ(wrong_, 0U);
  }

  std::uint64_t received_ = 0;
  std::uint64_t wrong_ = 0;
};

TEST_P(Resume, nothing_is_lost_wherever_a_connection_is_cut) {
  Pull pull(there_, keeping());
  Push push(here_, keeping());
  expect_all(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  pump_.after_each_turn(BooksCheck(push));
  pump_.after_each_turn(BooksCheck(pull));
  Random random(5);
  std::uint64_t sent = 0;
  while (relay.cuts() < 30) {
    // Anywhere: in a header, a frame, a large message.
    if (!relay.fault_pending()) relay.cut_after(random.below(300'000));
    flood(push, sent, sent + 100);
    sent += 100;
    ASSERT_LT(sent, 100'000U);
  }
  relay.cut_no_more();
  ASSERT_SOON(pump_, push.peers_connected() == 1 && pull.peers_connected() == 1);
  expect_nothing_lost(push, pull);
  EXPECT_EQ(push.books().sent, sent);
  EXPECT_GT(push.counters().resent, 0U);
  EXPECT_EQ(push.counters().resume_given_up, 0U);
  pump_.forget_checks();
}

TEST_P(Resume, nothing_is_lost_where_the_receiver_dialed) {
  Push push(here_, keeping());
  Pull pull(there_, keeping());
  expect_all(pull);
  Relay relay(bind(push));
  pull.connect(relay.address());
  pump_.after_each_turn(BooksCheck(push));
  pump_.after_each_turn(BooksCheck(pull));
  ASSERT_SOON(pump_, push.peers_connected() == 1);
  for (std::uint64_t round = 0; round < 20; ++round) {
    flood(push, round * 300, round * 300 + 300);
    relay.cut();
    ASSERT_SOON(pump_, push.counters().disconnects == round + 1);
  }
  ASSERT_SOON(pump_, push.peers_connected() == 1 && pull.peers_connected() == 1);
  expect_nothing_lost(push, pull);
  pump_.forget_checks();
}

TEST_P(Resume, nothing_is_lost_of_a_pair_in_either_direction) {
  Pair left(here_, keeping());
  Pair right(there_, keeping());
  std::map<const Pair*, std::uint64_t> received;
  for (Pair* pair : {&left, &right}) {
    pair->on_message([&, pair](const MessageView& message) {
      if (message.tag() != received[pair]++ || !is_payload(message.bytes(), message.tag())) {
        ++wrong_;
      }
    });
  }
  Relay relay(bind(right));
  left.connect(relay.address());
  pump_.after_each_turn(BooksCheck(left));
  pump_.after_each_turn(BooksCheck(right));
  Random random(9);
  std::uint64_t number = 0;
  for (; relay.cuts() < 20; ++number) {
    if (!relay.fault_pending()) relay.cut_after(random.below(300'000));
    ASSERT_EQ(send(left, payload(number, size_of(number)), number), Status::ok);
    ASSERT_EQ(send(right, payload(number, size_of(number)), number), Status::ok);
    ASSERT_LT(number, 100'000U);
  }
  relay.cut_no_more();
  ASSERT_SOON(pump_, left.peers_connected() == 1 && right.peers_connected() == 1);
  expect_nothing_lost(left, right);
  expect_nothing_lost(right, left);
  EXPECT_EQ(received[&left], number);
  EXPECT_EQ(received[&right], number);
  EXPECT_GT(left.counters().resent + right.counters().resent, 0U);
  EXPECT_EQ(left.counters().resume_given_up + right.counters().resume_given_up, 0U);
  pump_.forget_checks();
}

// Who pauses until it can send reads no acknowledgement. If its sends had to wait for one, both
// sides would stand still.
TEST_P(Resume, pairs_that_echo_and_pause_never_stand_still) {
  Pair left(here_, keeping(std::size_t{64} << 10U));
  Pair right(there_, keeping(std::size_t{64} << 10U));
  std::vector<Message> to_echo;
  std::uint64_t echoed = 0;
  const auto echo = [&] {
    while (!to_echo.empty() && right.send(std::move(to_echo.back())) == Status::ok) {
      to_echo.pop_back();
    }
    if (to_echo.empty() && right.paused()) right.resume();
  };
  right.on_message([&](const MessageView& message) {
    if (right.send(message.bytes(), message.tag()) == Status::ok) return;
    to_echo.push_back(message.keep());
    right.pause();
  });
  right.on_writable(echo);
  left.on_message([&](const MessageView&) { ++echoed; });
  Relay relay(bind(right));
  left.connect(relay.address());
  const std::vector<std::byte> message = payload(1, 900);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    ASSERT_EQ(send(left, message, i), Status::ok);
    if (i % 4000 == 2000) relay.cut();
  }
  settle(left);
  ASSERT_SOON(pump_, echoed == right.books().sent);
  EXPECT_EQ(right.books().sent, 20'000U);
}

// Its user resumes once it has sent, which needs no acknowledgement: so none may be needed.
TEST_P(Resume, a_pair_that_does_not_read_gives_up_the_oldest) {
  Pair left(here_, keeping(std::size_t{64} << 10U));
  Pair right(there_, keeping());
  right.on_message([&](const MessageView&) { ++received_; });
  join(right, left);
  left.pause();
  const std::vector<std::byte> message = payload(1, 900);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(send(left, message, i), Status::ok);
  ASSERT_SOON(pump_, received_ == 1000);
  EXPECT_GT(left.counters().resume_given_up, 0U);
  left.on_message([](const MessageView&) {});
  left.resume();
  settle(left);
  EXPECT_EQ(left.books().acknowledged, 1000U);
}

// It reads acknowledgements, because nothing comes that it could not deliver.
TEST_P(Resume, a_pair_that_only_sends_gives_up_nothing) {
  Pair left(here_, keeping(std::size_t{64} << 10U));
  Pair right(there_, keeping());
  right.on_message([&](const MessageView&) { ++received_; });
  join(right, left);
  const std::vector<std::byte> message = payload(1, 900);
  for (std::uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(send(left, message, i), Status::ok);
  settle(left);
  EXPECT_EQ(left.counters().resume_given_up, 0U);
}

// All pages may be kept by streams whose acknowledgements nobody reads.
TEST_P(Resume, many_paused_pairs_that_share_few_pages_go_on) {
  ContextOptions few = small_context(GetParam());
  few.send_pool_bytes = 64 * few.page_bytes;
  Context here(few);
  pump_.add(here);
  std::vector<std::unique_ptr<Pair>> lefts;
  std::vector<std::unique_ptr<Pair>> rights;
  for (int i = 0; i < 48; ++i) {
    rights.push_back(std::make_unique<Pair>(there_, keeping()));
    rights.back()->on_message([&](const MessageView&) { ++received_; });
    lefts.push_back(std::make_unique<Pair>(here, keeping()));
    lefts.back()->pause();
    lefts.back()->connect(bind(*rights.back()));
  }
  for (const auto& left : lefts) ASSERT_SOON(pump_, left->peers_connected() == 1);
  const std::vector<std::byte> message = payload(1, 900);
  std::vector<int> sent(lefts.size());
  ASSERT_SOON(pump_, [&] {
    bool done = true;
    for (std::size_t i = 0; i < lefts.size(); ++i) {
      while (sent[i] < 300 && lefts[i]->send(message) == Status::ok) ++sent[i];
      done = done && sent[i] == 300;
    }
    return done;
  }());
  for (const auto& left : lefts) left->flush();
  ASSERT_SOON(pump_, received_ == 300 * lefts.size());
  lefts.clear();
  pump_.remove(here);
}

TEST_P(Resume, many_that_are_paused_leave_memory_for_one_that_reads) {
  Push push(here_, keeping(std::size_t{8} << 20U));
  const std::string address = bind(push);
  std::vector<std::unique_ptr<Pull>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<Pull>(there_, keeping()));
    silent.back()->pause();
    silent.back()->connect(address);
  }
  Pull reads(there_, keeping());
  reads.on_message([&](const MessageView&) { ++received_; });
  reads.connect(address);
  ASSERT_SOON(pump_, push.peers_connected() == 21);
  const std::vector<std::byte> message = payload(1, 900);
  std::uint64_t sent = 0;
  ASSERT_SOON(pump_, [&] {
    for (int i = 0; i < 100; ++i) sent += push.send(message) == Status::ok ? 1U : 0U;
    return received_ >= 20'000;
  }());
}

TEST_P(Resume, a_peer_that_returns_before_its_loss_was_seen_loses_nothing) {
  Pull pull(there_, keeping());
  Push push(here_, keeping());
  expect_all(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  for (std::uint64_t round = 0; round < 10; ++round) {
    flood(push, round * 300, round * 300 + 300);
    relay.strand();
  }
  flood(push, 3000, 3100);
  expect_nothing_lost(push, pull);
}

TEST_P(Resume, a_receiver_that_pauses_holds_the_sender_back_and_loses_nothing) {
  Pull pull(there_, keeping());
  Push push(here_, keeping(std::size_t{256} << 10U));
  expect_all(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  flood(push, 0, 10);
  settle(push);
  pull.pause();
  std::uint64_t sent = 10 + send_until_again(push, 900);
  EXPECT_LT((sent - 10) * 900, 4U << 20U) << "no more than the kernels and the bound hold";
  EXPECT_EQ(push.fill(), 1.0);
  relay.cut();
  ASSERT_SOON(pump_, push.counters().connects == 2 && push.peers_connected() == 1);
  received_ = 10;
  pull.on_message([&](const MessageView&) { ++received_; });
  pull.resume();
  settle(push);
  EXPECT_EQ(received_, sent);
  EXPECT_EQ(push.books().dropped(), 0U);
  EXPECT_EQ(push.fill(), 0.0);
}

TEST_P(Resume, lent_bytes_come_back_once_when_they_are_acknowledged) {
  Pull pull(there_, keeping());
  Push push(here_, keeping());
  expect_all(pull);
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
  expect_nothing_lost(push, pull);
}

TEST_P(Resume, what_is_kept_for_a_peer_that_stays_away_is_given_up) {
  SocketOptions impatient = keeping();
  impatient.resume_within = 30ms;
  Pull pull(there_, keeping());
  Push push(here_, impatient);
  pull.on_message([&](const MessageView&) { ++received_; });
  Relay relay(bind(pull));
  push.connect(relay.address());
  flood(push, 0, 10);
  settle(push);
  relay.hold(true);
  flood(push, 10, 20);
  push.flush();
  pump_.turns(3);
  relay.forbid(true);
  relay.hold(false);
  ASSERT_SOON(pump_, push.counters().resume_given_up != 0);
  relay.forbid(false);
  flood(push, 20, 30);
  settle(push);
  EXPECT_EQ(push.books().dropped_by[static_cast<std::size_t>(DropReason::connection_lost)],
            pull.books().missed);
  EXPECT_EQ(push.books().acknowledged, pull.books().delivered);
}

TEST_P(Resume, a_receiver_that_was_restarted_is_another_stream) {
  auto pull = std::make_unique<Pull>(there_, keeping());
  Push push(here_, keeping());
  Relay relay(bind(*pull));
  push.connect(relay.address());
  pull->on_message([&](const MessageView&) { ++received_; });
  flood(push, 0, 10);
  settle(push);
  relay.hold(true);
  ASSERT_EQ(send(push, payload(10, 100), 10), Status::ok);
  push.flush();
  pump_.turns(3);
  pull.reset();
  relay.hold(false);
  ASSERT_SOON(pump_, push.counters().disconnects == 1);
  EXPECT_EQ(push.books().unacknowledged, 1U) << "kept, until it is known who comes back";
  EXPECT_EQ(received_, 10U);
}

TEST_P(Resume, a_socket_that_closes_waits_for_a_peer_that_was_cut_off) {
  Pull pull(there_, keeping());
  Push push(here_, keeping());
  Seen at_push(push);
  expect_all(pull);
  Relay relay(bind(pull));
  push.connect(relay.address());
  flood(push, 0, 10);
  settle(push);
  relay.hold(true);
  flood(push, 10, 100);
  push.flush();
  pump_.turns(3);
  relay.cut();
  push.close(30s);
  relay.hold(false);
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_EQ(at_push.closings[0].acknowledged, 100U);
  EXPECT_EQ(at_push.closings[0].dropped(), 0U);
  EXPECT_EQ(received_, 100U);
  EXPECT_EQ(wrong_, 0U);
}

ON_TCP_IN_EVERY_MODE(Resume);

}  // namespace
}  // namespace netio::test
