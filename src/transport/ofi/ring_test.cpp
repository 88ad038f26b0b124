// The numbers of the ring, without a device: the words, and which slots of the peer's are free.
#ifdef NETIO_WITH_FABRIC

#include "wire/ring.hpp"

#include <set>

#include <gtest/gtest.h>

#include "transport/ofi/ring_engine.hpp"

namespace netio::detail {
namespace {

TEST(RingWord, says_what_it_was_made_of) {
  for (const std::uint32_t index : {0U, 1U, 1023U, 2047U}) {
    for (const std::size_t bytes : {8U, 4096U, 69'632U, 4'194'304U}) {
      const RingWord page(RingWord::page(index, bytes).word());
      EXPECT_FALSE(page.is_notice());
      EXPECT_EQ(page.index(), index);
      EXPECT_EQ(page.bytes(), bytes);
    }
    for (const std::uint32_t slots : {0U, 1U, 12U}) {
      const RingWord notice(RingWord::notice(index, slots).word());
      EXPECT_TRUE(notice.is_notice());
      EXPECT_EQ(notice.index(), index);
      EXPECT_EQ(notice.slots_told(), slots);
    }
  }
}

// Its header says how long it is.
TEST(RingWord, of_a_page_that_is_too_long_for_it_says_one_page) {
  const RingWord page = RingWord::page(7, std::size_t{512} << 20U);
  EXPECT_FALSE(page.is_notice());
  EXPECT_EQ(page.index(), 7U);
  EXPECT_EQ(page.bytes(), 0U);
}

WireRing ring_of(std::uint32_t slots) {
  WireRing ring;
  ring.address = 1000;
  ring.key = 7;
  ring.notices_address = 50;
  ring.notices_key = 9;
  ring.slots = slots;
  ring.slot_bytes = 4096;
  ring.notices = 16;
  return ring;
}

TEST(PeerRing, gives_each_slot_once_until_it_is_returned) {
  PeerRing ring(ring_of(4));
  std::set<std::uint32_t> used;
  while (ring.has_slot()) {
    used.insert(ring.next());
    ring.use_next();
  }
  EXPECT_EQ(used, (std::set<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_TRUE(ring.returned(2));
  EXPECT_TRUE(ring.has_slot());
  EXPECT_EQ(ring.next(), 2U);
  EXPECT_FALSE(ring.returned(2)) << "twice";
  EXPECT_FALSE(ring.returned(4)) << "there is none";
  EXPECT_TRUE(ring.returned(0));
}

TEST(PeerRing, knows_where_its_slots_and_notices_lie) {
  const PeerRing ring(ring_of(4));
  EXPECT_EQ(ring.slot(0).address, 1000U);
  EXPECT_EQ(ring.slot(3).address, 1000U + 3 * 4096);
  EXPECT_EQ(ring.slot(3).key, 7U);
  EXPECT_EQ(ring.notice(2).address, 50U + 128);
  EXPECT_EQ(ring.notice(2).key, 9U);
}

}  // namespace
}  // namespace netio::detail

#endif
