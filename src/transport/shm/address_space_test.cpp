// Which peers find address space when others have taken as much as they get.
#include "transport/shm/address_space.hpp"

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20U;
constexpr std::size_t gibi = std::size_t{1} << 30U;
constexpr std::size_t default_arena_bytes = 4 * gibi + 34 * mebi;

// One peer after the other takes `bytes`, for as long as it gets them. Returns how many did.
std::size_t take_all(std::size_t bytes, std::size_t& taken) {
  std::size_t count = 0;
  for (; bytes <= PeerAddressSpace::most(bytes, taken); ++count) taken += bytes;
  return count;
}

TEST(AddressSpace, is_left_for_arenas_of_ordinary_size_whatever_larger_ones_take) {
  std::size_t taken = 0;
  std::size_t greedy = 0;
  for (std::size_t bytes = PeerAddressSpace::bytes_max;
       bytes > PeerAddressSpace::ordinary_bytes_max; bytes -= bytes / 64) {
    greedy += take_all(bytes, taken);
  }
  EXPECT_GT(greedy, 20U);
  EXPECT_GE(take_all(default_arena_bytes, taken), 4096U);
  EXPECT_LE(taken, PeerAddressSpace::bytes_max);
}

TEST(AddressSpace, is_all_for_arenas_of_ordinary_size_if_there_are_no_larger_ones) {
  std::size_t taken = 0;
  EXPECT_EQ(take_all(PeerAddressSpace::ordinary_bytes_max, taken),
            PeerAddressSpace::bytes_max / PeerAddressSpace::ordinary_bytes_max);
  EXPECT_EQ(taken, PeerAddressSpace::bytes_max);
  EXPECT_EQ(take_all(2 * PeerAddressSpace::ordinary_bytes_max, taken), 0U);
}

}  // namespace
}  // namespace netio::detail
