// Many subscribers that each take what one may have: together they have no more than the budget of
// the publisher, and who needs little still gets it.
#include <algorithm>
#include <optional>
#include <vector>

#include "conformance/evil_subscriber.hpp"

namespace netio::test {
namespace {

using detail::SetRefusal;
using detail::WirePolicy;

std::vector<TagRange> tags_apart(std::uint64_t count) {
  std::vector<TagRange> tags;
  for (std::uint64_t i = 0; i < count; ++i) tags.push_back({3 * i + 100'000, 3 * i + 100'000});
  return tags;
}

class SharedRanges : public EvilSubscriber {
 protected:
  SharedRanges() : EvilSubscriber(PublishOptions{.ranges_all_max = 6000}) {}
  detail::SubscribedFrame answer_to(RawTcp& raw, std::uint64_t ranges, std::uint64_t revision = 1) {
    raw.send(page_of(Change{.revision = revision, .ranges = tags_apart(ranges)}));
    return answered(raw, revision).answers.back();
  }
};

// All are of one host, which may have as many as it leaves for others: 3000, and one is taken.
TEST_F(SharedRanges, are_refused_to_those_who_come_when_they_are_taken) {
  std::optional<RawTcp> first(greeted(100));
  EXPECT_EQ(answer_to(*first, 2000).refusal, SetRefusal::none);
  RawTcp second = greeted(101);
  const detail::SubscribedFrame refused = answer_to(second, 2000);
  EXPECT_EQ(refused.refusal, SetRefusal::too_many_ranges);
  EXPECT_EQ(refused.ranges_max, 999U);
  EXPECT_EQ(answer_to(second, refused.ranges_max, 2).refusal, SetRefusal::none);
  // Nothing is left. A small set is always taken, and a large one may become another, or smaller.
  RawTcp third = greeted(102);
  EXPECT_EQ(answer_to(third, 65).refusal, SetRefusal::too_many_ranges);
  EXPECT_EQ(answer_to(third, 64, 2).refusal, SetRefusal::none);
  EXPECT_EQ(answer_to(*first, 1500, 2).refusal, SetRefusal::none);
  // What goes comes back.
  first.reset();
  ASSERT_SOON(pump_, at_publish_.downs.size() == 1);
  EXPECT_EQ(answer_to(third, 1900, 3).refusal, SetRefusal::none);
}

// Others came after it: together they have more than half, and it has more than it would be granted
// now. It could not even give some of it back.
TEST_F(SharedRanges, of_one_that_has_more_than_is_left_may_become_fewer) {
  RawTcp first = greeted(100);
  EXPECT_EQ(answer_to(first, 2900).refusal, SetRefusal::none);
  std::vector<RawTcp> others;
  for (std::uint8_t i = 0; i < 40; ++i) {
    others.push_back(greeted(static_cast<std::uint8_t>(110 + i)));
    EXPECT_EQ(answer_to(others.back(), 64).refusal, SetRefusal::none);
  }
  EXPECT_EQ(answer_to(first, 2901, 2).refusal, SetRefusal::too_many_ranges);
  EXPECT_EQ(answer_to(first, 2900, 3).refusal, SetRefusal::none);
  EXPECT_EQ(answer_to(first, 2899, 4).refusal, SetRefusal::none);
}

// Dropped and replaced within a connection, many times: nothing is counted twice.
TEST_F(SharedRanges, are_counted_exactly) {
  RawTcp raw = greeted(100);
  for (std::uint64_t revision = 1; revision <= 40; ++revision) {
    const std::uint64_t ranges = revision % 3 == 0 ? 10'000 : revision % 2 * 2900;
    raw.send(page_of(
        Change{.revision = revision, .ranges = tags_apart(std::min<std::uint64_t>(ranges, 4000))}));
    const SetRefusal refusal = answered(raw, revision).answers.back().refusal;
    EXPECT_EQ(refusal, revision % 3 == 0 ? SetRefusal::too_many_ranges : SetRefusal::none);
  }
}

class SharedQueues : public EvilSubscriber {
 protected:
  static constexpr std::size_t all_bytes = std::size_t{4} << 20U;
  SharedQueues() : EvilSubscriber(PublishOptions{.behind_bytes_all_max = all_bytes}) {}
  [[nodiscard]] std::uint64_t waiting_bytes() {
    std::uint64_t sum = 0;
    for (const PeerSnapshot& peer : publish_.peers()) {
      if (peer.policy == Policy::sample) sum += peer.waiting_bytes;
    }
    return sum;
  }
};

TEST_F(SharedQueues, of_many_that_sample_and_do_not_read_are_bounded) {
  constexpr std::uint64_t tags = 20'000;
  std::vector<RawTcp> silent;
  for (std::uint8_t i = 0; i < 8; ++i) {
    silent.push_back(greeted(alike_hello(static_cast<std::uint8_t>(100 + i))));
    silent.back().send(page_of(Change{.ranges = {{100'000, 100'000 + tags}},
                                      .policy = WirePolicy::sample,
                                      .behind_bytes_max = 64 * mebi}));
    (void)answered(silent.back());
  }
  const Bytes message(1000);
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < 2 * tags; ++i) {
    ASSERT_SOON(pump_, publish_.send(message, 100'000 + i % tags) == Status::ok);
    if (i % 64 == 0) pump_.turn();
    if (i % 1024 == 0) most = std::max(most, waiting_bytes());
  }
  // Each of them has some, and all of them no more than they may; beside the page that is open.
  EXPECT_GT(most, all_bytes / 2);
  EXPECT_LT(most, all_bytes + 8 * 2 * 65536);
  const Books books = publish_.books();
  EXPECT_GT(books.dropped_by[static_cast<std::size_t>(DropReason::dropped_new)], 0U);
  // What nobody needs any more is there for the next one.
  silent.clear();
  ASSERT_SOON(pump_, at_publish_.downs.size() == 8);
  EXPECT_EQ(waiting_bytes(), 0U);
}

class SharedAnswers : public EvilSubscriber {
 protected:
  static constexpr std::size_t all_bytes = std::size_t{64} << 10U;
  SharedAnswers() : EvilSubscriber(PublishOptions{.behind_bytes_all_max = all_bytes}) {}
};

// An answer takes memory while messages wait in front of it.
TEST_F(SharedAnswers, that_are_not_read_are_bounded) {
  RawTcp raw = greeted(100);
  Change change{.ranges = {{good_tag, good_tag}}, .behind_bytes_max = mebi};
  raw.send(page_of(change));
  // Its queue is full.
  ASSERT_SOON(pump_, ((void)publish_good(20'000), publish_.books().dropped() != 0));
  // 1024 would be too many in any case.
  for (int i = 0; i < 500; ++i) {
    ++change.revision;
    raw.send(page_of(change));
  }
  const Seen::Gone& gone = next_down();
  EXPECT_EQ(gone.down.reason, DownReason::protocol_error);
  EXPECT_NE(gone.down.detail.find("does not read the answers"), std::string::npos)
      << gone.down.detail;
}

}  // namespace
}  // namespace netio::test
