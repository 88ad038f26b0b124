// What each policy does for a subscriber that is behind: who waits, what is dropped, and that both
// ends agree on every number.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "conformance/publishing.hpp"

namespace netio::test {
namespace {

constexpr std::size_t message_bytes = 1000;

class PublishPolicy : public Publishing {
 protected:
  // A subscriber to everything that checks each number: of what is published, nothing may be
  // missing but what gaps tell of.
  struct Follower : Reader {
    Follower(PublishPolicy& test, const std::string& address, const SubscribeOptions& subscription)
        : Reader(test, address, subscription) {
      socket.on_message([this](const MessageView& message) {
        in_order = in_order && is_payload(message.bytes(), next++);
        ++count;
      });
      socket.on_gap([this](const PeerInfo&, const Gap& gap) {
        gaps.push_back(gap);
        in_order = in_order && gap.first == next && gap.count != 0;
        next += gap.count;
      });
      socket.subscribe_all();
    }
    std::uint64_t next = 0;
    std::uint64_t count = 0;
    bool in_order = true;
  };

  // Publishes the next numbers until `enough`, for at most 200 MB.
  template <typename Enough>
  void publish_until(Publish& socket, std::uint64_t& number, Enough&& enough) {
    for (const std::uint64_t end = number + 200'000; number < end && !enough(); ++number) {
      ASSERT_EQ(send(socket, number, number % tags, message_bytes), Status::ok);
      if (number % 64 == 0) pump_.turn(0ms);
    }
    ASSERT_TRUE(enough());
  }
  // The subscriber got or missed all, and its publisher says the same.
  void expect_exact(const Publish& publish, const Subscribe& subscribe, std::uint64_t published) {
    ASSERT_SOON(pump_, publish.books().unsettled() == 0);
    const Books there = subscribe.books();
    EXPECT_EQ(there.delivered + there.missed, published);
    EXPECT_TRUE(add_up(publish.books()));
  }
  static std::uint64_t dropped(const Publish& publish, DropReason reason) {
    return publish.books().dropped_by[static_cast<std::size_t>(reason)];
  }

  static constexpr std::uint64_t tags = 100;
};

TEST_P(PublishPolicy, block_holds_the_publisher_up_and_loses_nothing) {
  Publish publish(here_, {}, options());
  const std::string address = bind(publish);
  Follower slow(*this, address, {.policy = Policy::block, .behind_bytes_max = 256U << 10U});
  Follower other(*this, address, {.policy = Policy::block});
  ASSERT_SOON(pump_, slow.told() && other.told());
  EXPECT_EQ(slow.answers.back().policy, Policy::block);
  EXPECT_EQ(slow.answers.back().behind_bytes_max, 256U << 10U);
  int writable = 0;
  publish.on_writable([&writable] { ++writable; });
  slow.socket.pause();
  std::uint64_t number = 0;
  for (; number < 200'000; ++number) {
    const Status status = publish.send(payload(number, message_bytes), number % tags);
    if (status == Status::again) break;
    ASSERT_EQ(status, Status::ok);
    if (number % 64 == 0) pump_.turn(0ms);
  }
  ASSERT_LT(number, 200'000U);
  // The message was refused for all: the other has not got it either.
  ASSERT_SOON(pump_, other.count == number || writable > 0);
  EXPECT_EQ(other.count, number);
  EXPECT_EQ(writable, 0);
  slow.socket.resume();
  ASSERT_SOON(pump_, writable == 1);
  for (const std::uint64_t end = number + 1000; number < end; ++number) {
    ASSERT_EQ(send(publish, number, number % tags, message_bytes), Status::ok);
  }
  expect_exact(publish, slow.socket, number);
  EXPECT_EQ(slow.count, number);
  EXPECT_TRUE(slow.in_order && other.in_order);
  EXPECT_EQ(publish.books().dropped(), 0U);
}

TEST_P(PublishPolicy, drop_new_keeps_what_waited_and_counts_what_came) {
  Publish publish(here_, {}, options());
  const std::string address = bind(publish);
  Follower slow(*this, address, {.policy = Policy::drop_new, .behind_bytes_max = 256U << 10U});
  Follower other(*this, address, {.policy = Policy::block});
  ASSERT_SOON(pump_, slow.told() && other.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until(publish, number, [&] { return dropped(publish, DropReason::dropped_new) > 2000; });
  slow.socket.resume();
  for (const std::uint64_t end = number + 1000; number < end; ++number) {
    ASSERT_EQ(send(publish, number, number % tags, message_bytes), Status::ok);
    pump_.turn(0ms);
  }
  expect_exact(publish, slow.socket, number);
  EXPECT_TRUE(slow.in_order);
  EXPECT_EQ(slow.next, number);
  ASSERT_FALSE(slow.gaps.empty());
  EXPECT_EQ(slow.gaps.front().reason, DropReason::dropped_new);
  EXPECT_EQ(slow.socket.books().missed, publish.books().dropped());
  EXPECT_EQ(other.count, number);
  EXPECT_TRUE(other.in_order && other.gaps.empty());
}

TEST_P(PublishPolicy, drop_old_keeps_the_latest) {
  Publish publish(here_, {}, options());
  Follower slow(*this, bind(publish),
                {.policy = Policy::drop_old, .behind_bytes_max = 256U << 10U});
  ASSERT_SOON(pump_, slow.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until(publish, number, [&] { return dropped(publish, DropReason::dropped_old) > 2000; });
  slow.socket.resume();
  expect_exact(publish, slow.socket, number);
  EXPECT_TRUE(slow.in_order);
  EXPECT_EQ(slow.next, number);
  ASSERT_EQ(slow.gaps.size(), 1U);
  EXPECT_EQ(slow.gaps.front().reason, DropReason::dropped_old);
  // What it gets last is the last that was published, as much as the queue holds at least half of.
  EXPECT_GT(number - (slow.gaps.front().first + slow.gaps.front().count),
            (128U << 10U) / message_bytes);
}

TEST_P(PublishPolicy, sample_gives_the_latest_of_each_tag) {
  Publish publish(here_, {}, options());
  Reader slow(*this, bind(publish), {.policy = Policy::sample});
  std::map<std::uint64_t, std::uint64_t> latest;
  bool whole = true;
  std::uint64_t count = 0;
  slow.socket.on_message([&](const MessageView& message) {
    const std::uint64_t number = number_of(message.bytes());
    whole = whole && is_payload(message.bytes(), number) && number % tags == message.tag();
    whole = whole && (!latest.contains(message.tag()) || latest[message.tag()] < number);
    latest[message.tag()] = number;
    ++count;
  });
  slow.socket.subscribe_all();
  ASSERT_SOON(pump_, slow.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until(publish, number, [&] { return dropped(publish, DropReason::superseded) > 5000; });
  slow.socket.resume();
  expect_exact(publish, slow.socket, number);
  EXPECT_TRUE(whole);
  ASSERT_EQ(latest.size(), tags);
  for (const auto& [tag, last] : latest) EXPECT_GE(last + tags, number) << tag;
  EXPECT_EQ(slow.socket.books().missed, dropped(publish, DropReason::superseded));
  ASSERT_FALSE(slow.gaps.empty());
  EXPECT_EQ(slow.gaps.back().reason, DropReason::superseded);
}

TEST_P(PublishPolicy, disconnect_ends_who_is_behind_by_too_much) {
  Publish publish(here_, {}, options());
  Seen at_publish(publish);
  const std::string address = bind(publish);
  Follower slow(*this, address, {.policy = Policy::disconnect, .behind_bytes_max = 256U << 10U});
  Follower other(*this, address, {.policy = Policy::block});
  ASSERT_SOON(pump_, slow.told() && other.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until(publish, number, [&] { return publish.books().dropped() > 0; });
  slow.socket.resume();
  ASSERT_SOON(pump_, at_publish.was_down_for(DownReason::too_slow));
  // It comes back by itself, and subscribes again.
  ASSERT_SOON(pump_, slow.answers.size() == 2);
  const std::uint64_t missed = slow.answers.back().from;
  EXPECT_EQ(missed, slow.next);
  ASSERT_EQ(send(publish, number++, 1, message_bytes), Status::ok);
  ASSERT_SOON(pump_, other.count == number);
  settle(publish);
  EXPECT_TRUE(add_up(publish.books()));
  EXPECT_TRUE(other.gaps.empty());
}

TEST_P(PublishPolicy, disconnect_ends_who_is_behind_for_too_long) {
  SocketOptions quick = options();
  quick.handshake_within = 500ms;  // who does not take the good-bye is cut then
  Publish publish(here_, {}, quick);
  Seen at_publish(publish);
  Follower slow(*this, bind(publish), {.policy = Policy::disconnect, .behind_for_max = 50ms});
  ASSERT_SOON(pump_, slow.told());
  slow.socket.pause();
  std::uint64_t number = 0;
  const auto start = std::chrono::steady_clock::now();
  while (!at_publish.was_down_for(DownReason::too_slow)) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, 30s);
    // Not as much as the amount alone would be too much.
    const bool behind = publish.books().unacknowledged > 20'000;
    if (!behind) {
      ASSERT_EQ(send(publish, number++, 1, message_bytes), Status::ok);
    }
    if (behind || number % 64 == 0) pump_.turn(behind ? 1ms : 0ms);
  }
  EXPECT_NE(at_publish.why().find("behind"), std::string::npos);
}

TEST_P(PublishPolicy, a_publisher_may_refuse_to_be_held_up) {
  Publish publish(here_, {.block_allowed = false, .behind_bytes_max = 100'000}, options());
  Follower slow(*this, bind(publish), {.policy = Policy::block});
  ASSERT_SOON(pump_, slow.told());
  EXPECT_EQ(slow.answers.back().policy, Policy::drop_new);
  EXPECT_EQ(slow.answers.back().behind_bytes_max, 100'000U);
  slow.socket.pause();
  std::uint64_t number = 0;
  publish_until(publish, number, [&] { return publish.books().dropped() > 1000; });
  slow.socket.resume();
  expect_exact(publish, slow.socket, number);
  EXPECT_TRUE(slow.in_order);
}

TEST_P(PublishPolicy, a_set_that_is_too_large_is_refused_and_the_old_one_stays) {
  Publish publish(here_, {.ranges_max = 10}, options());
  Reader reader(*this, bind(publish));
  reader.socket.subscribe(1);
  ASSERT_SOON(pump_, reader.answers.size() == 1);
  EXPECT_FALSE(reader.answers[0].refused);
  for (std::uint64_t tag = 10; tag < 40; tag += 2) reader.socket.subscribe(tag);
  ASSERT_SOON(pump_, reader.answers.size() == 2);
  EXPECT_TRUE(reader.answers[1].refused);
  EXPECT_NE(reader.answers[1].detail.find("at most 10"), std::string::npos)
      << reader.answers[1].detail;
  EXPECT_TRUE(publish.tag(1).wanted());
  EXPECT_FALSE(publish.tag(10).wanted());
  reader.socket.unsubscribe_all();
  reader.socket.subscribe({5, 500});
  ASSERT_SOON(pump_, reader.answers.size() == 3);
  EXPECT_FALSE(reader.answers[2].refused);
  EXPECT_TRUE(publish.tag(10).wanted());
  EXPECT_FALSE(publish.tag(1).wanted());
}

TEST_P(PublishPolicy, small_messages_of_a_sparse_stream_fill_the_queue_and_not_the_memory) {
  Publish publish(here_, {}, options());
  const std::string address = bind(publish);
  Follower slow(*this, address, {.policy = Policy::drop_new});
  Follower other(*this, address, {.policy = Policy::block});
  ASSERT_SOON(pump_, slow.told() && other.told());
  slow.socket.pause();
  // A page for each message: far more than there are in the pool, many more than a link takes.
  for (std::uint64_t number = 0; number < 3000; ++number) {
    ASSERT_EQ(send(publish, number, number, 64), Status::ok);
    publish.flush();
    pump_.turn(0ms);
  }
  slow.socket.resume();
  expect_exact(publish, slow.socket, 3000);
  EXPECT_EQ(slow.count, 3000U);
  EXPECT_EQ(other.count, 3000U);
}

ON_EVERY_TRANSPORT_AND_MODE(PublishPolicy);

}  // namespace
}  // namespace netio::test
