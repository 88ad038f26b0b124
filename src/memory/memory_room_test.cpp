// MemoryRoom: what a control group leaves, and what of it was granted and not used so far.
#include "memory/memory_room.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "memory/mapping.hpp"
#include "support/fake_groups.hpp"

namespace netio::detail {
namespace {

using test::FakeGroups;
using test::mib;

TEST(MemoryRoom, has_what_the_group_leaves_beside_a_little_for_the_kernel) {
  const FakeGroups group(64 * mib);
  MemoryRoom room{ControlGroup(group.root())};
  EXPECT_TRUE(room.limited());
  EXPECT_TRUE(room.fits(62 * mib));
  EXPECT_FALSE(room.fits(64 * mib));
  group.use(40 * mib);
  EXPECT_TRUE(room.fits(22 * mib));
  EXPECT_FALSE(room.fits(24 * mib));
  group.use(64 * mib);
  EXPECT_FALSE(room.fits(0));
  group.limit(128 * mib);
  EXPECT_TRUE(room.fits(32 * mib)) << "a limit may change";
}

TEST(MemoryRoom, is_endless_without_a_limit) {
  const FakeGroups group;
  MemoryRoom room{ControlGroup(group.root())};
  EXPECT_FALSE(room.limited());
  EXPECT_TRUE(room.fits(SIZE_MAX / 2));
}

TEST(MemoryRoom, finds_a_limit_that_is_set_later) {
  const FakeGroups group(64 * mib);
  group.write("/cg/g/memory.max", "max\n");
  MemoryRoom room{ControlGroup(group.root())};
  EXPECT_TRUE(room.fits(100 * mib));
  group.limit(64 * mib);
  int asks = 0;
  while (room.fits(100 * mib) && asks < 1000) ++asks;
  EXPECT_LT(asks, 100);
  EXPECT_TRUE(room.limited());
}

TEST(MemoryRoom, counts_what_was_promised_until_it_is_used) {
  const FakeGroups group(64 * mib);
  MemoryRoom room{ControlGroup(group.root())};
  const Mapping memory(40 * mib, Mapping::Fill::lazy);
  {
    const PromisedMemory promise(memory.bytes());
    EXPECT_EQ(PromisedMemory::bytes_untouched(), 40 * mib);
    EXPECT_TRUE(room.fits(20 * mib));
    EXPECT_FALSE(room.fits(30 * mib));
    std::memset(memory.bytes().data(), 1, 32 * mib);
    EXPECT_EQ(PromisedMemory::bytes_untouched(), 8 * mib);
    group.use(32 * mib);  // what a group would count now
    EXPECT_TRUE(room.fits(20 * mib));
    EXPECT_FALSE(room.fits(30 * mib));
  }
  EXPECT_EQ(PromisedMemory::bytes_untouched(), 0U);
  EXPECT_TRUE(room.fits(30 * mib));
}

TEST(MemoryRoom, more_promises_than_can_be_known_do_no_harm) {
  const Mapping memory(mib, Mapping::Fill::lazy);
  std::vector<std::unique_ptr<PromisedMemory>> promises;
  for (int i = 0; i < 1000; ++i) {
    promises.push_back(std::make_unique<PromisedMemory>(memory.bytes()));
  }
  EXPECT_GT(PromisedMemory::bytes_untouched(), 100 * mib);
  promises.clear();
  EXPECT_EQ(PromisedMemory::bytes_untouched(), 0U);
}

TEST(MemoryRoom, an_error_names_the_group_its_limit_and_what_is_left) {
  const FakeGroups group(64 * mib);
  group.use(60 * mib);
  const std::string text = MemoryRoom(ControlGroup(group.root())).error("do it").what();
  for (const char* part : {"do it", "/g", "64 MiB", "4 MiB", "send_pool_bytes"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(MemoryRoom, tells_everybody_who_waits_once_a_round) {
  struct Counted final : MemoryRoom::Waiter {
    void on_room() noexcept override { ++calls; }
    int calls = 0;
  };
  MemoryRoom room;
  Counted first;
  Counted second;
  room.add(first);
  room.add(second);
  room.retry();
  {
    Counted gone;
    room.add(gone);
  }
  room.retry();
  EXPECT_EQ(first.calls, 2);
  EXPECT_EQ(second.calls, 2);
}

}  // namespace
}  // namespace netio::detail
