// TagSet against a set of single tags, at both ends of all tags, where a step further wraps.
#include "base/tag_set.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/environment.hpp"

namespace netio::detail {
namespace {

constexpr std::uint64_t top = every_tag.last;

using Ranges = std::vector<TagRange>;

Ranges ranges_of(const TagSet& set) { return {set.ranges().begin(), set.ranges().end()}; }
TagSet set_of(const Ranges& ranges) { return TagSet(ranges); }

TEST(TagSet, overlaps_and_neighbours_become_one_range) {
  EXPECT_EQ(ranges_of(set_of({{5, 6}, {1, 2}, {3, 3}, {6, 9}, {11, 12}})),
            (Ranges{{1, 3}, {5, 9}, {11, 12}}));
}

TEST(TagSet, a_tag_taken_out_of_a_range_leaves_two) {
  TagSet set = set_of({{10, 20}});
  set.remove(Ranges{{15, 15}});
  EXPECT_EQ(ranges_of(set), (Ranges{{10, 14}, {16, 20}}));
  set.add(Ranges{{15, 15}});
  EXPECT_EQ(ranges_of(set), (Ranges{{10, 20}}));
}

TEST(TagSet, of_all_tags_is_one_range_however_it_came_about) {
  TagSet set = set_of({{1, top - 1}});
  set.add(Ranges{{0, 0}});
  set.add(Ranges{{top, top}});
  EXPECT_EQ(ranges_of(set), Ranges{every_tag});
  EXPECT_EQ(ranges_of(set_of({{top, top}, {0, 0}, {1, top - 1}})), Ranges{every_tag});
  set.remove(Ranges{{0, 0}, {top, top}});
  EXPECT_EQ(ranges_of(set), (Ranges{{1, top - 1}}));
  set.remove(Ranges{every_tag});
  EXPECT_TRUE(set.empty());
}

TEST(TagSet, the_first_and_the_last_tag_are_no_neighbours) {
  TagSet set = set_of({{0, 0}});
  set.add(Ranges{{top, top}});
  EXPECT_EQ(ranges_of(set), (Ranges{{0, 0}, {top, top}}));
  EXPECT_EQ(ranges_of(set_of({{top, top}, {0, 0}})), (Ranges{{0, 0}, {top, top}}));
}

TEST(TagSet, tags_are_counted_up_to_a_limit_that_no_sum_passes) {
  EXPECT_EQ(TagSet().tags_up_to(10), 0U);
  EXPECT_EQ(set_of({{1, 3}, {7, 7}}).tags_up_to(10), 4U);
  EXPECT_EQ(set_of({{1, 3}, {7, 7}}).tags_up_to(4), 4U);
  EXPECT_EQ(set_of({{1, 3}, {7, 7}}).tags_up_to(2), 2U);
  EXPECT_EQ(set_of({{1, 3}, {7, 7}}).tags_up_to(0), 0U);
  EXPECT_EQ(set_of({every_tag}).tags_up_to(top), top);
  EXPECT_EQ(set_of({{0, top - 1}}).tags_up_to(top), top);
  EXPECT_EQ(set_of({{0, top - 2}, {top, top}}).tags_up_to(top), top);
  EXPECT_EQ(set_of({{1, top - 2}, {top, top}}).tags_up_to(top), top - 1);
}

TEST(TagSet, difference_is_what_the_first_has_alone) {
  const TagSet some = set_of({{0, 3}, {10, 20}, {30, 30}, {top - 5, top}});
  const TagSet others = set_of({{2, 12}, {14, 15}, {20, 29}, {top, top}});
  EXPECT_EQ(ranges_of(difference(some, others)),
            (Ranges{{0, 1}, {13, 13}, {16, 19}, {30, 30}, {top - 5, top - 1}}));
  EXPECT_EQ(difference(some, TagSet()), some);
  EXPECT_EQ(difference(TagSet(), some), TagSet());
  EXPECT_EQ(difference(some, some), TagSet());
  EXPECT_EQ(difference(some, set_of({every_tag})), TagSet());
  // One range of the second within several of the first, and the other way round.
  EXPECT_EQ(ranges_of(difference(set_of({every_tag}), some)),
            (Ranges{{4, 9}, {21, 29}, {31, top - 6}}));
}

// The lowest and the highest tags one by one; all between them are one atom, as no range here
// begins or ends there.
constexpr std::uint64_t window = 12;
constexpr std::uint64_t atoms = 2 * window + 1;

std::uint64_t first_of(std::uint64_t atom) {
  return atom <= window ? atom : top - (atoms - 1 - atom);
}
std::uint64_t last_of(std::uint64_t atom) {
  return atom == window ? first_of(atom + 1) - 1 : first_of(atom);
}

class Model {
 public:
  void change(std::uint64_t first, std::uint64_t last, bool add) {
    for (std::uint64_t atom = first; atom <= last; ++atom) {
      if (add) {
        held_.insert(atom);
      } else {
        held_.erase(atom);
      }
    }
  }
  [[nodiscard]] bool has(std::uint64_t atom) const { return held_.count(atom) != 0; }
  [[nodiscard]] Ranges ranges() const {
    Ranges ranges;
    for (std::uint64_t atom = 0; atom < atoms; ++atom) {
      if (!has(atom)) continue;
      if (atom == 0 || !has(atom - 1)) ranges.push_back({first_of(atom), 0});
      ranges.back().last = last_of(atom);
    }
    return ranges;
  }
  [[nodiscard]] Model without(const Model& other) const {
    Model rest = *this;
    for (const std::uint64_t atom : other.held_) rest.held_.erase(atom);
    return rest;
  }

 private:
  std::set<std::uint64_t> held_;
};

struct Pair {
  TagSet set;
  Model model;
};

void expect_same(const Pair& pair) {
  EXPECT_EQ(ranges_of(pair.set), pair.model.ranges());
  EXPECT_EQ(pair.set.size(), pair.model.ranges().size());
  EXPECT_EQ(pair.set.empty(), pair.model.ranges().empty());
  for (std::uint64_t atom = 0; atom < atoms; ++atom) {
    EXPECT_EQ(pair.set.contains(first_of(atom)), pair.model.has(atom)) << first_of(atom);
    EXPECT_EQ(pair.set.contains(last_of(atom)), pair.model.has(atom)) << last_of(atom);
  }
  const TagSet again = set_of(ranges_of(pair.set));
  EXPECT_EQ(again, pair.set);
}

// Adds or removes one range or several, often the same ones.
void change(Pair& pair, std::mt19937_64& random) {
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  const bool add = below(2) == 0;
  const std::uint64_t length_max = below(4) == 0 ? atoms : 4;
  Ranges ranges;
  for (std::uint64_t left = below(2) == 0 ? 1 : below(6); left != 0; --left) {
    const std::uint64_t first = below(atoms);
    const std::uint64_t last = std::min(atoms - 1, first + below(length_max));
    ranges.push_back({first_of(first), last_of(last)});
    pair.model.change(first, last, add);
  }
  if (add) {
    pair.set.add(ranges);
  } else {
    pair.set.remove(ranges);
  }
}

TEST(TagSet, is_what_a_set_of_single_tags_is_after_any_changes) {
  const std::uint64_t seed = test::seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int run = 0; run < 200 && !HasFailure(); ++run) {
    Pair one;
    Pair other;
    for (int step = 0; step < 40 && !HasFailure(); ++step) {
      change(one, random);
      change(other, random);
      expect_same(one);
      expect_same({difference(one.set, other.set), one.model.without(other.model)});
      expect_same({difference(other.set, one.set), other.model.without(one.model)});
      EXPECT_EQ(one.set == other.set, one.model.ranges() == other.model.ranges());
    }
  }
}

}  // namespace
}  // namespace netio::detail
