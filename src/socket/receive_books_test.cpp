// What a peer may claim to have been missed, by the time that it can have taken.
#include "socket/receive_books.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::uint64_t at_once = std::uint64_t{1} << 24U;
constexpr std::uint64_t in_a_second = 8'000'000'000;
constexpr std::int64_t one_second_ns = 1'000'000'000;

TEST(ReceiveBooks, believe_drops_in_small_steps_no_more_than_at_once) {
  ReceiveBooks books;
  books.look_from(0);
  std::uint64_t dropped = 0;
  for (int step = 0; step < 16; ++step) {
    dropped += at_once / 16;
    EXPECT_EQ(books.miss_up_to(dropped, 0), at_once / 16);
  }
  EXPECT_FALSE(books.miss_up_to(dropped + 1, 0));
  EXPECT_EQ(books.miss_up_to(dropped + in_a_second, one_second_ns), in_a_second);
  EXPECT_FALSE(books.miss_up_to(dropped + in_a_second + 1, one_second_ns));
}

TEST(ReceiveBooks, believe_no_drops_that_are_taken_back) {
  ReceiveBooks books;
  EXPECT_EQ(books.miss_up_to(5, 0), 5U);
  EXPECT_FALSE(books.miss_up_to(4, 0));
  EXPECT_EQ(books.miss_up_to(5, 0), 0U);
  EXPECT_FALSE(books.miss_up_to(sequence_end, 0));
}

TEST(ReceiveBooks, count_a_gap_between_connections_once_it_is_confirmed) {
  ReceiveBooks books;
  ASSERT_TRUE(books.may_resume(3, 0));
  books.resume(3);
  EXPECT_EQ(books.next_expected(), 0U);
  const ReceiveBooks::Lost lost = books.confirm();
  EXPECT_EQ(lost.first, 0U);
  EXPECT_EQ(lost.count, 3U);
  EXPECT_EQ(books.confirm().count, 0U);
  EXPECT_EQ(books.next_expected(), 3U);
}

TEST(ReceiveBooks, count_what_a_stream_had_lost_though_another_begins) {
  ReceiveBooks books;
  books.resume(3);
  const ReceiveBooks::Lost lost = books.restart(false, 7, 0);
  EXPECT_EQ(lost.first, 0U);
  EXPECT_EQ(lost.count, 3U);
  EXPECT_EQ(books.confirm().count, 0U);
  Books all;
  books.add_to(all);
  EXPECT_EQ(all.missed, 3U);
}

// A publisher that is dialed may come with one session after the other, each of which says that it
// was ours from its beginning.
TEST(ReceiveBooks, believe_new_sessions_no_more_than_one) {
  ReceiveBooks books;
  books.look_from(0);
  ASSERT_TRUE(books.may_restart(true, in_a_second, one_second_ns));
  books.restart(true, in_a_second, one_second_ns);
  EXPECT_EQ(books.confirm().count, in_a_second);
  ASSERT_TRUE(books.may_restart(true, 0, one_second_ns));
  books.restart(true, 0, one_second_ns);
  EXPECT_EQ(books.confirm().count, 0U);
  EXPECT_FALSE(books.may_restart(true, in_a_second, one_second_ns));
  EXPECT_TRUE(books.may_restart(true, at_once, one_second_ns));
}

TEST(ReceiveBooks, believe_a_new_session_no_more_because_the_last_was_not_confirmed) {
  ReceiveBooks books;
  books.look_from(0);
  ASSERT_TRUE(books.may_restart(true, in_a_second, one_second_ns));
  books.restart(true, in_a_second, one_second_ns);
  EXPECT_FALSE(books.may_restart(true, in_a_second, one_second_ns));
  EXPECT_TRUE(books.may_restart(true, at_once, one_second_ns));
}

// The time that passed before a session is not the session's.
TEST(ReceiveBooks, believe_a_session_that_others_heard_before_from_now_on) {
  ReceiveBooks books;
  books.look_from(0);
  books.restart(false, in_a_second, one_second_ns);
  EXPECT_EQ(books.confirm().count, 0U);
  EXPECT_FALSE(books.may_resume(in_a_second + at_once + 1, one_second_ns));
  EXPECT_TRUE(books.may_resume(in_a_second + at_once, one_second_ns));
}

TEST(ReceiveBooks, believe_no_more_than_there_are_sequences_after_any_time) {
  constexpr std::int64_t a_year_ns = std::int64_t{365} * 86'400 * one_second_ns;
  ReceiveBooks books;
  books.look_from(0);
  EXPECT_FALSE(books.may_restart(true, sequence_end, a_year_ns));
  for (int session = 0; session < 2; ++session) {
    books.restart(true, sequence_end / 2, a_year_ns);
    EXPECT_EQ(books.confirm().count, sequence_end / 2);
  }
  EXPECT_FALSE(books.may_restart(true, sequence_end / 2, a_year_ns));
  EXPECT_EQ(books.miss_up_to(at_once, a_year_ns), at_once);
  EXPECT_FALSE(books.miss_up_to(at_once + 1, a_year_ns));
}

}  // namespace
}  // namespace netio::detail
