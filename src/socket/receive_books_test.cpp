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

TEST(ReceiveBooks, count_what_is_left_out_between_connections) {
  ReceiveBooks books;
  const auto lost = books.begin_connection(3, 0);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->first, 0U);
  EXPECT_EQ(lost->count, 3U);
  EXPECT_EQ(books.expected, 3U);
  EXPECT_EQ(books.skipped(), 3U);
  EXPECT_EQ(books.begin_connection(3, 0)->count, 0U);
  EXPECT_FALSE(books.begin_connection(2, 0)) << "goes back";
  EXPECT_EQ(books.expected, 3U);
}

TEST(ReceiveBooks, number_what_was_dropped_and_what_was_left_out) {
  ReceiveBooks books;
  EXPECT_EQ(books.miss_up_to(5, 0), 5U);
  EXPECT_EQ(books.next_number(), 5U);
  const auto lost = books.begin_connection(3, 0);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->first, 5U);
  EXPECT_EQ(books.next_number(), 8U);
  EXPECT_EQ(books.skipped(), 3U) << "those that were dropped never had a position";
  Books sum;
  books.add_to(sum);
  EXPECT_EQ(sum.missed, 8U);
}

// A peer may come with one stream after the other.
TEST(ReceiveBooks, believe_new_streams_no_more_than_one) {
  ReceiveBooks books;
  books.look_from(0);
  ASSERT_TRUE(books.begin_connection(in_a_second, one_second_ns));
  books.begin_stream();
  EXPECT_EQ(books.expected, 0U);
  EXPECT_EQ(books.skipped(), 0U);
  EXPECT_EQ(books.begin_connection(0, one_second_ns)->count, 0U);
  EXPECT_FALSE(books.begin_connection(in_a_second, one_second_ns));
  EXPECT_EQ(books.expected, 0U) << "a lie changes nothing";
  EXPECT_TRUE(books.begin_connection(at_once, one_second_ns));
  Books sum;
  books.add_to(sum);
  EXPECT_EQ(sum.missed, in_a_second + at_once);
}

// The drops that a stream before said are no part of the next one's numbers.
TEST(ReceiveBooks, count_drops_of_a_new_stream_from_nothing) {
  ReceiveBooks books;
  EXPECT_EQ(books.miss_up_to(5, 0), 5U);
  books.begin_stream();
  EXPECT_EQ(books.next_number(), 0U);
  EXPECT_EQ(books.miss_up_to(3, 0), 3U);
  EXPECT_EQ(books.next_number(), 3U);
}

// The time that passed before this side looked for the peer is not the peer's.
TEST(ReceiveBooks, believe_a_peer_that_is_new_from_now_on) {
  ReceiveBooks books;
  books.look_from(one_second_ns);
  EXPECT_FALSE(books.begin_connection(at_once + 1, one_second_ns));
  EXPECT_FALSE(books.begin_connection(in_a_second + at_once + 1, 2 * one_second_ns));
  EXPECT_TRUE(books.begin_connection(in_a_second + at_once, 2 * one_second_ns));
}

TEST(ReceiveBooks, believe_no_more_than_there_are_positions_after_any_time) {
  constexpr std::int64_t a_year_ns = std::int64_t{365} * 86'400 * one_second_ns;
  ReceiveBooks books;
  books.look_from(0);
  EXPECT_FALSE(books.begin_connection(sequence_end, a_year_ns));
  for (int stream = 0; stream < 2; ++stream) {
    EXPECT_EQ(books.begin_connection(sequence_end / 2, a_year_ns)->count, sequence_end / 2);
    books.begin_stream();
  }
  EXPECT_FALSE(books.begin_connection(sequence_end / 2, a_year_ns));
  EXPECT_EQ(books.miss_up_to(at_once, a_year_ns), at_once);
  EXPECT_FALSE(books.miss_up_to(at_once + 1, a_year_ns));
}

// A reader in another thread says late what it has taken.
TEST(ReceiveBooks, acknowledge_what_was_taken_on_the_connection_at_hand) {
  ReceiveBooks books;
  ASSERT_TRUE(books.begin_connection(0, 0));
  books.expected = 10;
  const ReceiveBooks::Place all = books.place();
  const ReceiveBooks::Place half{all.connection, 5};
  books.acknowledge(half);
  EXPECT_EQ(books.acknowledged, 5U);
  books.acknowledge({all.connection, 3});
  EXPECT_EQ(books.acknowledged, 5U) << "it does not go back";
  books.acknowledge({all.connection, 11});
  EXPECT_EQ(books.acknowledged, 5U) << "nor beyond what was received";
  ASSERT_TRUE(books.begin_connection(12, 0));
  EXPECT_EQ(books.acknowledged, 12U) << "what came before was settled with the peer";
  books.expected = 20;
  books.acknowledge(all);
  EXPECT_EQ(books.acknowledged, 12U);
  books.begin_stream();
  books.acknowledge({books.place().connection - 1, 20});
  EXPECT_EQ(books.acknowledged, 0U);
}

}  // namespace
}  // namespace netio::detail
