// Subscribers with Policy::block that do not read, or hardly: they hold the publisher up for
// block_for_max, and no longer. Who blocks and reads loses nothing meanwhile.
#include <sys/socket.h>
#include <vector>

#include "conformance/evil_subscriber.hpp"
#include "conformance/publishing.hpp"

namespace netio::test {
namespace {

using detail::WirePolicy;

constexpr std::size_t message_bytes = 20'000;

class HoldUp : public EvilSubscriber {
 protected:
  HoldUp() : EvilSubscriber(PublishOptions{.block_for_max = 100ms}) {
    publish_.on_policy_changed([this](const PeerSnapshot& peer) { changed_.push_back(peer); });
  }
  // To the good one's tag.
  RawTcp blocking(std::size_t behind_bytes_max = 0) {
    RawTcp raw = greeted(++session_);
    raw.send(page_of(Change{.ranges = {{good_tag, good_tag}},
                            .policy = WirePolicy::block,
                            .behind_bytes_max = behind_bytes_max}));
    EXPECT_SOON(pump_, !heard(raw.received()).answers.empty());
    return raw;
  }
  // Publishes as much as is taken.
  void publish_more() {
    for (int i = 0; i < 16 && publish_good(message_bytes) == Status::ok; ++i) continue;
  }
  void expect_demoted(std::size_t times = 1) {
    ASSERT_SOON(pump_, (publish_more(), changed_.size() == times));
    EXPECT_TRUE(changed_.back().demoted);
    EXPECT_EQ(changed_.back().policy, Policy::drop_new);
    // As if it were not there: more than any buffer holds.
    const std::uint64_t wanted = good_sent_ + 1000;
    ASSERT_SOON(pump_, (publish_more(), good_sent_ >= wanted));
  }
  std::vector<PeerSnapshot> changed_;
  std::uint8_t session_ = 100;
};

TEST_F(HoldUp, by_one_that_never_reads_ends) {
  RawTcp raw = blocking();
  expect_demoted();
  EXPECT_EQ(publish_.counters().demoted, 1U);
  // It is told, and gets its policy back once it has read all.
  ASSERT_SOON(pump_, heard(raw.received()).answers.size() == 3);
  const Heard all = heard(raw.received());
  EXPECT_EQ(all.answers[0].policy, WirePolicy::block);
  EXPECT_EQ(all.answers[1].policy, WirePolicy::drop_new);
  EXPECT_EQ(all.answers[1].revision, 1U);
  EXPECT_EQ(all.answers[2].policy, WirePolicy::block);
  EXPECT_FALSE(all.gaps.empty());
  ASSERT_EQ(changed_.size(), 2U);
  EXPECT_FALSE(changed_.back().demoted);
  EXPECT_EQ(changed_.back().policy, Policy::block);
}

TEST_F(HoldUp, by_one_that_reads_a_few_bytes_now_and_then_ends) {
  const RawTcp raw = blocking();
  pump_.after_each_turn([&raw] {
    std::byte few[8];
    (void)::recv(raw.fd(), few, sizeof few, MSG_DONTWAIT);
  });
  expect_demoted();
  pump_.forget_checks();
}

// What it was held up by is that the other is slow, and that is what the policy is for.
TEST_F(HoldUp, by_one_that_reads_slowly_and_steadily_goes_on) {
  RawTcp raw = blocking();
  std::vector<std::byte> some(std::size_t{512} << 10U);
  pump_.after_each_turn([&] { (void)::recv(raw.fd(), some.data(), some.size(), MSG_DONTWAIT); });
  const std::uint64_t agains = publish_.counters().agains;
  ASSERT_SOON(pump_, (publish_more(), good_sent_ > 4000));
  EXPECT_GT(publish_.counters().agains, agains);
  EXPECT_TRUE(changed_.empty());
  pump_.forget_checks();
}

// Slower than the publisher, it would never have an empty queue while messages are dropped.
TEST_F(HoldUp, by_one_that_reads_again_though_slowly_is_allowed_again) {
  RawTcp raw = blocking(8U << 20U);
  expect_demoted();
  std::vector<std::byte> some(std::size_t{100} << 10U);
  pump_.after_each_turn([&] { (void)::recv(raw.fd(), some.data(), some.size(), MSG_DONTWAIT); });
  ASSERT_SOON(pump_, (publish_more(), changed_.size() == 2));
  EXPECT_FALSE(changed_.back().demoted);
  EXPECT_GT(changed_.back().waiting_messages + changed_.back().wire_bytes, 0U);
  pump_.forget_checks();
}

// Another connection, or session, does not buy the same time again.
TEST_F(HoldUp, by_one_that_comes_again_and_again_ends) {
  std::size_t times = 0;
  for (;; ++times) {
    ASSERT_LT(times, 15U) << "it may hold the publisher up as often as it likes";
    RawTcp raw = blocking();
    if (heard(raw.received()).answers[0].policy == WirePolicy::drop_new) break;
    ASSERT_SOON(pump_, (publish_more(), changed_.size() == times + 1));
  }
  EXPECT_GE(times, 4U);
}

// --- The same on every transport, by a subscriber of ours.

class PausedBuilder : public Publishing {};

TEST_P(PausedBuilder, is_told_that_it_blocks_no_more_and_that_it_does_again) {
  Publish publish(here_, {.block_for_max = 100ms}, options());
  const std::string address = bind(publish);
  Reader good(*this, address);
  Reader paused(*this, address, {.policy = Policy::block, .behind_bytes_max = 1});
  good.socket.subscribe_all();
  paused.socket.subscribe_all();
  ASSERT_SOON(pump_, good.told() && paused.told());
  paused.socket.pause();
  const std::vector<std::byte> message(message_bytes);
  std::uint64_t sent = 0;
  const auto publish_more = [&] {
    for (int i = 0; i < 16 && publish.send(message, 1) == Status::ok; ++i) ++sent;
  };
  ASSERT_SOON(pump_, (publish_more(), publish.counters().demoted == 1));
  const std::uint64_t wanted = sent + 500;
  ASSERT_SOON(pump_, (publish_more(), sent >= wanted));
  ASSERT_SOON(pump_, good.inbox.size() == sent);
  EXPECT_EQ(good.socket.books().missed, 0U);
  paused.socket.resume();
  ASSERT_SOON(pump_, paused.answers.size() == 3);
  EXPECT_EQ(paused.answers[1].policy, Policy::drop_new);
  EXPECT_EQ(paused.answers[2].policy, Policy::block);
  EXPECT_FALSE(paused.gaps.empty());
  ASSERT_SOON(pump_, paused.inbox.size() + paused.socket.books().missed == sent);
  // From now on it gets everything again.
  const std::size_t before = paused.inbox.size();
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(send(publish, i, 1), Status::ok);
  ASSERT_SOON(pump_, paused.inbox.size() == before + 100);
  EXPECT_TRUE(add_up(publish.books()));
}

// A builder that does not keep up is missed, as if it were gone, until it has caught up.
TEST_P(PausedBuilder, is_waited_for_if_it_is_needed) {
  Publish publish(here_, {.block_for_max = 50ms, .subscribers_min = 1}, options());
  const std::string address = bind(publish);
  Reader paused(*this, address, {.policy = Policy::block, .behind_bytes_max = 1});
  paused.socket.subscribe_all();
  ASSERT_SOON(pump_, paused.told());
  paused.socket.pause();
  const std::vector<std::byte> message(message_bytes);
  std::uint64_t sent = 0;
  const auto publish_more = [&] {
    for (int i = 0; i < 16 && publish.send(message, 1) == Status::ok; ++i) ++sent;
  };
  ASSERT_SOON(pump_, (publish_more(), publish.counters().demoted == 1));
  EXPECT_EQ(publish.send(message, 1), Status::again);
  int writable = 0;
  publish.on_writable([&] { ++writable; });
  paused.socket.resume();
  ASSERT_SOON(pump_, writable == 1);
  ASSERT_EQ(publish.send(message, 1), Status::ok);
  ASSERT_SOON(pump_, paused.inbox.size() == sent + 1);
  EXPECT_TRUE(paused.gaps.empty());
}

ON_EVERY_TRANSPORT(PausedBuilder);

TEST(HoldUpOptions, that_make_no_sense_are_refused) {
  Context context;
  EXPECT_THROW(Publish(context, {.block_for_max = -1ns}), Error);
  EXPECT_THROW(Publish(context, {.behind_bytes_all_max = 0}), Error);
  EXPECT_THROW(Publish(context, {.ranges_all_max = 0}), Error);
}

class HoldUpForEver : public EvilSubscriber {
 protected:
  HoldUpForEver() : EvilSubscriber(PublishOptions{.block_for_max = 0s}) {}
};

TEST_F(HoldUpForEver, is_for_those_who_choose_it) {
  RawTcp raw = greeted();
  raw.send(page_of(Change{
      .ranges = {{good_tag, good_tag}}, .policy = WirePolicy::block, .behind_bytes_max = 0}));
  (void)answered(raw);
  ASSERT_SOON(pump_, publish_good(message_bytes) == Status::again);
  pump_.run_for(30ms);
  EXPECT_EQ(publish_.counters().demoted, 0U);
  ASSERT_SOON(pump_, !raw.received().empty() && publish_good() == Status::ok);
}

}  // namespace
}  // namespace netio::test
