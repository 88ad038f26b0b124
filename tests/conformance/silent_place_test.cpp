// All places of a socket are taken, and a peer that holds one says nothing: a newcomer is given its
// place. Peers that are idle keep theirs. A peer hangs here because nobody turns its loop.
#include <memory>
#include <optional>
#include <string>

#include "conformance/fragments.hpp"

namespace netio::test {
namespace {

class SilentPlace : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    pump_.add(newcomers_);
  }
  [[nodiscard]] SocketOptions replacing(std::chrono::nanoseconds after) const {
    SocketOptions with = eager();
    with.replace_silent_after = after;
    return with;
  }
  // A socket with so many peers gives the place of one in `here_` to one more.
  void expect_given(const Seen& seen, std::size_t peers) {
    ASSERT_EQ(seen.ups.size(), peers);
    ASSERT_SOON(pump_, seen.ups.size() == peers + 1);
    const Seen::Gone* lost = nullptr;
    for (const Seen::Gone& gone : seen.downs) {
      if (gone.peer.was_up) lost = &gone;
    }
    ASSERT_TRUE(lost != nullptr) << seen.why();
    EXPECT_EQ(lost->peer.id, seen.ups.front().id) << seen.why();
    EXPECT_EQ(lost->down.reason, DownReason::lost) << seen.why();
    EXPECT_NE(lost->down.detail.find("said nothing for"), std::string::npos) << seen.why();
    EXPECT_NE(lost->down.detail.find("newcomer"), std::string::npos) << seen.why();
  }

  Context newcomers_{small_context(GetParam())};
};

TEST_P(SilentPlace, of_a_peer_that_hangs_is_given_to_a_newcomer) {
  Pair bound(there_, replacing(100ms));
  Pair holder(here_, eager());
  std::optional<Pair> newcomer(std::in_place, newcomers_, eager());
  Seen at_bound(bound);
  Seen at_holder(holder);
  Seen at_newcomer(*newcomer);
  Inbox inbox(bound);
  newcomer->on_message([](const MessageView&) {});
  holder.on_message([](const MessageView&) {});
  const std::string address = bind(bound);
  holder.connect(address);
  ASSERT_SOON(pump_, at_bound.ups.size() == 1 && at_holder.ups.size() == 1);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(bound.send("to the first"), Status::ok);
  pump_.remove(here_);
  newcomer->connect(address);
  expect_given(at_bound, 1);
  EXPECT_EQ(bound.peers_connected(), 1U);
  EXPECT_TRUE(add_up(bound.books()));
  ASSERT_EQ(send(*newcomer, payload(1, 20)), Status::ok);
  ASSERT_SOON(pump_, inbox.size() == 1);

  // The first goes on. It is told, and comes back when there is room.
  pump_.add(here_);
  ASSERT_SOON(pump_, at_holder.was_down_for(DownReason::rejected));
  EXPECT_TRUE(at_holder.was_down_for(DownReason::lost)) << at_holder.why();
  EXPECT_NE(at_holder.why().find("busy"), std::string::npos) << at_holder.why();
  EXPECT_FALSE(at_newcomer.was_down_for(DownReason::lost)) << at_newcomer.why();
  newcomer.reset();
  ASSERT_SOON(pump_, at_holder.ups.size() == 2);
  EXPECT_EQ(at_bound.ups.back().id, at_bound.ups.front().id) << "it is the same peer";
  settle(bound);
  EXPECT_TRUE(add_up(bound.books()));
}

// It is connected to, and another is connected to as well.
TEST_P(SilentPlace, of_a_peer_that_was_dialed_is_given_to_another) {
  Pair holder(here_, eager());
  Pair newcomer(newcomers_, eager());
  Pair dialing(there_, replacing(100ms));
  Seen at_dialing(dialing);
  dialing.connect(bind(holder));
  ASSERT_SOON(pump_, at_dialing.ups.size() == 1);
  pump_.remove(here_);
  dialing.connect(bind(newcomer));
  expect_given(at_dialing, 1);
  pump_.add(here_);
}

// What comes from it counts, however little: it is refused as long as somebody idle is there.
TEST_P(SilentPlace, of_a_peer_that_is_idle_is_kept) {
  Pair bound(there_, replacing(200ms));
  Pair holder(here_, eager());
  Pair newcomer(newcomers_, eager());
  Seen at_bound(bound);
  Seen at_newcomer(newcomer);
  const std::string address = bind(bound);
  holder.connect(address);
  ASSERT_SOON(pump_, at_bound.ups.size() == 1);
  newcomer.connect(address);
  // Twelve words are four periods.
  std::uint64_t words = 0;
  std::uint64_t last = bound.counters().bytes_arrived;
  ASSERT_SOON(pump_, [&] {
    const PeerSnapshot peer = bound.peers().front();
    const std::uint64_t now = peer.up ? bound.counters().bytes_arrived : last;
    words += now != last ? 1U : 0U;
    last = now;
    return words >= 12 && bound.counters().rejected >= 3;
  }());
  EXPECT_EQ(at_bound.ups.size(), 1U) << at_bound.why();
  EXPECT_TRUE(at_newcomer.ups.empty());
  EXPECT_NE(at_newcomer.why().find("busy"), std::string::npos) << at_newcomer.why();
}

TEST_P(SilentPlace, of_the_one_that_hangs_among_others_is_given) {
  SocketOptions two = replacing(100ms);
  two.peers_max = 2;
  Pull bound(there_, two);
  Push good(newcomers_, eager());
  Push holder(here_, eager());
  Push newcomer(newcomers_, eager());
  Seen at_bound(bound);
  Seen at_good(good);
  const std::string address = bind(bound);
  holder.connect(address);
  ASSERT_SOON(pump_, at_bound.ups.size() == 1);
  good.connect(address);
  ASSERT_SOON(pump_, at_bound.ups.size() == 2 && at_good.ups.size() == 1);
  pump_.remove(here_);
  newcomer.connect(address);
  expect_given(at_bound, 2);
  EXPECT_TRUE(at_good.downs.empty()) << at_good.why();
  EXPECT_EQ(bound.peers_connected(), 2U);
  pump_.add(here_);
}

// As an echo is whose client reads no answers.
TEST_P(SilentPlace, of_a_peer_that_takes_nothing_is_given_by_a_side_that_is_paused_for_it) {
  if (GetParam().takes_much) GTEST_SKIP() << "this wire takes what it has room for";
  Pair bound(there_, replacing(100ms));
  Pair holder(here_, eager());
  Pair newcomer(newcomers_, eager());
  Seen at_bound(bound);
  const std::string address = bind(bound);
  holder.connect(address);
  ASSERT_SOON(pump_, at_bound.ups.size() == 1);
  pump_.remove(here_);
  ASSERT_GT(send_until_again(bound, 1000), 0U);
  bound.pause();
  newcomer.connect(address);
  expect_given(at_bound, 1);
  EXPECT_TRUE(add_up(bound.books()));
  pump_.add(here_);
}

// A unit that hangs, and one that was started in its place.
TEST_P(SilentPlace, of_a_unit_is_given_to_the_one_with_its_number) {
  BuilderOptions building;
  building.plan = {1, 1, 16};
  building.socket = replacing(100ms);
  ReadoutOptions reading;
  reading.plan = building.plan;
  reading.socket = hasty_socket();
  BuilderUnit builder(there_, building);
  builder.on_event([](const Event&) {});
  ReadoutUnit holder(here_, reading);
  ReadoutUnit newcomer(newcomers_, reading);
  int ups = 0;
  std::string lost;
  builder.on_up([&](std::uint32_t, const PeerInfo&) { ++ups; });
  builder.on_down([&](std::uint32_t, const PeerInfo&, const Down& down) { lost = down.detail; });
  const std::string address = builder.bind(GetParam().address);
  holder.connect(0, address);
  holder.advance({0, 1});
  ASSERT_SOON(pump_, ups == 1);
  pump_.remove(here_);
  newcomer.connect(0, address);
  newcomer.advance({0, 1});
  ASSERT_SOON(pump_, ups == 2);
  EXPECT_NE(lost.find("said nothing for"), std::string::npos) << lost;
  pump_.add(here_);
}

TEST_P(SilentPlace, at_a_manager_is_given_to_the_one_with_its_number) {
  ManagerOptions managing;
  managing.plan = {1, 1, 16, true};
  managing.socket = replacing(100ms);
  ReadoutOptions reading;
  reading.plan = managing.plan;
  reading.socket = hasty_socket();
  EventManager manager(there_, managing);
  ReadoutUnit holder(here_, reading);
  ReadoutUnit newcomer(newcomers_, reading);
  int ups = 0;
  std::string lost;
  manager.on_unit_up([&](std::uint32_t, const PeerInfo&) { ++ups; });
  manager.on_unit_down(
      [&](std::uint32_t, const PeerInfo&, const Down& down) { lost = down.detail; });
  const std::string address = manager.bind(GetParam().address);
  holder.join(address);
  ASSERT_SOON(pump_, ups == 1);
  pump_.remove(here_);
  newcomer.join(address);
  ASSERT_SOON(pump_, ups == 2);
  EXPECT_NE(lost.find("said nothing for"), std::string::npos) << lost;
  pump_.add(here_);
}

ON_EVERY_TRANSPORT(SilentPlace);

}  // namespace
}  // namespace netio::test
