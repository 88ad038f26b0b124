// How far a wire is with what is shared: the bytes that it took count, whether they waited in the
// backlog or not.
#include "pattern/publish/feed.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "memory/large_pool.hpp"
#include "memory/pool.hpp"
#include "support/fake_link.hpp"
#include "support/unwatched_stream.hpp"

namespace netio::detail {
namespace {

class FeedOfOne : public testing::Test {
 protected:
  void share_one() {
    Parcel parcel;
    parcel.lease = pool_->take();
    parcel.data = parcel.lease->data();
    parcel.bytes = parcel_bytes;
    parcel.messages = 1;
    parcel.framed = true;
    feed_.share(parcel);
  }
  static constexpr std::size_t parcel_bytes = 4000;
  Pool::Ptr pool_ = Pool::create(test::fake_page_bytes, 64);
  test::UnwatchedStream stream_;
  test::FakeLink link_{*pool_, stream_};
  Feed feed_{*stream_};
};

TEST_F(FeedOfOne, goes_on_by_what_the_wire_takes_at_once) {
  const std::int64_t before = feed_.progress();
  for (int i = 0; i < 4; ++i) share_one();
  EXPECT_TRUE(feed_.backlog.empty());
  EXPECT_EQ(feed_.progress(), before);  // the link has them, and the wire has not
  link_.wire_takes_all();
  EXPECT_EQ(feed_.progress() - before, 4 * std::int64_t{parcel_bytes});
}

TEST_F(FeedOfOne, goes_on_by_what_had_to_wait) {
  const std::int64_t before = feed_.progress();
  for (int i = 0; i < 6; ++i) share_one();
  EXPECT_EQ(feed_.backlog.messages(), 2U);
  link_.wire_takes_all();
  EXPECT_EQ(feed_.progress() - before, 4 * std::int64_t{parcel_bytes});
  stream_->flush();
  link_.wire_takes_all();
  EXPECT_EQ(feed_.progress() - before, 6 * std::int64_t{parcel_bytes});
}

SubscribedFrame answer_to(std::uint64_t revision) {
  SubscribedFrame answer;
  answer.revision = revision;
  return answer;
}

// The stream's object is the same: it is that of an address that is dialed.
TEST(FeedOfAnother, is_not_told_what_an_earlier_subscriber_was) {
  const Pool::Ptr pool = Pool::create(test::fake_page_bytes, 64);
  test::UnwatchedStream stream;
  test::FakeLink first(*pool, stream);
  std::optional<Feed> feed(*stream);
  feed->answer(answer_to(2));
  EXPECT_EQ(first.controls.size(), 1U);
  feed.emplace(*stream);
  first.posts_max = 1;  // the link is full
  feed->answer(answer_to(1));
  EXPECT_EQ(feed->backlog.controls(), 1U);

  stream->detach();
  test::FakeLink second(*pool, stream);
  stream->flush();
  ASSERT_EQ(second.controls.size(), 1U);
  SubscribedFrame told;
  ASSERT_EQ(parse(second.controls[0], told), nullptr);
  EXPECT_EQ(told.revision, 1U);
}

}  // namespace
}  // namespace netio::detail
