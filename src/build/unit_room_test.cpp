// When a unit whose store was full goes on: which fragment has to fit, and what builders hear of
// it.
#include <optional>

#include <gtest/gtest.h>

#include "support/allocation_counter.hpp"
#include "support/unit_protocol_fixture.hpp"

namespace netio::detail {
namespace {

class UnitProtocolRoom : public UnitProtocolTest {
 protected:
  void SetUp() override {
    settings.store_bytes_max = 1700;
    small.emplace(settings, *this);
    small->advance({0, 0});
    for (const std::uint32_t builder : {0U, 1U}) {
      small->connected(builder);
      small->received(builder, BuilderHello{plan_of_two, builder, 8, {}, {}, 10'000, false});
    }
  }
  // A fragment of the next event. One of 36 bytes takes 100 bytes of the store.
  Status offer(std::uint64_t bytes = 36) {
    const Status answer = small->send({0, next}, bytes, next, FragmentStatus::good);
    if (answer == Status::ok) ++next;
    return answer;
  }
  void settle(std::uint32_t builder, std::uint64_t below) {
    small->received(builder, BuilderDone{{0, below}, 0});
  }

  // As all builders were told.
  [[nodiscard]] bool is_busy() const {
    EXPECT_EQ(busy[0], busy[1]);
    return busy[0];
  }

  std::optional<UnitProtocol> small;
  std::uint64_t next = 0;
};

// All but one fragment are the other builder's.
TEST_F(UnitProtocolRoom, has_room_once_when_a_builder_has_settled_all_that_was_held_for_it) {
  next = 3;
  while (offer() == Status::ok) next += next % 8 == 0 ? 4 : 0;
  ASSERT_EQ(small->books().held, 17U);
  settle(0, 4);
  EXPECT_EQ(rooms, 1);
  ASSERT_EQ(offer(), Status::ok);
  ASSERT_EQ(offer(), Status::again);
  settle(1, 5);
  EXPECT_EQ(rooms, 1) << "the other one is not emptied, and this one was not given anything since";
  settle(1, 6);
  EXPECT_EQ(rooms, 1);
  settle(1, 7);
  EXPECT_EQ(rooms, 2) << "an eighth is free";
}

TEST_F(UnitProtocolRoom, has_room_when_what_is_for_a_builder_that_has_nothing_fits) {
  next = 4;
  while (offer() == Status::ok) next += next % 8 == 0 ? 4 : 0;  // all are the second builder's
  next = 64;
  ASSERT_EQ(offer(), Status::again);
  settle(1, 5);
  EXPECT_EQ(rooms, 1);
  ASSERT_EQ(offer(), Status::ok);
  ASSERT_EQ(offer(), Status::again);
  settle(1, 6);
  EXPECT_EQ(rooms, 1) << "the builder has something";
}

// So that a source that says nothing more is late.
TEST_F(UnitProtocolRoom, is_busy_until_it_has_room) {
  while (offer() == Status::ok) next += next % 8 == 4 ? 4 : 0;
  EXPECT_TRUE(is_busy());
  settle(0, 1);
  EXPECT_EQ(rooms, 0);
  EXPECT_TRUE(is_busy());
  settle(0, 8);
  EXPECT_EQ(rooms, 1);
  EXPECT_FALSE(is_busy());
}

TEST_F(UnitProtocolRoom, has_room_when_what_was_refused_fits) {
  next = 3;
  while (offer() == Status::ok) next += next % 8 == 0 ? 4 : 0;
  ASSERT_EQ(offer(136), Status::again);
  settle(0, 4);
  EXPECT_EQ(rooms, 0) << "the builder is emptied, and it does not fit";
  settle(1, 5);
  EXPECT_EQ(rooms, 1);
  ASSERT_EQ(offer(336), Status::again);
  settle(1, 6);
  EXPECT_EQ(rooms, 1) << "an eighth is free, and it does not fit";
  EXPECT_TRUE(is_busy());
  settle(1, 7);
  EXPECT_EQ(rooms, 2);
  EXPECT_FALSE(is_busy());
}

TEST_F(UnitProtocolRoom, goes_on_asking_until_what_was_refused_fits) {
  while (offer() == Status::ok) next += next % 8 == 4 ? 4 : 0;  // all are the first builder's
  ASSERT_EQ(offer(1336), Status::again);
  std::size_t asked = count<UnitShort>();
  for (std::uint64_t below = 1; rooms == 0; ++below) {
    ASSERT_LT(below, next);
    settle(0, below);
    if (rooms == 0) {
      ASSERT_EQ(count<UnitShort>(), ++asked) << "within a range it is told only if it asks";
    }
  }
  EXPECT_EQ(small->books().held, 3U);
  EXPECT_EQ(offer(1336), Status::ok);
}

// It was too large, and the source has sent a truncated one in its place.
TEST_F(UnitProtocolRoom, is_not_busy_for_what_the_source_has_given_up) {
  while (offer() == Status::ok) next += next % 8 == 4 ? 4 : 0;
  ASSERT_EQ(offer(1336), Status::again);
  settle(0, 2);
  ASSERT_EQ(offer(), Status::ok);
  EXPECT_FALSE(is_busy());
  while (offer() == Status::ok) next += next % 8 == 4 ? 4 : 0;
  ASSERT_EQ(offer(1336), Status::again);
  settle(0, 16);
  ASSERT_EQ(rooms, 0) << "it does not fit";
  ASSERT_TRUE(is_busy());
  small->advance({0, next});
  EXPECT_TRUE(is_busy()) << "it may come yet";
  small->advance({0, next + 1});
  EXPECT_EQ(rooms, 1);
  EXPECT_FALSE(is_busy());
}

// The unit was stopped for too long, or cut off, or the builder was started again.
TEST_F(UnitProtocolRoom, has_room_for_what_was_settled_without_it) {
  next = 4;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(offer(), Status::ok);  // the second builder's
    next += next % 8 == 0 ? 4 : 0;
  }
  next = 24;
  ASSERT_EQ(offer(1336), Status::again);
  EXPECT_EQ(count<UnitShort>(), 1U) << "it holds nothing for this builder, which alone can tell";
  settle(0, 24);
  EXPECT_EQ(rooms, 0);
  EXPECT_EQ(count<UnitShort>(), 2U);
  settle(0, 25);
  EXPECT_EQ(rooms, 1);
  EXPECT_FALSE(is_busy());
  EXPECT_EQ(offer(1336), Status::ok);
  EXPECT_EQ(small->books().late, 1U);
}

TEST_F(UnitProtocolRoom, is_waited_for_too_where_there_is_no_memory_to_drop) {
  settings.when_full = WhenFull::drop;
  SetUp();
  for (std::uint64_t apart = 100; small->books().held < 16; apart += 2) {  // 16 entries
    ASSERT_EQ(small->send({0, next}, 36, apart, FragmentStatus::good), Status::ok);
    next += next % 8 == 3 ? 5 : 1;
  }
  test::fail_allocations(1, 1);
  Status answer = Status::ok;
  {
    const test::Armed armed;
    answer = offer(1336);
  }
  test::fail_allocations(0, 0);
  ASSERT_EQ(answer, Status::again);
  for (std::uint64_t below = 1; rooms == 0; ++below) {
    ASSERT_LT(below, next);
    const std::size_t asked = count<UnitShort>();
    settle(0, below);
    if (rooms == 0) {
      ASSERT_EQ(count<UnitShort>(), asked + 1);
    }
  }
  EXPECT_EQ(offer(1336), Status::ok);
  EXPECT_EQ(small->books().dropped, 0U);
}

}  // namespace
}  // namespace netio::detail
