// Who is slow: each peer as it stands, and that the peers together are the socket.
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "conformance/publishing.hpp"
#include "support/relay.hpp"

namespace netio::test {
namespace {

void add(Books& sum, const Books& books) {
  sum.sent += books.sent;
  sum.acknowledged += books.acknowledged;
  for (std::size_t i = 0; i < sum.dropped_by.size(); ++i) sum.dropped_by[i] += books.dropped_by[i];
  sum.in_doubt += books.in_doubt;
  sum.unacknowledged += books.unacknowledged;
  sum.delivered += books.delivered;
  sum.missed += books.missed;
}

testing::AssertionResult same(const Books& a, const Books& b) {
  if (a.sent == b.sent && a.acknowledged == b.acknowledged && a.dropped_by == b.dropped_by &&
      a.unacknowledged == b.unacknowledged && a.in_doubt == b.in_doubt &&
      a.delivered == b.delivered && a.missed == b.missed) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << testing::PrintToString(a) << " is not " << testing::PrintToString(b);
}

// Those that are listed and the others, as they were last told of, are the socket; each adds up,
// under its own id.
class SumCheck {
 public:
  SumCheck(const Socket& socket, const Seen& seen) : socket_(socket), seen_(seen) {}

  void operator()() const {
    Books sum;
    std::set<std::uint64_t> ids;
    std::uint64_t last_id = 0;
    std::size_t up = 0;
    for (const PeerSnapshot& peer : socket_.peers()) {
      EXPECT_TRUE(add_up(peer.books));
      EXPECT_GT(peer.id, last_id);
      last_id = peer.id;
      ids.insert(peer.id);
      up += peer.up ? 1 : 0;
      add(sum, peer.books);
    }
    std::map<std::uint64_t, Books> gone;
    for (const Seen::Gone& one : seen_.downs) gone[one.peer.id] = one.peer.books;
    for (const auto& [id, books] : gone) {
      if (!ids.contains(id)) add(sum, books);
    }
    EXPECT_TRUE(same(sum, socket_.books()));
    EXPECT_EQ(up, socket_.peers_connected());
  }

 private:
  const Socket& socket_;
  const Seen& seen_;
};

std::vector<PeerSnapshot> behind_of(const Socket& socket) {
  std::vector<PeerSnapshot> found;
  for (PeerSnapshot& peer : socket.peers()) {
    if (peer.behind) found.push_back(std::move(peer));
  }
  return found;
}

class Peers : public Publishing {};

TEST_P(Peers, of_a_fresh_socket_are_none_and_a_dialed_one_is_listed_from_the_first_attempt) {
  Push push(here_, options());
  EXPECT_TRUE(push.peers().empty());
  std::string address;
  {
    Pull gone(there_, options());
    address = bind(gone);
  }
  push.connect(address);
  ASSERT_EQ(push.peers().size(), 1U);
  const PeerSnapshot peer = push.peers().front();
  EXPECT_EQ(peer.id, 1U);
  EXPECT_EQ(peer.address, address);
  EXPECT_TRUE(peer.dialed);
  EXPECT_FALSE(peer.up || peer.behind || peer.paused || peer.policy.has_value());
  EXPECT_EQ(peer.up_for.count() + peer.behind_for.count() + peer.silent_for.count(), 0);
}

TEST_P(Peers, of_push_and_pull_are_at_every_moment_the_socket) {
  Push push(here_, options());
  Seen at_push(push);
  const SumCheck sums(push, at_push);
  std::vector<std::unique_ptr<Pull>> pulls;
  std::vector<std::unique_ptr<Seen>> at_pulls;
  for (int i = 0; i < 3; ++i) {
    pulls.push_back(std::make_unique<Pull>(there_, options()));
    pulls.back()->on_message([](const MessageView&) {});
    at_pulls.push_back(std::make_unique<Seen>(*pulls.back()));
    join(*pulls.back(), push);
  }
  pump_.after_each_turn([&] {
    sums();
    for (std::size_t i = 0; i < pulls.size(); ++i) SumCheck(*pulls[i], *at_pulls[i])();
  });
  send_numbered(push, 0, 900, [](std::uint64_t i) { return i % 300 == 7 ? 150'000U : 64U; });
  settle(push);
  const std::vector<PeerSnapshot> peers = push.peers();
  ASSERT_EQ(peers.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(peers[i].id, at_push.ups[i].id);
    EXPECT_EQ(peers[i].address, at_push.ups[i].address);
    EXPECT_TRUE(peers[i].up && peers[i].dialed && !peers[i].behind);
    EXPECT_GT(peers[i].books.acknowledged, 0U);
    EXPECT_EQ(peers[i].waiting_messages + peers[i].waiting_bytes, 0U);
    EXPECT_GT(peers[i].up_for.count(), 0);
    EXPECT_LE(peers[i].silent_for, peers[i].up_for);
    EXPECT_FALSE(pulls[i]->peers().front().dialed);
    EXPECT_EQ(pulls[i]->peers().front().books.delivered, peers[i].books.acknowledged);
  }
  // One closes, one goes without a word, and the others take what follows.
  pulls[0]->close();
  ASSERT_SOON(pump_, !at_push.downs.empty());
  send_numbered(push, 900, 1000, [](std::uint64_t) { return std::size_t{64}; });
  push.close();
  ASSERT_SOON(pump_, at_push.closings.size() == 1);
  EXPECT_TRUE(push.peers().empty());
  sums();
  pump_.forget_checks();
}

TEST_P(Peers, of_a_pair_are_the_socket_both_ways) {
  Pair left(here_, options());
  Pair right(there_, options());
  Seen at_left(left);
  Seen at_right(right);
  std::uint64_t count = 0;
  left.on_message([](const MessageView&) {});
  right.on_message([&](const MessageView&) {
    ++count;
    (void)right.send("back");
    SumCheck(right, at_right)();
  });
  join(left, right);
  pump_.after_each_turn(SumCheck(left, at_left));
  pump_.after_each_turn(SumCheck(right, at_right));
  send_numbered(left, 0, 300, [](std::uint64_t) { return std::size_t{100}; });
  ASSERT_SOON(pump_, count == 300);
  settle(left);
  EXPECT_EQ(right.peers().front().books.delivered, 300U);
  left.close();
  ASSERT_SOON(pump_, at_left.closings.size() == 1 && right.peers_connected() == 0);
  pump_.forget_checks();
}

TEST_P(Peers, of_a_push_show_who_takes_nothing_and_for_how_long) {
  Pull pull(there_, options());
  Push push(here_, options());
  Inbox inbox(pull);
  join(pull, push);
  ASSERT_SOON(pump_, push.peers().front().silent_for > 20ms);
  ASSERT_EQ(push.send("acknowledge this"), Status::ok);
  settle(push);
  EXPECT_EQ(push.peers().front().silent_for.count(), 0) << "heard of since the last look";
  pull.pause();
  const std::uint64_t taken = 1 + send_until_again(push, 3000);
  ASSERT_SOON(pump_, push.peers().front().behind_for > 20ms);
  const PeerSnapshot stuck = push.peers().front();
  EXPECT_TRUE(stuck.behind);
  EXPECT_LE(stuck.behind_for, stuck.up_for);
  EXPECT_GT(stuck.wire_bytes + stuck.waiting_bytes, 0U);
  EXPECT_LE(stuck.waiting_messages, stuck.books.unacknowledged);
  EXPECT_GT(pull.peers().front().up_for.count(), 0);
  pull.resume();
  ASSERT_SOON(pump_, inbox.size() == taken && behind_of(push).empty());
  settle(push);
  EXPECT_EQ(push.peers().front().waiting_bytes + push.peers().front().wire_bytes, 0U);
  EXPECT_EQ(push.peers().front().behind_for.count(), 0);
}

TEST_P(Peers, of_a_publisher_show_whose_messages_wait_and_are_dropped) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  const std::string address = bind(publish);
  Reader good(*this, address, {.policy = Policy::block});
  Reader slow(*this, address, {.policy = Policy::drop_old, .behind_bytes_max = 300'000});
  good.socket.subscribe_all();
  slow.socket.subscribe_all();
  ASSERT_SOON(pump_, good.told() && slow.told());
  Seen at_slow(slow.socket);
  slow.socket.pause();
  pump_.after_each_turn(SumCheck(publish, at_publish));
  pump_.after_each_turn(SumCheck(slow.socket, at_slow));
  std::uint64_t number = 0;
  while (number < 20'000 && publish.books().dropped() < 100) {
    ASSERT_EQ(send(publish, number, number % 7, 1000), Status::ok);
    if (++number % 64 == 0) pump_.turn(0ms);
  }
  ASSERT_GE(publish.books().dropped(), 100U);
  ASSERT_SOON(pump_, good.inbox.size() == number);
  const std::vector<PeerSnapshot> behind = behind_of(publish);
  ASSERT_EQ(behind.size(), 1U);
  EXPECT_EQ(behind[0].policy, Policy::drop_old);
  EXPECT_GT(behind[0].waiting_messages, 0U);
  EXPECT_GT(behind[0].waiting_bytes, behind[0].waiting_messages * 1000);
  EXPECT_LE(behind[0].waiting_bytes, 300'000U);
  EXPECT_EQ(behind[0].books.dropped_by[static_cast<std::size_t>(DropReason::dropped_old)],
            publish.books().dropped());
  ASSERT_EQ(publish.peers().size(), 2U);
  const auto other = [&] { return publish.peers()[publish.peers()[0].id == behind[0].id ? 1 : 0]; };
  ASSERT_SOON(pump_, other().books.acknowledged == number);
  EXPECT_EQ(other().policy, Policy::block);
  EXPECT_EQ(other().books.dropped(), 0U);
  slow.socket.resume();
  ASSERT_SOON(pump_, slow.inbox.size() + slow.socket.books().missed == number);
  ASSERT_SOON(pump_, behind_of(publish).empty() && publish.books().unsettled() == 0);
  EXPECT_EQ(slow.socket.peers().front().books.missed, slow.socket.books().missed);
  pump_.forget_checks();
}

ON_EVERY_TRANSPORT_AND_MODE(Peers);

class PeersCut : public Conformance {};

TEST_P(PeersCut, that_come_back_go_on_with_their_books) {
  Pull pull(there_, eager());
  Push push(here_, eager());
  Seen at_pull(pull);
  Seen at_push(push);
  SumCheck at_bound(pull, at_pull);
  pull.on_message([](const MessageView&) {});
  Relay relay(bind(pull));
  push.connect(relay.address());
  pump_.after_each_turn(SumCheck(push, at_push));
  for (std::uint64_t round = 1; round <= 4; ++round) {
    send_numbered(push, (round - 1) * 200, round * 200, [](std::uint64_t) { return 500U; });
    settle(push);
    at_bound();
    relay.cut();
    ASSERT_SOON(pump_, at_push.downs.size() == round && at_pull.downs.size() == round);
    at_bound();
    EXPECT_TRUE(push.peers().front().retrying);
    ASSERT_SOON(pump_, at_push.ups.size() == round + 1 && at_pull.ups.size() == round + 1);
    at_bound();
    EXPECT_FALSE(push.peers().front().retrying) << "it is back";
    EXPECT_EQ(push.peers().front().id, 1U) << "a dialed peer keeps its id";
    EXPECT_EQ(pull.peers().front().id, 1U) << "and so does an accepted one";
    EXPECT_EQ(at_pull.ups.back().id, 1U);
    EXPECT_EQ(at_pull.ups.back().run, at_pull.ups.front().run);
    EXPECT_EQ(at_pull.ups.back().restarts, 0U);
    EXPECT_EQ(pull.peers().front().books.delivered, round * 200);
  }
  pump_.forget_checks();
}

ON_TCP_IN_EVERY_MODE(PeersCut);

}  // namespace
}  // namespace netio::test
