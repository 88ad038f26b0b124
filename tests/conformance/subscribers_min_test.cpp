// A publisher that waits for its builders: nothing is published to nobody.
#include <optional>
#include <vector>

#include "conformance/publishing.hpp"

namespace netio::test {
namespace {

class SubscribersMin : public Publishing {
 protected:
  // A subscriber to everything.
  struct Builder : Reader {
    Builder(SubscribersMin& test, const std::string& address, Policy policy = Policy::block)
        : Reader(test, address, {.policy = policy}) {
      socket.subscribe_all();
    }
  };
};

TEST_P(SubscribersMin, nothing_is_taken_until_all_builders_are_there) {
  Publish publish(here_, {.subscribers_min = 2}, options());
  int writable = 0;
  int high = 0;
  int low = 0;
  publish.on_writable([&writable] { ++writable; });
  publish.on_high_watermark([&high] { ++high; });
  publish.on_low_watermark([&low] { ++low; });
  const PublishTag tag = publish.tag(1);
  const auto refuses = [&] {
    Status allocated = Status::ok;
    const std::vector<std::byte> bytes = payload(0, 100);
    EXPECT_EQ(publish.send(bytes, 1), Status::again);
    EXPECT_EQ(publish.send(bytes, 2), Status::again);
    EXPECT_EQ(tag.send(bytes), Status::again);
    EXPECT_EQ(publish.send(Message::copy_of(bytes, 1)), Status::again);
    EXPECT_EQ(publish.lend(bytes, 5, 1), Status::again);
    EXPECT_FALSE(publish.allocate(100, allocated, 1));
    EXPECT_EQ(allocated, Status::again);
    EXPECT_TRUE(tag.wanted());
    EXPECT_DOUBLE_EQ(publish.fill(), 1.0);
  };
  refuses();
  EXPECT_SOON(pump_, high == 1);
  const std::string address = bind(publish);
  Builder monitor(*this, address, Policy::drop_new);
  Builder first(*this, address);
  ASSERT_SOON(pump_, monitor.told() && first.told());
  refuses();
  EXPECT_EQ(writable, 0);
  std::optional<Builder> second(std::in_place, *this, address);
  ASSERT_SOON(pump_, second->told());
  EXPECT_SOON(pump_, writable == 1 && low == 1);
  EXPECT_LE(publish.fill(), 0.25);
  for (std::uint64_t number = 0; number < 100; ++number) {
    ASSERT_EQ(send(publish, number, number % 3), Status::ok);
  }
  ASSERT_SOON(pump_, first.inbox.size() == 100 && second->inbox.size() == 100);
  settle(publish);
  // One of them is killed: the same rule, at any time.
  second.reset();
  ASSERT_SOON(pump_, publish.peers_connected() == 2);
  refuses();
  EXPECT_EQ(writable, 1);
  EXPECT_SOON(pump_, high == 2);
  second.emplace(*this, address);
  ASSERT_SOON(pump_, writable == 2 && low == 2);
  for (std::uint64_t number = 100; number < 200; ++number) {
    ASSERT_EQ(send(publish, number, number % 3), Status::ok);
  }
  ASSERT_SOON(pump_, first.inbox.size() == 200 && second->inbox.size() == 100);
  for (std::size_t i = 0; i < 200; ++i) ASSERT_TRUE(is_payload(first.inbox[i].bytes, i));
  EXPECT_EQ(publish.counters().unwanted, 0U);
  settle(publish);
  EXPECT_TRUE(add_up(publish.books()));
}

TEST_P(SubscribersMin, those_of_any_policy_are_counted_by_a_number_of_their_own) {
  Publish publish(here_, {.subscribers_min = 1, .subscribers_any_min = 3}, options());
  int writable = 0;
  publish.on_writable([&writable] { ++writable; });
  const std::string address = bind(publish);
  EXPECT_EQ(publish.send("early", 1), Status::again);
  std::optional<Builder> sampling(std::in_place, *this, address, Policy::sample);
  Builder dropping(*this, address, Policy::drop_old);
  Builder monitor(*this, address, Policy::drop_new);
  ASSERT_SOON(pump_, sampling->told() && dropping.told() && monitor.told());
  EXPECT_EQ(publish.send("early", 1), Status::again) << "nobody has the policy block";
  Builder blocking(*this, address);
  ASSERT_SOON(pump_, blocking.told() && writable == 1);
  EXPECT_EQ(publish.send("taken", 1), Status::ok);
  // Of four, one may go.
  sampling.reset();
  ASSERT_SOON(pump_, publish.peers_connected() == 3);
  EXPECT_EQ(publish.send("taken", 1), Status::ok);
  dropping.socket.close();
  ASSERT_SOON(pump_, publish.peers_connected() == 2);
  EXPECT_EQ(publish.send("late", 1), Status::again);
  EXPECT_DOUBLE_EQ(publish.fill(), 1.0);
  sampling.emplace(*this, address, Policy::sample);
  ASSERT_SOON(pump_, writable == 2);
  EXPECT_EQ(publish.send("taken", 1), Status::ok);
  ASSERT_SOON(pump_, blocking.inbox.size() == 3 && monitor.inbox.size() == 3);
  EXPECT_EQ(publish.counters().unwanted, 0U);
}

TEST_P(SubscribersMin, who_wants_nothing_yet_is_there) {
  Publish publish(here_, {.subscribers_min = 1}, options());
  const std::string address = bind(publish);
  Reader empty(*this, address);
  ASSERT_SOON(pump_, publish.peers_connected() == 1);
  EXPECT_EQ(publish.send("unheard", 1), Status::again) << "it has not said what it is";
  empty.socket.unsubscribe_all();
  ASSERT_SOON(pump_, empty.told());
  EXPECT_EQ(publish.send("unwanted", 1), Status::ok);
  EXPECT_EQ(publish.counters().unwanted, 1U);
  empty.socket.subscribe(1);
  ASSERT_SOON(pump_, empty.answers.size() == 2);
  EXPECT_EQ(publish.send("wanted", 1), Status::ok);
  ASSERT_SOON(pump_, empty.inbox.size() == 1);
  empty.socket.close();
  ASSERT_SOON(pump_, publish.peers_connected() == 0);
  EXPECT_EQ(publish.send("late", 1), Status::again);
}

TEST_P(SubscribersMin, sets_that_change_meanwhile_are_what_is_served_then) {
  Publish publish(here_, {.subscribers_min = 2}, options());
  const std::string address = bind(publish);
  const PublishTag one = publish.tag(1);
  const PublishTag two = publish.tag(2);
  Reader first(*this, address);
  first.socket.subscribe(1);
  ASSERT_SOON(pump_, first.told());
  EXPECT_EQ(two.send("early"), Status::again);
  first.socket.unsubscribe(1);
  first.socket.subscribe(2);
  ASSERT_SOON(pump_, first.answers.size() == 2);
  Reader second(*this, address);
  second.socket.subscribe(3);
  ASSERT_SOON(pump_, second.told());
  EXPECT_FALSE(one.wanted());
  EXPECT_TRUE(two.wanted());
  EXPECT_EQ(one.send("1"), Status::ok);
  EXPECT_EQ(two.send("2"), Status::ok);
  EXPECT_EQ(publish.send("3", 3), Status::ok);
  ASSERT_SOON(pump_, first.inbox.size() == 1 && second.inbox.size() == 1);
  EXPECT_EQ(first.inbox[0].tag, 2U);
  EXPECT_EQ(second.inbox[0].tag, 3U);
  EXPECT_EQ(publish.counters().unwanted, 1U);
}

TEST_P(SubscribersMin, closing_waits_for_none) {
  Publish publish(here_, {.subscribers_min = 1}, options());
  Seen seen(publish);
  (void)bind(publish);
  EXPECT_EQ(publish.send("early", 1), Status::again);
  publish.close(1h);
  ASSERT_SOON(pump_, seen.closings.size() == 1);
  EXPECT_EQ(publish.send("late", 1), Status::closed);
  EXPECT_EQ(seen.closings[0].sent, 0U);
}

TEST_P(SubscribersMin, needs_subscribers_that_may_block) {
  EXPECT_THROW(Publish(here_, {.block_allowed = false, .subscribers_min = 1}, options()), Error);
}

ON_EVERY_TRANSPORT_AND_MODE(SubscribersMin);

}  // namespace
}  // namespace netio::test
