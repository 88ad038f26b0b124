// Subscribers with Policy::block that do not read, or hardly: they hold the publisher up for
// block_for_max, and no longer. Who blocks and reads loses nothing meanwhile.
#include <algorithm>
#include <chrono>
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
  RawTcp blocking(std::size_t behind_bytes_max = 0, std::uint64_t tag = good_tag) {
    RawTcp raw = greeted(++session_);
    raw.send(page_of(Change{.ranges = {{tag, tag}},
                            .policy = WirePolicy::block,
                            .behind_bytes_max = behind_bytes_max}));
    EXPECT_SOON(pump_, !heard(raw.received()).answers.empty());
    return raw;
  }
  static bool was_granted_block(RawTcp& raw) {
    return heard(raw.received()).answers.back().policy == WirePolicy::block;
  }
  // As the publisher sees it now.
  PeerSnapshot snapshot(std::uint64_t id) {
    for (PeerSnapshot& peer : publish_.peers()) {
      if (peer.id == id) return std::move(peer);
    }
    return {};
  }
  // The publisher is held up, and a part of block_for_max passes: far less than all of it. It is
  // counted as the publisher does, for which a turn is never longer than two of its looks.
  void hold_up_for_a_while() {
    using Clock = std::chrono::steady_clock;
    constexpr Clock::duration two_looks = 6ms;
    ASSERT_SOON(pump_, (publish_more(), publish_good(message_bytes) == Status::again));
    for (Clock::duration counted{}; counted < 60ms;) {
      const Clock::time_point begun = Clock::now();
      pump_.turn();
      counted += std::min(Clock::now() - begun, two_looks);
    }
  }
  void go(RawTcp& raw) {
    const std::size_t before = at_publish_.downs.size();
    raw.reset();
    ASSERT_SOON(pump_, at_publish_.downs.size() == before + 1);
  }
  // Until its host may hold the publisher up no more; the first one that is refused the policy.
  // The host gets its time back as time goes by, so the next one may be granted it again.
  std::optional<RawTcp> spend_the_time_of_the_host() {
    for (int times = 0; times < 40; ++times) {
      RawTcp raw = blocking();
      if (!was_granted_block(raw)) return raw;
      hold_up_for_a_while();
      go(raw);
    }
    ADD_FAILURE() << "it may hold the publisher up as often as it likes";
    return std::nullopt;
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

// It is never judged, as it never stays for block_for_max.
TEST_F(HoldUp, by_one_that_leaves_before_it_is_judged_ends) {
  EXPECT_TRUE(spend_the_time_of_the_host().has_value());
}

TEST_F(HoldUp, by_one_that_takes_another_policy_before_it_is_judged_ends) {
  RawTcp raw = greeted(++session_);
  const std::uint64_t id = at_publish_.ups.back().id;
  std::uint64_t revision = 0;
  const auto ask_for = [&](WirePolicy policy) {
    raw.send(page_of(Change{.revision = ++revision,
                            .ranges = {{good_tag, good_tag}},
                            .policy = policy,
                            .behind_bytes_max = 0}));
  };
  for (int times = 0;; ++times) {
    ASSERT_LT(times, 40);
    ask_for(WirePolicy::block);
    ASSERT_SOON(pump_, snapshot(id).policy == Policy::block || snapshot(id).demoted);
    if (snapshot(id).demoted) break;
    hold_up_for_a_while();
    ask_for(WirePolicy::drop_new);
    ASSERT_SOON(pump_, snapshot(id).policy == Policy::drop_new);
    pump_.run_for(10ms);  // long enough to be seen without the policy
  }
}

// This publisher tries again by a timer of its own, so it is often not waiting for anybody.
TEST_F(HoldUp, by_one_that_changes_its_subscription_all_the_time_ends) {
  RawTcp raw = blocking();
  std::uint64_t revision = 1;
  ASSERT_SOON(pump_, (publish_more(), publish_good(message_bytes) == Status::again));
  auto tried = std::chrono::steady_clock::now();
  auto changed = tried;
  ASSERT_SOON(pump_, [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - tried > 20ms) {
      publish_more();
      tried = now;
    }
    if (now - changed < 1ms) return changed_.size() == 1;
    changed = now;
    raw.send(page_of(Change{.revision = ++revision,
                            .ranges = {{good_tag, good_tag}, {7, 7 + revision % 2}},
                            .policy = WirePolicy::block,
                            .behind_bytes_max = 0}));
    return changed_.size() == 1 || !at_publish_.downs.empty();
  }());
  ASSERT_EQ(changed_.size(), 1U) << at_publish_.why();
  EXPECT_TRUE(changed_.back().demoted);
}

// All were granted the policy before the first of them held the publisher up.
TEST_F(HoldUp, by_many_of_one_host_that_take_turns_ends) {
  constexpr std::uint64_t first_tag = 100;
  constexpr std::uint64_t count = 16;
  RawTcp silent = greeted(++session_);  // has subscribed to nothing
  std::vector<RawTcp> raws;
  for (std::uint64_t i = 0; i < count; ++i) raws.push_back(blocking(0, first_tag + i));
  std::uint64_t holding = 0;
  const Bytes message(message_bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t changed = changed_.size();
    int taken = 0;
    Status status = Status::ok;
    ASSERT_SOON(pump_, [&] {
      for (int n = 0; n < 16 && status == Status::ok; ++n, ++taken) {
        status = publish_.send(message, first_tag + i);
      }
      return status != Status::ok || taken > 500;  // more than its wire takes
    }());
    if (status == Status::again) {
      ++holding;
      ASSERT_SOON(pump_, changed_.size() > changed);
    }
    go(raws[i]);
  }
  EXPECT_GE(holding, 4U);
  EXPECT_LT(holding, 12U);
  // Who was granted nothing has nothing taken from it.
  EXPECT_TRUE(heard(silent.received()).answers.empty());
}

// The publisher stands still once, whoever it waits for.
TEST_F(HoldUp, by_many_of_one_host_at_once_counts_once) {
  constexpr std::size_t count = 40;
  std::vector<RawTcp> raws;
  for (std::size_t i = 0; i < count; ++i) raws.push_back(blocking());
  ASSERT_SOON(pump_, (publish_more(), changed_.size() == count));
  std::vector<std::byte> some(std::size_t{256} << 10U);
  pump_.after_each_turn([&] {
    for (const RawTcp& raw : raws) {
      while (::recv(raw.fd(), some.data(), some.size(), MSG_DONTWAIT) > 0) continue;
    }
  });
  ASSERT_SOON(pump_, changed_.size() == 2 * count);
  for (std::size_t i = count; i < 2 * count; ++i) EXPECT_FALSE(changed_[i].demoted);
  pump_.forget_checks();
}

TEST_F(HoldUp, ends_and_who_is_refused_the_policy_gets_it_later_untold) {
  const std::optional<RawTcp> refused = spend_the_time_of_the_host();
  ASSERT_TRUE(refused);
  const std::uint64_t id = at_publish_.ups.back().id;
  ASSERT_SOON(pump_, snapshot(id).policy == Policy::block);
  EXPECT_FALSE(snapshot(id).demoted);
  for (const PeerSnapshot& peer : changed_) EXPECT_NE(peer.id, id);
}

TEST_F(HoldUp, ends_and_who_is_refused_the_policy_takes_first_what_waits) {
  RawTcp raw = greeted(++session_);
  const std::uint64_t id = at_publish_.ups.back().id;
  Change change{.ranges = {{good_tag, good_tag}}, .behind_bytes_max = mebi};
  raw.send(page_of(change));
  ASSERT_SOON(pump_, (publish_more(), snapshot(id).waiting_bytes != 0));
  const auto ask_for = [&](WirePolicy policy) {
    ++change.revision;
    change.policy = policy;
    raw.send(page_of(change));
  };
  // On a busy machine the host may have got its time back when this one asks.
  for (int times = 0; !snapshot(id).demoted; ++times) {
    ASSERT_LT(times, 20);
    if (snapshot(id).policy == Policy::block) {
      ask_for(WirePolicy::drop_new);
      ASSERT_SOON(pump_, snapshot(id).policy == Policy::drop_new);
    }
    std::optional<RawTcp> refused = spend_the_time_of_the_host();
    ASSERT_TRUE(refused);
    go(*refused);
    ask_for(WirePolicy::block);
    ASSERT_SOON(pump_, snapshot(id).demoted || snapshot(id).policy == Policy::block);
  }
  // Its host has had enough time for the next one.
  ASSERT_SOON(pump_, [&] {
    RawTcp other = blocking();
    const bool granted = was_granted_block(other);
    go(other);
    return granted;
  }());
  pump_.run_for(50ms);
  EXPECT_TRUE(snapshot(id).demoted);
  ASSERT_SOON(pump_, (raw.received(), snapshot(id).policy == Policy::block));
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
