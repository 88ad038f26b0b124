// A set of tags: ranges that are sorted, and neither overlap nor touch. Any thread, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <netio/subscription.hpp>

namespace netio::detail {

// With n ranges in the set, a change by one range takes O(log n) and moves those behind it; a
// change by m takes O(n + m log m). What throws (std::bad_alloc) has changed nothing.
class TagSet {
 public:
  TagSet() noexcept = default;
  explicit TagSet(std::span<const TagRange> ranges) { add(ranges); }

  // In any order; they may overlap each other and the set. None ends before it begins.
  void add(std::span<const TagRange> ranges);
  void remove(std::span<const TagRange> ranges);
  void clear() noexcept { ranges_.clear(); }

  [[nodiscard]] bool contains(std::uint64_t tag) const noexcept;
  // Valid until the next change.
  [[nodiscard]] std::span<const TagRange> ranges() const noexcept { return ranges_; }
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return ranges_.size(); }  // in ranges
  // How many tags, but at most `limit`: every_tag holds one more than can be said.
  [[nodiscard]] std::uint64_t tags_up_to(std::uint64_t limit) const noexcept;

  bool operator==(const TagSet&) const = default;

 private:
  friend TagSet difference(const TagSet& from, const TagSet& without);
  void add_one(TagRange range);
  void remove_one(TagRange range);

  std::vector<TagRange> ranges_;
};

// The tags of `from` that are not in `without`.
[[nodiscard]] TagSet difference(const TagSet& from, const TagSet& without);

}  // namespace netio::detail
