// What is settled about messages that were on their way when a connection broke.
#include "socket/send_books.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr auto lost_reason = static_cast<std::size_t>(DropReason::connection_lost);

Books sum(const SendBooks& books) {
  Books all;
  books.add_to(all, 0, 0);
  EXPECT_EQ(all.sent, all.acknowledged + all.dropped() + all.unacknowledged);
  return all;
}

// Ten were posted, of which four were acknowledged.
SendBooks in_doubt() {
  SendBooks books;
  books.next_sequence = 10;
  EXPECT_TRUE(books.acknowledge(4));
  return books;
}

TEST(SendBooks, have_in_doubt_what_was_posted_on_a_connection_that_broke_and_is_not_kept) {
  SendBooks books = in_doubt();
  books.dropped_unposted = 0;
  for (const auto& [kept_from, doubt] : {std::pair(10U, 6U), {7U, 3U}, {4U, 0U}, {2U, 0U}}) {
    Books all;
    books.add_to(all, 2, kept_from);
    EXPECT_EQ(all.sent, 12U);
    EXPECT_EQ(all.in_doubt, doubt);
    EXPECT_EQ(all.unacknowledged, 8U - doubt);
  }
}

TEST(SendBooks, settle_by_what_the_peer_has_received) {
  SendBooks books = in_doubt();
  ASSERT_TRUE(books.settle(7, 0, books.next_sequence));
  EXPECT_EQ(sum(books).acknowledged, 7U);
  EXPECT_EQ(sum(books).dropped_by[lost_reason], 3U);
  EXPECT_EQ(sum(books).unacknowledged, 0U);
}

TEST(SendBooks, settle_nothing_new_with_a_peer_that_has_received_no_more) {
  SendBooks books = in_doubt();
  ASSERT_TRUE(books.settle(4, 0, books.next_sequence));
  EXPECT_EQ(sum(books).acknowledged, 4U);
  EXPECT_EQ(sum(books).dropped_by[lost_reason], 6U);
}

TEST(SendBooks, settle_with_what_is_kept_in_doubt_still) {
  SendBooks books = in_doubt();
  ASSERT_TRUE(books.settle(7, 0, 7));
  EXPECT_EQ(sum(books).acknowledged, 7U);
  EXPECT_EQ(sum(books).dropped(), 0U);
  EXPECT_EQ(sum(books).unacknowledged, 3U);
  ASSERT_TRUE(books.acknowledge(10));
  EXPECT_EQ(sum(books).acknowledged, 10U);
}

TEST(SendBooks, settle_with_what_is_not_kept_any_more_dropped) {
  SendBooks books = in_doubt();
  ASSERT_TRUE(books.settle(5, 0, 8)) << "5 to 7 are given up";
  EXPECT_EQ(sum(books).acknowledged, 5U);
  EXPECT_EQ(sum(books).dropped_by[lost_reason], 3U);
  EXPECT_EQ(sum(books).unacknowledged, 2U);
  ASSERT_TRUE(books.settle(9, 3, 9)) << "the peer skipped them, and got one more";
  EXPECT_EQ(sum(books).acknowledged, 6U);
  EXPECT_EQ(sum(books).dropped_by[lost_reason], 3U);
  EXPECT_FALSE(books.settle(9, 3, 8)) << "from before where the peer stands";
}

// A connection that broke before the peer had said where it stands: the peer learned that what was
// lost before will not come, and this side does not know that the peer knows.
TEST(SendBooks, settle_with_a_peer_that_knows_what_it_has_missed) {
  SendBooks books = in_doubt();
  ASSERT_TRUE(books.settle(7, 0, books.next_sequence));
  books.next_sequence = 15;
  ASSERT_TRUE(books.settle(12, 3, books.next_sequence))
      << "12 expected, and of these 7 to 9 never came";
  EXPECT_EQ(sum(books).acknowledged, 9U);
  EXPECT_EQ(sum(books).dropped_by[lost_reason], 6U);
  EXPECT_EQ(sum(books).sent, 15U);
}

TEST(SendBooks, believe_no_peer_that_received_what_was_not_sent_or_less_than_it_had) {
  SendBooks books = in_doubt();
  const auto refuses = [&](std::uint64_t expected, std::uint64_t missed) {
    const SendBooks before = books;
    const bool refused = !books.settle(expected, missed, books.next_sequence);
    EXPECT_EQ(sum(books).acknowledged, sum(before).acknowledged);
    EXPECT_EQ(sum(books).dropped(), sum(before).dropped());
    EXPECT_EQ(books.next_sequence, before.next_sequence);
    return refused;
  };
  EXPECT_TRUE(refuses(11, 0)) << "more than was sent";
  EXPECT_TRUE(refuses(~std::uint64_t{0}, 0));
  EXPECT_TRUE(refuses(3, 0)) << "less than it had acknowledged";
  EXPECT_TRUE(refuses(10, 7)) << "the same by what it missed";
  EXPECT_TRUE(refuses(5, 6)) << "more missed than there were";
  EXPECT_TRUE(refuses(0, ~std::uint64_t{0}));
}

TEST(SendBooks, begin_another_stream_with_what_is_in_doubt_dropped) {
  SendBooks books = in_doubt();
  books.drop_unposted(DropReason::not_sent, 2);
  books.begin_stream();
  EXPECT_EQ(books.next_sequence, 0U);
  EXPECT_EQ(sum(books).sent, 12U);
  EXPECT_EQ(sum(books).dropped_by[lost_reason], 6U);
  EXPECT_EQ(books.dropped_unposted, 0U) << "what a subscriber is told of begins anew";
  books.next_sequence = 3;
  ASSERT_TRUE(books.acknowledge(3));
  EXPECT_EQ(sum(books).sent, 15U);
  EXPECT_EQ(sum(books).acknowledged, 7U);
}

}  // namespace
}  // namespace netio::detail
