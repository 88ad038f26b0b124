// The time that a request has left, in 16 bits: any number of milliseconds, and back.
#include "wire/request.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::uint64_t most_ms = std::uint64_t{0xfff} << 15U;

// Every time up to 2^14 ms, and those around each power of two.
template <typename Look>
void for_many_times(const Look& look) {
  for (std::uint64_t ms = 1; ms < (1U << 14U); ++ms) look(ms);
  for (unsigned bits = 14; bits < 27; ++bits) {
    const std::uint64_t about = std::uint64_t{1} << bits;
    for (std::uint64_t ms = about - 70; ms < about + 70; ++ms) {
      if (ms <= most_ms) look(ms);
    }
  }
  for (std::uint64_t ms = most_ms - 70'000; ms <= most_ms; ++ms) look(ms);
}

TEST(RequestTime, is_exact_as_far_as_12_bits_go) {
  for (std::uint64_t ms = 1; ms <= 0xfff; ++ms) {
    EXPECT_EQ(time_left_field(ms), ms);
    EXPECT_EQ(time_left(time_left_field(ms)), ms);
  }
}

TEST(RequestTime, is_rounded_up_and_by_less_than_a_part_in_2048) {
  for_many_times([](std::uint64_t ms) {
    const std::uint64_t said = time_left(time_left_field(ms));
    ASSERT_GE(said, ms);
    ASSERT_LE(said - ms, ms / 2048) << ms;
  });
}

TEST(RequestTime, does_not_fall_when_there_is_more) {
  std::uint64_t before = 0;
  std::uint64_t before_ms = 0;
  for_many_times([&](std::uint64_t ms) {
    const std::uint64_t said = time_left(time_left_field(ms));
    if (ms > before_ms) {
      ASSERT_GE(said, before) << ms;
    }
    before = said;
    before_ms = ms;
  });
}

TEST(RequestTime, that_is_said_is_said_again_the_same) {
  for_many_times([](std::uint64_t ms) {
    const std::uint16_t field = time_left_field(ms);
    ASSERT_EQ(time_left_field(time_left(field)), field) << ms;
  });
}

TEST(RequestTime, is_never_none_unless_there_is_no_limit) {
  EXPECT_EQ(time_left_field(0), 1);  // its time is over, and there is a limit
  EXPECT_EQ(time_left(0), 0U);
  for_many_times([](std::uint64_t ms) {
    const std::uint16_t field = time_left_field(ms);
    ASSERT_NE(field, 0) << ms;
    ASSERT_NE(time_left(field), 0U) << ms;
    ASSERT_NE(field, withdrawn) << ms;
  });
}

TEST(RequestTime, ends_with_37_hours) {
  EXPECT_EQ(time_left_field(most_ms), 0xffff);
  EXPECT_EQ(time_left(0xffff), most_ms);
  EXPECT_GT(most_ms, 37ULL * 3600 * 1000);
  EXPECT_EQ(time_left_field(most_ms + 1), 0);
  EXPECT_EQ(time_left_field(UINT64_MAX), 0);
}

TEST(RequestLabel, has_the_id_and_the_field) {
  const Label label = request_label(UINT64_MAX - 1, 0xf00d);
  EXPECT_TRUE(is_request(label));
  EXPECT_EQ(label.number, UINT64_MAX - 1);
  EXPECT_EQ(request_field(label), 0xf00d);
  EXPECT_TRUE(is_request(request_label(0, 0)));
  EXPECT_FALSE(is_request(Label(7)));
  EXPECT_FALSE(is_request(Label()));
}

}  // namespace
}  // namespace netio::detail
