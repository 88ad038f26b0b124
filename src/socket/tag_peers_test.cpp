// Which peer gets a tag: evenly, the same for all, and no tag moves without need.
#include "socket/tag_peers.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace netio::detail {
namespace {

using Ids = std::vector<std::uint64_t>;  // of the owner of each slot

class TagPeersTable : public testing::Test {
 protected:
  RunId draw_run() {
    RunId run;
    for (auto& byte : run) byte = static_cast<std::uint8_t>(random_());
    return run;
  }
  std::vector<TagPeers::Member> draw_members(std::uint64_t count) {
    std::vector<TagPeers::Member> members;
    for (std::uint64_t id = 1; id <= count; ++id) members.push_back({draw_run(), id});
    return members;
  }
  static std::unique_ptr<TagPeers> table_of(const std::vector<TagPeers::Member>& members) {
    auto table = std::make_unique<TagPeers>();
    for (const TagPeers::Member& member : members) table->join(member);
    return table;
  }
  // A tag of each slot.
  static const std::vector<std::uint64_t>& tags() {
    static const std::vector<std::uint64_t> found = [] {
      std::vector<std::uint64_t> all(TagPeers::slots);
      std::vector<bool> known(TagPeers::slots);
      std::size_t left = TagPeers::slots;
      for (std::uint64_t tag = 0; left != 0; ++tag) {
        const std::size_t slot = TagPeers::slot_of(tag);
        if (known[slot]) continue;
        known[slot] = true;
        all[slot] = tag;
        --left;
      }
      return all;
    }();
    return found;
  }
  static Ids owners(const TagPeers& table) {
    Ids ids;
    for (const std::uint64_t tag : tags()) ids.push_back(table.id_of(tag));
    return ids;
  }
  static std::map<std::uint64_t, std::size_t> counts(const TagPeers& table) {
    std::map<std::uint64_t, std::size_t> count;
    for (const std::uint64_t id : owners(table)) ++count[id];
    return count;
  }

  std::mt19937_64 random_{20'260'726};
};

TEST_F(TagPeersTable, nobody_has_a_tag_while_nobody_is_connected) {
  TagPeers table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.id_of(7), 0U);
  EXPECT_EQ(table.of(7), nullptr);
  table.join({draw_run(), 5});
  EXPECT_EQ(owners(table), Ids(TagPeers::slots, 5));
  table.leave(5);
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(owners(table), Ids(TagPeers::slots, 0));
}

TEST_F(TagPeersTable, tags_in_a_row_are_spread_over_the_slots) {
  for (const std::uint64_t step : {1ULL, 1024ULL, 1ULL << 32U}) {
    std::vector<int> count(TagPeers::slots);
    for (std::uint64_t i = 0; i < 1024 * TagPeers::slots; ++i) ++count[TagPeers::slot_of(i * step)];
    // 1,024 each, with a standard deviation of 32.
    EXPECT_GT(std::ranges::min(count), 1024 - 6 * 32) << step;
    EXPECT_LT(std::ranges::max(count), 1024 + 6 * 32) << step;
  }
}

// 128 slots each, with a standard deviation of 10.6.
TEST_F(TagPeersTable, eight_peers_have_about_the_same_number_of_slots) {
  int within_a_fifth = 0;
  constexpr int draws = 200;
  for (int i = 0; i < draws; ++i) {
    const auto table = table_of(draw_members(8));
    for (const auto& [id, count] : counts(*table)) {
      EXPECT_GT(count, 128U - 53U) << id;
      EXPECT_LT(count, 128U + 53U) << id;
      if (count >= 128U - 25U && count <= 128U + 25U) ++within_a_fifth;
    }
  }
  EXPECT_GT(within_a_fifth, 8 * draws * 95 / 100);
}

TEST_F(TagPeersTable, a_newcomer_takes_its_share_and_moves_nothing_else) {
  const auto table = table_of(draw_members(7));
  const Ids before = owners(*table);
  table->join({draw_run(), 8});
  const Ids after = owners(*table);
  std::size_t moved = 0;
  for (std::size_t slot = 0; slot < TagPeers::slots; ++slot) {
    if (after[slot] == before[slot]) continue;
    EXPECT_EQ(after[slot], 8U);
    ++moved;
  }
  EXPECT_NEAR(static_cast<double>(moved), TagPeers::slots / 8.0, 53);
  table->leave(8);
  EXPECT_EQ(owners(*table), before) << "what it had goes back to whom it was taken from";
}

TEST_F(TagPeersTable, one_that_leaves_gives_its_slots_away_and_moves_nothing_else) {
  const auto members = draw_members(8);
  for (const TagPeers::Member& leaver : members) {
    const auto table = table_of(members);
    const Ids before = owners(*table);
    table->leave(leaver.id);
    const Ids after = owners(*table);
    std::map<std::uint64_t, std::size_t> heirs;
    for (std::size_t slot = 0; slot < TagPeers::slots; ++slot) {
      if (before[slot] == leaver.id) {
        EXPECT_NE(after[slot], leaver.id);
        ++heirs[after[slot]];
      } else {
        EXPECT_EQ(after[slot], before[slot]);
      }
    }
    EXPECT_GE(heirs.size(), 6U) << "they are spread over the others";
    table->join(leaver);
    EXPECT_EQ(owners(*table), before);
  }
}

TEST_F(TagPeersTable, does_not_depend_on_the_order_of_joining_and_leaving) {
  auto members = draw_members(12);
  const Ids expected = owners(*table_of({members.begin(), members.begin() + 6}));
  for (int i = 0; i < 20; ++i) {
    std::shuffle(members.begin(), members.end(), random_);
    const auto table = table_of(members);
    std::vector<TagPeers::Member> leavers;
    std::ranges::copy_if(members, std::back_inserter(leavers),
                         [](const TagPeers::Member& member) { return member.id > 6; });
    for (const TagPeers::Member& leaver : leavers) table->leave(leaver.id);
    EXPECT_EQ(owners(*table), expected);
  }
}

TEST_F(TagPeersTable, of_two_sockets_that_have_given_other_ids_is_the_same) {
  auto members = draw_members(5);
  const Ids here = owners(*table_of(members));
  for (TagPeers::Member& member : members) member.id = 6 - member.id;
  std::ranges::reverse(members);
  const Ids there = owners(*table_of(members));
  for (std::size_t slot = 0; slot < TagPeers::slots; ++slot) EXPECT_EQ(there[slot], 6 - here[slot]);
}

TEST_F(TagPeersTable, two_connections_to_the_same_run_are_told_apart_by_their_ids) {
  const RunId run = draw_run();
  const TagPeers::Member other{draw_run(), 9};
  for (const bool low_first : {true, false}) {
    TagPeers table;
    table.join(other);
    table.join({run, low_first ? 3U : 4U});
    table.join({run, low_first ? 4U : 3U});
    auto count = counts(table);
    EXPECT_EQ(count.count(4), 0U);
    EXPECT_GT(count[3], 0U);
    const std::size_t before = count[3];
    table.leave(3);
    count = counts(table);
    EXPECT_EQ(count[4], before);
  }
}

// Push sockets of other releases must find the same.
TEST_F(TagPeersTable, never_changes) {
  EXPECT_EQ(TagPeers::slot_of(0), 431U);
  EXPECT_EQ(TagPeers::slot_of(1), 193U);
  EXPECT_EQ(TagPeers::slot_of(UINT64_MAX), 32U);
  RunId run;
  for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::uint8_t>(i + 1);
  EXPECT_EQ(TagPeers::weight(0, run), 0x40d503f6ec55321eU);
  EXPECT_EQ(TagPeers::weight(1023, run), 0xa89b349b4fe79d9bU);
}

}  // namespace
}  // namespace netio::detail
