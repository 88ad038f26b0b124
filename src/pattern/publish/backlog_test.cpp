// What a queue holds once it was emptied: nothing, and no count of anything.
#include "pattern/publish/backlog.hpp"

#include <array>

#include <gtest/gtest.h>

#include "memory/pool.hpp"

namespace netio::detail {
namespace {

constexpr std::size_t backlog_page_bytes = 8192;

TEST(Backlog, forgets_what_waited_when_it_is_emptied) {
  const auto pool = Pool::create(backlog_page_bytes, 4);
  SendBooks books;
  Backlog backlog(books);
  const std::array<std::byte, 8> answer{};
  for (int i = 0; i < 3; ++i) {
    backlog.add_control(ControlKind::subscribed, answer, *pool, backlog_page_bytes);
  }
  EXPECT_EQ(backlog.controls(), 3U);
  EXPECT_FALSE(backlog.empty());
  backlog.clear();
  EXPECT_EQ(backlog.controls(), 0U);
  EXPECT_TRUE(backlog.empty());
  EXPECT_EQ(backlog.bytes(), 0U);
  EXPECT_EQ(backlog.messages(), 0U);
}

TEST(Backlog, counts_an_answer_until_it_is_posted) {
  const auto pool = Pool::create(backlog_page_bytes, 4);
  SendBooks books;
  Backlog backlog(books);
  const std::array<std::byte, 8> answer{};
  backlog.add_control(ControlKind::subscribed, answer, *pool, backlog_page_bytes);
  ASSERT_NE(backlog.front(*pool, backlog_page_bytes), nullptr);
  backlog.pop_posted();
  EXPECT_EQ(backlog.controls(), 0U);
  EXPECT_TRUE(backlog.empty());
}

}  // namespace
}  // namespace netio::detail
