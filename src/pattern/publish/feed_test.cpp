// How far a wire is with what is shared: the bytes that it took count, whether they waited in the
// backlog or not.
#include "pattern/publish/feed.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "memory/large_pool.hpp"
#include "memory/pool.hpp"
#include "support/unwatched_stream.hpp"

namespace netio::detail {
namespace {

constexpr std::size_t feed_page_bytes = 8192;

// Takes posts until its queue is full, and keeps them until the test takes them off.
class FakeLink final : public Link {
 public:
  FakeLink(Pool& pool, LargePool& large) : pool_(pool) {
    fit_ = {.pages = &pool, .large = &large};
    fit_.borrowed_bytes_max = fit_.whole_page_bytes_max = feed_page_bytes;
    limits_.page_bytes_max = feed_page_bytes;
    limits_.message_bytes_max = 1U << 20U;
  }
  void wire_takes_all() {
    posts_.clear();
    queued_bytes_ = 0;
  }
  std::size_t posts_max = 4;

  void start(LinkEvents&) noexcept override {}
  bool hear_greeting() noexcept override { return true; }
  Store& receive_store() noexcept override { return pool_; }
  Status post(Post& post) noexcept override {
    if (posts_.size() == posts_max) return Status::again;
    queued_bytes_ += post.body.bytes;
    posts_.push_back(std::move(post.body.lease));
    return Status::ok;
  }
  void flush() noexcept override {}
  const LinkLimits& limits() const noexcept override { return limits_; }
  bool idle() const noexcept override { return posts_.empty(); }
  bool backed_up() const noexcept override { return !posts_.empty(); }
  std::size_t queued_bytes() const noexcept override { return queued_bytes_; }
  Holding holding(const StorePart&) const noexcept override { return {}; }
  void pause(bool) noexcept override {}
  void assembling(bool) noexcept override {}
  void finish() noexcept override {}
  void cut() noexcept override {}
  std::uint64_t bytes_received() const noexcept override { return 0; }
  bool mid_page() const noexcept override { return false; }
  bool reading() const noexcept override { return true; }
  std::string peer_address() const override { return {}; }

 private:
  Pool& pool_;
  LinkLimits limits_;
  std::vector<Lease> posts_;
  std::size_t queued_bytes_ = 0;
};

class FeedOfOne : public testing::Test {
 protected:
  FeedOfOne() { stream_->attach(link_); }
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
  Pool::Ptr pool_ = Pool::create(feed_page_bytes, 64);
  test::UnwatchedStream stream_;
  FakeLink link_{*pool_, stream_.large_pool()};
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
