// TagSet: what comes before and behind a tag is asked only where there is such a tag.
#include "base/tag_set.hpp"

#include <algorithm>
#include <cassert>

namespace netio::detail {
namespace {

// `range` ends before `tag`, with a tag between them.
bool ends_apart(TagRange range, std::uint64_t tag) noexcept {
  return range.last < tag && range.last + 1 != tag;
}

bool begins_before(TagRange a, TagRange b) noexcept { return a.first < b.first; }

// Behind what is there; `range` begins no earlier than the last one.
void append(std::vector<TagRange>& ranges, TagRange range) {
  if (ranges.empty() || ends_apart(ranges.back(), range.first)) {
    ranges.push_back(range);
  } else {
    ranges.back().last = std::max(ranges.back().last, range.last);
  }
}

[[maybe_unused]] bool sound(std::span<const TagRange> ranges) noexcept {
  return std::ranges::all_of(ranges, [](TagRange range) { return range.first <= range.last; });
}

}  // namespace

void TagSet::add(std::span<const TagRange> ranges) {
  assert(sound(ranges));
  if (ranges.empty()) return;
  if (ranges.size() == 1) return add_one(ranges.front());
  std::vector<TagRange> added(ranges.begin(), ranges.end());
  std::ranges::sort(added, begins_before);
  // Behind all that is there, as when a large set comes in pieces: nothing moves.
  if (ranges_.empty() || ranges_.back().first <= added.front().first) {
    for (const TagRange range : added) append(ranges_, range);
    return;
  }
  std::vector<TagRange> united;
  united.reserve(ranges_.size() + added.size());
  auto next = added.cbegin();
  for (const TagRange range : ranges_) {
    for (; next != added.cend() && next->first < range.first; ++next) append(united, *next);
    append(united, range);
  }
  for (; next != added.cend(); ++next) append(united, *next);
  ranges_ = std::move(united);
}

void TagSet::add_one(TagRange range) {
  const auto begin = std::ranges::partition_point(
      ranges_, [&](TagRange old) { return ends_apart(old, range.first); });
  const auto end = std::partition_point(
      begin, ranges_.end(), [&](TagRange old) { return !ends_apart(range, old.first); });
  if (begin == end) {
    ranges_.insert(begin, range);
    return;
  }
  begin->first = std::min(begin->first, range.first);
  begin->last = std::max(std::prev(end)->last, range.last);
  ranges_.erase(std::next(begin), end);
}

void TagSet::remove(std::span<const TagRange> ranges) {
  assert(sound(ranges));
  if (ranges.empty() || ranges_.empty()) return;
  if (ranges.size() == 1) return remove_one(ranges.front());
  *this = difference(*this, TagSet(ranges));
}

void TagSet::remove_one(TagRange range) {
  auto begin =
      std::ranges::partition_point(ranges_, [&](TagRange old) { return old.last < range.first; });
  auto end = std::partition_point(begin, ranges_.end(),
                                  [&](TagRange old) { return old.first <= range.last; });
  if (begin == end) return;
  const TagRange first = *begin;
  const TagRange last = *std::prev(end);
  const bool left = first.first < range.first;
  const bool right = last.last > range.last;
  if (left && right && std::next(begin) == end) {
    end = ranges_.insert(end, TagRange{range.last + 1, last.last});
    std::prev(end)->last = range.first - 1;
    return;
  }
  if (left) {
    begin->last = range.first - 1;
    ++begin;
  }
  if (right) {
    --end;
    end->first = range.last + 1;
  }
  ranges_.erase(begin, end);
}

bool TagSet::contains(std::uint64_t tag) const noexcept {
  const auto at =
      std::ranges::partition_point(ranges_, [tag](TagRange range) { return range.last < tag; });
  return at != ranges_.end() && at->first <= tag;
}

std::uint64_t TagSet::tags_up_to(std::uint64_t limit) const noexcept {
  std::uint64_t sum = 0;
  for (const TagRange range : ranges_) {
    // One less than it holds: 2^64 has no number.
    const std::uint64_t beyond_first = range.last - range.first;
    if (beyond_first >= limit - sum) return limit;
    sum += beyond_first + 1;
  }
  return sum;
}

TagSet difference(const TagSet& from, const TagSet& without) {
  TagSet result;
  auto next = without.ranges_.begin();
  const auto end = without.ranges_.end();
  for (TagRange range : from.ranges_) {
    while (next != end && next->last < range.first) ++next;
    // One that reaches beyond `range` is looked at again for the next.
    bool rest = true;
    for (; rest && next != end && next->first <= range.last; next += rest ? 1 : 0) {
      if (next->first > range.first) result.ranges_.push_back({range.first, next->first - 1});
      rest = next->last < range.last;
      if (rest) range.first = next->last + 1;
    }
    if (rest) result.ranges_.push_back(range);
  }
  return result;
}

}  // namespace netio::detail
