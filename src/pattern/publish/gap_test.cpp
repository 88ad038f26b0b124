// The drops of a gap are told by reason, in the order in which the reasons came.
#include "pattern/publish/gap.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

using ToldDrops = std::vector<std::pair<std::uint64_t, DropReason>>;

ToldDrops told(Drops drops) {
  ToldDrops parts;
  for (; !drops.empty(); drops.pop_front()) {
    parts.emplace_back(drops.front().messages, drops.front().reason);
  }
  return parts;
}

TEST(Drops, are_summed_up_by_reason_in_the_order_of_the_reasons) {
  Drops drops;
  EXPECT_TRUE(drops.empty());
  for (int i = 0; i < 100; ++i) {
    drops.add({2, DropReason::superseded});
    drops.add({1, DropReason::dropped_new});
  }
  EXPECT_EQ(told(drops),
            (ToldDrops{{200, DropReason::superseded}, {100, DropReason::dropped_new}}));
}

TEST(Drops, of_two_gaps_that_meet_are_those_of_both) {
  Drops first;
  Drops second;
  first.add({1, DropReason::not_sent});
  first.add({2, DropReason::dropped_old});
  second.add({3, DropReason::dropped_new});
  second.add({4, DropReason::not_sent});
  second.add({5, DropReason::superseded});
  first.add(second);
  EXPECT_EQ(told(first), (ToldDrops{{5, DropReason::not_sent},
                                    {2, DropReason::dropped_old},
                                    {3, DropReason::dropped_new},
                                    {5, DropReason::superseded}}));
}

TEST(Drops, go_on_to_be_counted_once_some_were_told) {
  Drops drops;
  drops.add({1, DropReason::dropped_new});
  drops.add({2, DropReason::superseded});
  drops.pop_front();
  drops.add({4, DropReason::dropped_new});
  EXPECT_EQ(told(drops), (ToldDrops{{2, DropReason::superseded}, {4, DropReason::dropped_new}}));
}

}  // namespace
}  // namespace netio::detail
