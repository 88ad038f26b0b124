// Which streams are forgotten when there are too many.
#include "socket/stream_records.hpp"

#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

StreamId id_of(std::uint64_t number) {
  StreamId id{};
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}

StreamRecord record_of(std::uint64_t number, std::uint64_t sent) {
  StreamRecord record;
  record.identity.id = id_of(number);
  record.sent.next_sequence = record.sent.expected = record.sent.acknowledged = sent;
  return record;
}

void add(StreamRecords& records, std::uint64_t number, std::uint64_t sent) {
  StreamRecord record = record_of(number, sent);
  records.add(record);
}

TEST(StreamRecords, are_found_and_taken_out_by_their_id) {
  StreamRecords records;
  add(records, 1, 0);
  add(records, 2, 7);
  ASSERT_NE(records.find(id_of(2)), nullptr);
  EXPECT_EQ(records.find(id_of(2))->sent.acknowledged, 7U);
  EXPECT_EQ(records.find(id_of(3)), nullptr);
  EXPECT_EQ(records.take(id_of(2))->sent.acknowledged, 7U);
  EXPECT_FALSE(records.take(id_of(2)));
  EXPECT_EQ(records.find(id_of(2)), nullptr);
  ASSERT_NE(records.find(id_of(1)), nullptr);
}

TEST(StreamRecords, are_taken_out_by_the_id_of_their_peer) {
  StreamRecords records;
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    StreamRecord record = record_of(number, number - 1);
    record.peer_id = 10 * number;
    records.add(record);
  }
  EXPECT_EQ(records.take_of_peer(20)->identity.id, id_of(2));
  EXPECT_FALSE(records.take_of_peer(20));
  EXPECT_EQ(records.take_of_peer(10)->identity.id, id_of(1));
  EXPECT_EQ(records.find(id_of(1)), nullptr);
  ASSERT_NE(records.find(id_of(3)), nullptr);
}

TEST(StreamRecords, are_forgotten_the_oldest_first_and_those_first_on_which_nothing_was_sent) {
  StreamRecords records;
  add(records, 1, 5);
  add(records, 2, 0);
  add(records, 3, 5);
  add(records, 4, 0);
  for (const std::uint64_t number : {2U, 4U, 1U, 3U}) {
    EXPECT_EQ(records.take_least().identity.id, id_of(number));
    EXPECT_EQ(records.find(id_of(number)), nullptr);
  }
}

TEST(StreamRecords, are_full_when_there_are_as_many_as_may_be) {
  StreamRecords records;
  for (std::uint64_t number = 0; number < StreamRecords::most; ++number) {
    EXPECT_FALSE(records.full());
    add(records, number, number % 2);
  }
  EXPECT_TRUE(records.full());
  std::uint64_t sum = 0;
  records.for_each([&sum](const StreamRecord& record) { sum += record.sent.acknowledged; });
  EXPECT_EQ(sum, StreamRecords::most / 2);
  EXPECT_EQ(records.used().size(), StreamRecords::most / 2);
}

}  // namespace
}  // namespace netio::detail
