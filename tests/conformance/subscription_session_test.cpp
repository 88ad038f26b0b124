// One subscriber on several connections, at a time and one after the other: which are one
// subscription, which are two, and how their messages are numbered.
#include <map>

#include "conformance/evil_subscriber.hpp"

namespace netio::test {
namespace {

using detail::Hello;
using detail::WirePolicy;

constexpr std::uint64_t its_tag = 0xe711;
constexpr TagRange its_range{its_tag, its_tag};

class SubscriptionSession : public EvilSubscriber {
 protected:
  // A subscriber that was there before, and heard that, says hello again: it got so many.
  RawTcp back(const Heard& before, std::uint8_t session, std::uint64_t got) {
    Hello hello = alike_hello(session);
    hello.peer_run = before.hello.run;
    hello.epoch = before.hello.epoch + 1;
    return greeted(hello, 1, got);
  }
};

TEST_F(SubscriptionSession, two_connections_of_one_subscriber_are_two_subscriptions) {
  Subscribe twice(there_, {.policy = Policy::block}, wary_options());
  std::map<std::uint64_t, std::uint64_t> next;
  std::size_t answers = 0;
  twice.on_subscribed([&](const PeerInfo&, const Subscribed& answer) {
    EXPECT_FALSE(answer.refused);
    ++answers;
  });
  twice.on_message([&](const MessageView& message) {
    EXPECT_TRUE(is_payload(message.bytes(), next[twice.sender_id()]));
    ++next[twice.sender_id()];
  });
  twice.subscribe(its_tag);
  twice.connect(address());
  twice.connect(address());
  ASSERT_SOON(pump_, answers == 2);
  EXPECT_EQ(publish_.peers_connected(), 3U);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_SOON(pump_, publish_.send(payload(i, 8 + i % 100), its_tag) == Status::ok);
  }
  ASSERT_SOON(pump_, twice.books().delivered == 2000);
  ASSERT_EQ(next.size(), 2U);
  for (const auto& [peer, count] : next) EXPECT_EQ(count, 1000U);
  twice.unsubscribe_all();
  ASSERT_SOON(pump_, answers == 4);
  const std::uint64_t unwanted = publish_.counters().unwanted;
  ASSERT_EQ(publish_.send("nobody", its_tag), Status::ok);
  EXPECT_EQ(publish_.counters().unwanted, unwanted + 1);
  ASSERT_SOON(pump_, publish_.books().unsettled() == 0);
  twice.close();
  ASSERT_SOON(pump_, twice.closed() && publish_.peers_connected() == 1);
}

TEST_F(SubscriptionSession, who_comes_back_replaces_itself_and_subscribes_anew) {
  RawTcp old = greeted(alike_hello(9));
  old.send(page_of(Change{.ranges = {its_range}}));
  EXPECT_EQ(answered(old).answers[0].from, 0U);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(publish_.send("one", its_tag), Status::ok);
  ASSERT_SOON(pump_, heard(old.received()).messages == 10);
  RawTcp raw = back(heard(old.received()), 9, 4);
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::lost);
  EXPECT_NE(gone.down.detail.find("came back"), std::string::npos) << gone.down.detail;
  ASSERT_SOON(pump_, old.ended());
  ASSERT_SOON(pump_, heard(raw.received()).confirm);
  EXPECT_EQ(heard(raw.received()).confirm->next, 10U);
  EXPECT_EQ(heard(raw.received()).hello.peer_run, alike_hello(9).run);
  // It is sent nothing until it has subscribed again.
  ASSERT_EQ(publish_.send("unwanted", its_tag), Status::ok);
  good_messages();
  raw.send(control_page(frame_of(Change{.ranges = {{7, 7}}}), 0, 10));
  EXPECT_EQ(answered(raw).answers[0].from, 10U);
  ASSERT_EQ(publish_.send("old", its_tag), Status::ok);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(publish_.send("new", 7), Status::ok);
  ASSERT_SOON(pump_, heard(raw.received()).messages == 5);
  raw.send(control_page(frame_of(Change{.revision = 2, .ranges = {{7, 7}}}), 0, 15));
  EXPECT_EQ(answered(raw, 2).answers[1].from, 15U);
  const Books books = publish_.books();
  EXPECT_EQ(books.dropped_by[static_cast<std::size_t>(DropReason::connection_lost)], 6U);
  EXPECT_EQ(books.unacknowledged, 0U);
  raw.reset();
  (void)next_down();
}

// What waited above the old connection is lost with it, and the subscriber is told how much.
TEST_F(SubscriptionSession, who_comes_back_after_being_behind_is_told_all_it_missed) {
  for (const WirePolicy policy :
       {WirePolicy::block, WirePolicy::drop_new, WirePolicy::drop_old, WirePolicy::sample}) {
    SCOPED_TRACE(static_cast<int>(policy));
    const auto session = static_cast<std::uint8_t>(20 + static_cast<int>(policy));
    RawTcp old = greeted(alike_hello(session));
    old.send(page_of(Change{.ranges = {its_range}, .policy = policy, .behind_bytes_max = mebi}));
    const Heard before = answered(old);
    const Bytes message(20'000);
    std::uint64_t published = 0;
    for (int refused = 0; refused < 20 && published < 2000;) {
      const Status status = publish_.send(message, its_tag);
      published += status == Status::ok ? 1 : 0;
      refused = status == Status::ok ? 0 : refused + 1;
      if (status != Status::ok || published % 8 == 0) pump_.turn();
    }
    RawTcp raw = back(before, session, 0);
    (void)next_down();
    ASSERT_SOON(pump_, heard(raw.received()).confirm);
    const std::uint64_t sequence = heard(raw.received()).confirm->next;
    EXPECT_GT(sequence, 0U);
    EXPECT_LT(sequence, published);
    raw.send(control_page(frame_of(Change{.ranges = {its_range}}), 0, sequence));
    const Heard now = answered(raw);
    ASSERT_EQ(now.gaps.size(), 1U);
    EXPECT_EQ(now.gaps[0].dropped, published - sequence);
    EXPECT_EQ(now.answers[0].from, published);
    EXPECT_EQ(now.messages, 0U);
    raw.reset();
    (void)next_down();
  }
}

}  // namespace
}  // namespace netio::test
