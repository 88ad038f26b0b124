// Whom the messages of a queue were from, once they are taken out of it.
#include "blocking/reader_books.hpp"

#include <map>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

// Where each peer is, as far as the reader has got.
class Reader {
 public:
  explicit Reader(std::size_t runs_max) : books(runs_max) {}
  void take(std::uint64_t taken) {
    books.take(taken, [this](const BatchPlace& place) {
      std::uint64_t& position = at[{place.peer, place.connection}];
      position = std::max(position, place.position);
    });
  }
  [[nodiscard]] std::uint64_t of(std::uint64_t peer, std::uint64_t connection = 1) {
    return at[{peer, connection}];
  }

  ReaderBooks books;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> at;
};

TEST(ReaderBooks, know_how_far_the_reader_is_inside_a_page) {
  Reader reader(4);
  reader.books.put(10, {1, 1, 110});
  reader.take(3);
  EXPECT_EQ(reader.of(1), 103U);
  reader.books.put(10, {1, 1, 120});
  reader.take(15);
  EXPECT_EQ(reader.of(1), 115U);
  EXPECT_FALSE(reader.books.empty());
  reader.take(20);
  EXPECT_EQ(reader.of(1), 120U);
  EXPECT_TRUE(reader.books.empty());
}

TEST(ReaderBooks, tell_peers_and_connections_apart) {
  Reader reader(4);
  reader.books.put(10, {1, 1, 10});
  reader.books.put(10, {2, 1, 10});
  reader.books.put(10, {1, 1, 20});
  reader.books.put(10, {1, 2, 40});
  EXPECT_TRUE(reader.books.full());
  reader.take(14);
  EXPECT_EQ(reader.of(1), 10U);
  EXPECT_EQ(reader.of(2), 4U);
  reader.take(20);
  EXPECT_EQ(reader.of(1), 10U);
  reader.take(31);
  EXPECT_EQ(reader.of(1), 20U);
  EXPECT_EQ(reader.of(1, 2), 31U);
  EXPECT_EQ(reader.of(2), 10U);
  EXPECT_FALSE(reader.books.full());
}

TEST(ReaderBooks, acknowledge_nothing_for_a_peer_that_went) {
  Reader reader(4);
  reader.books.put(2, {1, 1, 2});
  reader.books.put_other();
  reader.books.put(2, {1, 1, 4});
  reader.take(3);
  EXPECT_EQ(reader.of(1), 2U);
  reader.take(4);
  EXPECT_EQ(reader.of(1), 3U);
  reader.take(5);
  EXPECT_EQ(reader.of(1), 4U);
}

TEST(ReaderBooks, have_room_again_for_every_run_that_was_taken) {
  Reader reader(2);
  std::uint64_t put = 0;
  for (std::uint64_t round = 0; round < 10; ++round) {
    reader.books.put(1, {1, 1, round + 1});
    reader.books.put(1, {2, 1, round + 1});
    put += 2;
    EXPECT_TRUE(reader.books.full());
    reader.take(put);
    EXPECT_TRUE(reader.books.empty());
    EXPECT_EQ(reader.of(2), round + 1);
  }
}

}  // namespace
}  // namespace netio::detail
