// See tag_counts.hpp.
#include "forward/tag_counts.hpp"

#include <iterator>

namespace netio::detail {

TagCounts::Counts::iterator TagCounts::split(std::uint64_t tag) {
  const auto next = counts_.lower_bound(tag);
  if (next != counts_.end() && next->first == tag) return next;
  const std::uint64_t count = next == counts_.begin() ? 0 : std::prev(next)->second;
  return counts_.emplace_hint(next, tag, count);
}

// With the range before it, if that has the same count.
void TagCounts::join(Counts::iterator range) noexcept {
  if (range == counts_.end()) return;
  const std::uint64_t before = range == counts_.begin() ? 0 : std::prev(range)->second;
  if (range->second == before) counts_.erase(range);
}

template <typename Change>
void TagCounts::change(TagRange range, Change&& change) {
  const bool ends = range.last != every_tag.last;
  const auto end = ends ? split(range.last + 1) : counts_.end();
  const auto begin = split(range.first);
  for (auto part = begin; part != end; ++part) {
    const auto next = std::next(part);
    const std::uint64_t last = next == counts_.end() ? every_tag.last : next->first - 1;
    change(part->second, TagRange{part->first, last});
  }
  // Only at the two ends do neighbours become equal: between them all counts changed alike.
  join(end);
  join(begin);
}

void TagCounts::add(std::span<const TagRange> ranges) {
  for (const TagRange range : ranges) {
    change(range, [](std::uint64_t& count, TagRange) { ++count; });
  }
}

std::vector<TagRange> TagCounts::remove(std::span<const TagRange> ranges) {
  std::vector<TagRange> gone;
  for (const TagRange range : ranges) {
    change(range, [&gone](std::uint64_t& count, TagRange part) {
      if (count != 0 && --count == 0) gone.push_back(part);
    });
  }
  return gone;
}

}  // namespace netio::detail
