#include "worker/timeline.hpp"

#include <initializer_list>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

namespace netio::bench {
namespace {

using At = std::pair<Point, std::int64_t>;

PointTimes times(std::initializer_list<At> points) {
  PointTimes all{};
  for (const auto& [point, ns] : points) all[static_cast<std::size_t>(point)] = ns;
  return all;
}

std::int64_t of(const PartTimes& parts, Part part) { return parts[static_cast<std::size_t>(part)]; }

std::int64_t sum(const PartTimes& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

// A sender that is done with its system call before the receiver, which sleeps, has woken up.
PointTimes sender() {
  return times({{Point::begin, 1000},
                {Point::send, 1010},
                {Point::post, 1030},
                {Point::write, 1060},
                {Point::written, 1100}});
}
PointTimes sleeper() {
  return times({{Point::look, 300},
                {Point::asleep, 500},
                {Point::looked, 1500},
                {Point::read, 1507},
                {Point::was_read, 1520},
                {Point::call, 1531},
                {Point::end, 1550}});
}

TEST(Timeline, each_moment_of_a_message_belongs_to_one_part) {
  const auto trip = one_way(sender(), sleeper(), 0);
  ASSERT_TRUE(trip);
  EXPECT_EQ(of(trip->there, Part::elsewhere), 10);
  EXPECT_EQ(of(trip->there, Part::encode), 20);
  EXPECT_EQ(of(trip->there, Part::gather), 0);
  EXPECT_EQ(of(trip->there, Part::post), 30);
  EXPECT_EQ(of(trip->there, Part::write), 40);
  EXPECT_EQ(of(trip->there, Part::wake_up), 400);
  EXPECT_EQ(of(trip->there, Part::poll), 7);
  EXPECT_EQ(of(trip->there, Part::read), 13);
  EXPECT_EQ(of(trip->there, Part::decode), 11);
  EXPECT_EQ(of(trip->there, Part::call_back), 19);
  EXPECT_EQ(sum(trip->there), 550);
  EXPECT_EQ(trip->stamps_ns, 0);
}

TEST(Timeline, what_taking_the_time_costs_is_taken_off_each_part) {
  const auto trip = one_way(sender(), sleeper(), 10);
  ASSERT_TRUE(trip);
  EXPECT_EQ(of(trip->there, Part::wake_up), 390);
  EXPECT_EQ(of(trip->there, Part::poll), 0);  // it is no longer than that
  EXPECT_EQ(sum(trip->there) + trip->stamps_ns, 550);
}

TEST(Timeline, a_message_waits_in_the_open_page_of_a_buffered_socket) {
  PointTimes buffered = sender();
  buffered[static_cast<std::size_t>(Point::sent)] = 1015;
  const auto trip = one_way(buffered, sleeper(), 0);
  ASSERT_TRUE(trip);
  EXPECT_EQ(of(trip->there, Part::encode), 5);
  EXPECT_EQ(of(trip->there, Part::gather), 15);
}

TEST(Timeline, from_the_moment_when_the_receiver_notices_time_is_the_receivers) {
  PointTimes slow = sender();
  slow[static_cast<std::size_t>(Point::written)] = 5000;
  const auto trip = one_way(slow, sleeper(), 0);
  ASSERT_TRUE(trip);
  EXPECT_EQ(of(trip->there, Part::write), 440);
  EXPECT_EQ(of(trip->there, Part::wake_up), 0);
  EXPECT_EQ(sum(trip->there), 550);
}

TEST(Timeline, a_receiver_that_reads_already_notices_what_is_written) {
  PointTimes reads = sleeper();
  reads[static_cast<std::size_t>(Point::looked)] = 600;
  reads[static_cast<std::size_t>(Point::read)] = 1050;
  const auto trip = one_way(sender(), reads, 0);
  ASSERT_TRUE(trip);
  EXPECT_EQ(of(trip->there, Part::write), 40);
  EXPECT_EQ(of(trip->there, Part::wire), 0);
  EXPECT_EQ(of(trip->there, Part::read), 420);
  EXPECT_EQ(sum(trip->there), 550);
}

TEST(Timeline, a_receiver_that_polls_waits_for_the_wire_and_for_no_bell) {
  PointTimes bell = sender();
  bell[static_cast<std::size_t>(Point::rung)] = 1130;
  PointTimes polls = sleeper();
  polls[static_cast<std::size_t>(Point::looked)] = 600;  // before the message was written
  polls[static_cast<std::size_t>(Point::asleep)] = 0;
  const auto trip = one_way(bell, polls, 0);
  ASSERT_TRUE(trip);
  EXPECT_EQ(of(trip->there, Part::wire), 407);
  EXPECT_EQ(of(trip->there, Part::doorbell), 0);
  EXPECT_EQ(of(trip->there, Part::wake_up), 0);
  const auto rung = one_way(bell, sleeper(), 0);
  ASSERT_TRUE(rung);
  EXPECT_EQ(of(rung->there, Part::doorbell), 30);
  EXPECT_EQ(of(rung->there, Part::wake_up), 370);
}

TEST(Timeline, a_receiver_that_asks_the_epoll_without_sleeping_is_not_woken) {
  PointTimes busy = sleeper();
  busy[static_cast<std::size_t>(Point::look)] = 1480;
  const auto trip = one_way(sender(), busy, 0);
  ASSERT_TRUE(trip);
  EXPECT_EQ(of(trip->there, Part::wake_up), 0);
  EXPECT_EQ(of(trip->there, Part::descriptors), 20);
  EXPECT_EQ(of(trip->there, Part::poll), 380 + 7);
}

TEST(Timeline, a_round_trip_goes_there_and_back) {
  PointTimes asks = sender();
  const PointTimes answers = times({{Point::asleep, 500},
                                    {Point::looked, 1500},
                                    {Point::read, 1507},
                                    {Point::was_read, 1520},
                                    {Point::call, 1531},
                                    {Point::send, 1600},
                                    {Point::post, 1610},
                                    {Point::write, 1620},
                                    {Point::written, 1700}});
  for (const At& at : {At{Point::asleep, 1110},
                       {Point::looked, 1900},
                       {Point::read, 1910},
                       {Point::was_read, 1930},
                       {Point::call, 1940},
                       {Point::end, 1945}}) {
    asks[static_cast<std::size_t>(at.first)] = at.second;
  }
  const auto trip = round_trip(asks, answers, 0);
  ASSERT_TRUE(trip);
  EXPECT_EQ(of(trip->there, Part::call_back), 69);
  EXPECT_EQ(of(trip->back, Part::write), 80);
  EXPECT_EQ(of(trip->back, Part::wake_up), 200);
  EXPECT_EQ(of(trip->back, Part::call_back), 5);
  EXPECT_EQ(sum(trip->there) + sum(trip->back), 945);
}

TEST(Timeline, a_message_that_lacks_a_point_has_no_parts) {
  for (const Point point : {Point::begin, Point::send, Point::post, Point::write, Point::written}) {
    PointTimes lacks = sender();
    lacks[static_cast<std::size_t>(point)] = 0;
    EXPECT_FALSE(one_way(lacks, sleeper(), 0)) << static_cast<unsigned>(point);
  }
  for (const Point point : {Point::read, Point::was_read, Point::call, Point::end}) {
    PointTimes lacks = sleeper();
    lacks[static_cast<std::size_t>(point)] = 0;
    EXPECT_FALSE(one_way(sender(), lacks, 0)) << static_cast<unsigned>(point);
  }
}

TEST(Timeline, parts_are_found_by_their_names) {
  EXPECT_EQ(find_part("wake-up"), Part::wake_up);
  EXPECT_EQ(find_part("elsewhere"), Part::elsewhere);
  EXPECT_FALSE(find_part("nothing"));
}

}  // namespace
}  // namespace netio::bench
