// What a queue holds once it was emptied: nothing, and no count of anything.
#include "pattern/publish/backlog.hpp"

#include <array>

#include <gtest/gtest.h>

#include "memory/pool.hpp"
#include "support/unwatched_stream.hpp"

namespace netio::detail {
namespace {

constexpr std::size_t backlog_page_bytes = 8192;

// Of a stream without a connection.
class BacklogOfOne : public testing::Test {
 protected:
  Pool::Ptr pool_ = Pool::create(backlog_page_bytes, 4);
  test::UnwatchedStream stream_;
  Backlog backlog_{*stream_};
};

TEST_F(BacklogOfOne, forgets_what_waited_when_it_is_emptied) {
  const std::array<std::byte, 8> answer{};
  for (int i = 0; i < 3; ++i) {
    backlog_.add_control(ControlKind::subscribed, answer, *pool_, backlog_page_bytes);
  }
  EXPECT_EQ(backlog_.controls(), 3U);
  EXPECT_FALSE(backlog_.empty());
  backlog_.clear();
  EXPECT_EQ(backlog_.controls(), 0U);
  EXPECT_TRUE(backlog_.empty());
  EXPECT_EQ(backlog_.bytes(), 0U);
  EXPECT_EQ(backlog_.messages(), 0U);
}

TEST_F(BacklogOfOne, counts_an_answer_until_it_is_posted) {
  const std::array<std::byte, 8> answer{};
  backlog_.add_control(ControlKind::subscribed, answer, *pool_, backlog_page_bytes);
  ASSERT_NE(backlog_.front(*pool_, backlog_page_bytes), nullptr);
  backlog_.pop_posted();
  EXPECT_EQ(backlog_.controls(), 0U);
  EXPECT_TRUE(backlog_.empty());
}

}  // namespace
}  // namespace netio::detail
