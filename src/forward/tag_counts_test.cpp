// Counts of tags, against a count of each tag by itself.
#include "forward/tag_counts.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/environment.hpp"

namespace netio::detail {
namespace {

using Ranges = std::vector<TagRange>;

TEST(TagCounts, a_range_is_gone_with_the_last_that_has_it) {
  TagCounts counts;
  counts.add(Ranges{{10, 20}});
  counts.add(Ranges{{15, 30}});
  EXPECT_EQ(counts.remove(Ranges{{10, 20}}), (Ranges{{10, 14}}));
  EXPECT_EQ(counts.remove(Ranges{{15, 30}}), (Ranges{{15, 30}}));
  EXPECT_EQ(counts.ranges(), 0U);
}

TEST(TagCounts, every_tag_and_the_highest) {
  TagCounts counts;
  counts.add(Ranges{every_tag});
  counts.add(Ranges{{UINT64_MAX, UINT64_MAX}});
  EXPECT_EQ(counts.remove(Ranges{every_tag}), (Ranges{{0, UINT64_MAX - 1}}));
  EXPECT_EQ(counts.remove(Ranges{{UINT64_MAX, UINT64_MAX}}), (Ranges{{UINT64_MAX, UINT64_MAX}}));
  EXPECT_EQ(counts.ranges(), 0U);
}

TEST(TagCounts, random_sets_agree_with_a_count_of_each_tag) {
  const std::uint64_t seed = test::seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::array<int, 64> wanted{};
  TagCounts counts;
  Ranges sets;
  for (int step = 0; step < 2000; ++step) {
    if (sets.empty() || random() % 2 == 0) {
      const std::uint64_t first = random() % wanted.size();
      const std::uint64_t last = first + random() % (wanted.size() - first);
      counts.add(Ranges{{first, last}});
      sets.push_back({first, last});
      for (std::uint64_t tag = first; tag <= last; ++tag) ++wanted[tag];
      continue;
    }
    const std::size_t which = random() % sets.size();
    const TagRange set = sets[which];
    sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(which));
    std::vector<std::uint64_t> expected;
    for (std::uint64_t tag = set.first; tag <= set.last; ++tag) {
      if (--wanted[tag] == 0) expected.push_back(tag);
    }
    std::vector<std::uint64_t> gone;
    for (const TagRange range : counts.remove(Ranges{set})) {
      for (std::uint64_t tag = range.first; tag <= range.last; ++tag) gone.push_back(tag);
    }
    ASSERT_EQ(gone, expected);
  }
}

}  // namespace
}  // namespace netio::detail
