// Which rows point to which groups, however sets change, and what that costs.
#include "pattern/publish/groups.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <deque>
#include <malloc.h>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "pattern/publish/subscriber.hpp"
#include "support/environment.hpp"
#include "support/fake_link.hpp"
#include "support/sanitized.hpp"
#include "support/unwatched_stream.hpp"

namespace netio::detail {
namespace {

class GroupsOfSubscribers : public testing::Test {
 protected:
  GroupsOfSubscribers() {
    groups_.on_group_gone = [](Group&) {};
  }
  Subscriber& add() {
    // Its peer is looked at only for messages, and there are none.
    alignas(std::max_align_t) static std::byte peer[64];
    return subscribers_.emplace_back(*reinterpret_cast<Peer*>(peer), *stream_, account_);
  }
  // What it cost.
  double change(Subscriber& subscriber, const std::vector<TagRange>& ranges) {
    subscriber.next = TagSet(ranges);
    const TagSet added = difference(subscriber.next, subscriber.set);
    const TagSet removed = difference(subscriber.set, subscriber.next);
    (void)groups_.take_cost();
    groups_.change(subscriber, GroupKind{}, added, removed);
    return groups_.take_cost();
  }
  // Everything up to `tags` but for a few.
  std::vector<TagRange> with_holes(std::uint64_t tags, int holes) {
    TagSet set(std::vector<TagRange>{{0, tags - 1}});
    for (int i = 0; i < holes; ++i) {
      const std::uint64_t hole = random_() % tags;
      set.remove(std::vector<TagRange>{{hole, hole}});
    }
    return {set.ranges().begin(), set.ranges().end()};
  }
  // Of a row: exactly the groups whose set has the tag, each once.
  testing::AssertionResult is_right(const TagRow& row) {
    std::vector<Group*> found;
    if (row.audience != nullptr) found = groups_.of(*row.audience);
    std::sort(found.begin(), found.end());
    std::vector<Group*> wanted;
    for (const auto& group : groups_.all()) {
      if (group->tags.contains(row.tag)) wanted.push_back(group.get());
    }
    std::sort(wanted.begin(), wanted.end());
    if (found != wanted) {
      return testing::AssertionFailure() << "tag " << row.tag << " has " << found.size()
                                         << " groups, and not " << wanted.size();
    }
    const bool only = wanted.size() == 1;
    if (row.audience != nullptr && row.audience->only != (only ? wanted.front() : nullptr)) {
      return testing::AssertionFailure() << "tag " << row.tag << " has another only group";
    }
    return testing::AssertionSuccess();
  }

  const std::uint64_t seed_ = test::seed();
  std::mt19937_64 random_{seed_};
  std::shared_ptr<Account> account_ = std::make_shared<Account>(1, 0, 0);
  // Of all of them: nothing is sent.
  Pool::Ptr pool_ = Pool::create(test::fake_page_bytes, 4);
  test::UnwatchedStream stream_;
  test::FakeLink link_{*pool_, stream_};
  std::deque<Subscriber> subscribers_;
  Groups groups_{1U << 20U, false};
};

// From none to twice as many as are listed, and back.
TEST_F(GroupsOfSubscribers, are_found_by_every_row) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  constexpr std::uint64_t tags = 60;
  std::vector<const TagRow*> rows;
  for (std::uint64_t tag = 0; tag < tags; tag += 2) rows.push_back(&groups_.row(tag, true));
  const auto expect_right = [&] {
    for (const TagRow* const row : rows) ASSERT_TRUE(is_right(*row));
  };
  for (std::size_t i = 0; i < 2 * Audience::listed_max; ++i) add();
  for (int i = 0; i < 1500; ++i) {
    Subscriber& subscriber = subscribers_[random_() % subscribers_.size()];
    if (i > 1000 || random_() % 8 == 0) {
      subscriber.set.clear();
      groups_.leave(subscriber);
    } else {
      change(subscriber, with_holes(tags, static_cast<int>(random_() % 4)));
    }
    expect_right();
    if (i == 500) {
      for (std::uint64_t tag = 1; tag < tags; tag += 2) rows.push_back(&groups_.row(tag, true));
    }
    if (HasFatalFailure()) return;
  }
  for (Subscriber& subscriber : subscribers_) groups_.leave(subscriber);
  for (const TagRow* const row : rows) EXPECT_EQ(row->audience, nullptr);
}

TEST_F(GroupsOfSubscribers, are_one_where_sets_are_equal) {
  Subscriber& one = add();
  Subscriber& other = add();
  change(one, {{1, 5}, {7, 7}});
  change(other, {{1, 5}});
  EXPECT_NE(one.group, other.group);
  change(other, {{1, 5}, {7, 7}});
  EXPECT_EQ(one.group, other.group);
  EXPECT_EQ(groups_.all().size(), 1U);
  change(one, {{1, 5}, {7, 8}});
  EXPECT_NE(one.group, other.group);
  change(other, {});
  EXPECT_EQ(other.group, nullptr);
}

TEST_F(GroupsOfSubscribers, held_back_are_as_before_when_they_are_not_any_more) {
  TagRow& wanted = groups_.row(1, true);
  TagRow& unwanted = groups_.row(9, true);
  Subscriber& one = add();
  change(one, {{1, 5}});
  groups_.hold(true);
  ASSERT_NE(wanted.audience, nullptr);
  EXPECT_EQ(wanted.audience, unwanted.audience);
  EXPECT_TRUE(groups_.of(*wanted.audience).empty());
  Subscriber& other = add();
  change(other, {{1, 1}});
  const TagRow& late = groups_.row(5, true);
  EXPECT_EQ(late.audience, wanted.audience);
  groups_.hold(false);
  EXPECT_TRUE(is_right(wanted) && is_right(unwanted) && is_right(late));
  // Without memory they are held back, and made anew.
  groups_.begin_again();
  EXPECT_EQ(wanted.audience, unwanted.audience);
  EXPECT_TRUE(groups_.complete_again());
  EXPECT_TRUE(is_right(wanted) && is_right(unwanted) && is_right(late));
}

// Rows that are forgotten are counted off their audiences.
TEST_F(GroupsOfSubscribers, are_found_again_when_rows_were_forgotten) {
  const TagRow& resolved = groups_.row(3, true);
  Subscriber& one = add();
  change(one, {{0, 1000}});
  constexpr std::uint64_t more_than_are_remembered = 140'000;
  for (std::uint64_t tag = 10; tag < more_than_are_remembered; ++tag) (void)groups_.row(tag, false);
  EXPECT_EQ(groups_.find_row(10), nullptr);
  EXPECT_TRUE(is_right(resolved) && is_right(groups_.row(10, false)));
  groups_.leave(one);
  EXPECT_EQ(resolved.audience, nullptr);
}

// A list of groups for each row would take 33 MB.
TEST_F(GroupsOfSubscribers, of_many_sets_take_little_memory) {
  if (test::sanitized)
    GTEST_SKIP() << "a sanitizer has a heap of its own, which mallinfo2() does not see";
  constexpr std::uint64_t tags = 2048;
  for (std::uint64_t tag = 0; tag < tags; ++tag) (void)groups_.row(tag, true);
  const auto heap = [] {
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = heap();
  for (int i = 0; i < 1000; ++i) change(add(), with_holes(tags, 64));
  const std::size_t after = heap();
  EXPECT_LT(after - std::min(before, after), std::size_t{16} << 20U);
}

TEST_F(GroupsOfSubscribers, cost_what_is_walked_over) {
  constexpr std::uint64_t tags = 1000;
  for (std::uint64_t tag = 0; tag < tags; ++tag) (void)groups_.row(tag, true);
  for (int i = 0; i < 200; ++i) change(add(), with_holes(tags, 8));
  Subscriber& one = add();
  change(one, {{1'000'000, 1'000'000}});
  const double little = change(one, {{1'000'000, 1'000'001}});
  const double much = change(one, {{0, tags - 1}, {1'000'000, 1'000'001}});
  EXPECT_GT(much, 16 * static_cast<double>(tags));
  EXPECT_LT(little, much / 50);
}

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Their sets are equal but for the last range, so to compare a set with each of them takes long.
TEST_F(GroupsOfSubscribers, of_nearly_equal_sets_are_found_fast) {
  std::vector<TagRange> ranges;
  for (std::uint64_t tag = 0; tag < 1000; tag += 2) ranges.push_back({tag, tag});
  Subscriber& one = add();
  const auto fastest_change_ns = [&] {
    std::int64_t least = 1'000'000'000;
    for (int times = 0; times < 20; ++times) {
      const std::int64_t begin = thread_cpu_ns();
      for (std::uint64_t i = 0; i < 10; ++i) {
        ranges.back().last = ranges.back().first + i % 2;
        change(one, ranges);
      }
      least = std::min(least, thread_cpu_ns() - begin);
    }
    return least;
  };
  const std::int64_t alone_ns = fastest_change_ns();
  for (std::uint64_t i = 0; i < 2000; ++i) {
    std::vector<TagRange> others = ranges;
    others.back().last = others.back().first + 2 + i;
    change(add(), others);
  }
  EXPECT_LT(fastest_change_ns(), 40 * alone_ns);
}

}  // namespace
}  // namespace netio::detail
