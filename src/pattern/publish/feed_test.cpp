// How far a wire is with what is shared: the bytes that it took count, whether they waited in the
// backlog or not.
#include "pattern/publish/feed.hpp"

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

}  // namespace
}  // namespace netio::detail
