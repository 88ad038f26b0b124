// Tally: finds each way a message can be wrong.
#include "worker/tally.hpp"

#include <gtest/gtest.h>

namespace netio::bench {
namespace {

using Message = std::vector<std::byte>;

Message next(Stamp& stamp, std::size_t bytes = 64) {
  Message message(bytes);
  stamp.write(message);
  stamp.advance();
  return message;
}

TEST(Tally, counts_what_is_in_order) {
  Tally tally(2, 64, true);
  Stamp first(0, true);
  Stamp second(1, true);
  for (int i = 0; i < 10; ++i) {
    tally.take(next(first));
    tally.take(next(second));
  }
  EXPECT_EQ(tally.messages(), 20U);
  EXPECT_EQ(tally.faults(), 0U);
}

TEST(Tally, large_messages_say_when_they_came) {
  const std::int64_t before = now_ns();
  Tally large(1, large_bytes_min, false);
  EXPECT_EQ(large.last_ns(), 0);
  Stamp stamp(0, false);
  large.take(next(stamp, large_bytes_min));
  EXPECT_GE(large.last_ns(), before);
  EXPECT_LE(large.last_ns(), now_ns());

  Tally small(1, 64, false);
  Stamp other(0, false);
  small.take(next(other));
  EXPECT_EQ(small.messages(), 1U);
  EXPECT_EQ(small.last_ns(), 0) << "a message of 64 bytes pays for no clock";
}

TEST(Tally, finds_an_untouched_message_of_a_wrong_size) {
  Tally tally(1, 64, false);
  tally.take_untouched(64);
  tally.take_untouched(65);
  EXPECT_EQ(tally.messages(), 1U);
  EXPECT_EQ(tally.faults(), 1U);
}

TEST(Tally, finds_a_message_that_is_missing_or_comes_twice) {
  Tally tally(1, 64, false);
  Stamp stamp(0, false);
  const Message first = next(stamp);
  (void)next(stamp);
  tally.take(first);
  tally.take(next(stamp));
  EXPECT_EQ(tally.faults(), 1U);
  Tally again(1, 64, false);
  again.take(first);
  again.take(first);
  EXPECT_EQ(again.faults(), 1U);
}

TEST(Tally, counts_what_is_said_to_be_missing) {
  Tally tally(1, 64, false);
  Stamp stamp(0, false);
  tally.take(next(stamp));
  for (int i = 0; i < 3; ++i) stamp.advance();
  tally.miss(1, 3);
  tally.take(next(stamp));
  EXPECT_EQ(tally.faults(), 0U);
  EXPECT_EQ(tally.missed(), 3U);
  tally.miss(6, 1);  // number 5 has not come
  EXPECT_EQ(tally.faults(), 1U);
}

TEST(Tally, counts_gaps_that_are_allowed_but_no_way_back) {
  Tally tally(1, 64, false);
  tally.allow_gaps();
  Stamp stamp(0, false);
  const Message first = next(stamp);
  (void)next(stamp);
  (void)next(stamp);
  tally.take(first);
  tally.take(next(stamp));
  tally.take(next(stamp));
  EXPECT_EQ(tally.faults(), 0U);
  EXPECT_EQ(tally.missed(), 2U);
  EXPECT_EQ(tally.messages(), 3U);
  tally.take(first);
  EXPECT_EQ(tally.faults(), 1U);
}

TEST(Tally, finds_a_wrong_size_connection_or_byte) {
  Tally tally(1, 64, true);
  Stamp stamp(0, true);
  tally.take(next(stamp, 32));
  EXPECT_EQ(tally.faults(), 1U);
  Stamp stranger(5, true);
  tally.take(next(stranger));
  EXPECT_EQ(tally.faults(), 2U);
  Tally fresh(1, 64, true);
  Stamp clean(0, true);
  Message message = next(clean);
  message.back() ^= std::byte{1};
  fresh.take(message);
  EXPECT_EQ(fresh.faults(), 1U);
}

}  // namespace
}  // namespace netio::bench
