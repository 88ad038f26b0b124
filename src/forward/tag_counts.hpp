// How many of several sets each tag is in, kept as ranges with the same count.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <netio/subscription.hpp>

namespace netio::detail {

class TagCounts {
 public:
  // Both throw std::bad_alloc; the counts may be wrong then.
  void add(std::span<const TagRange> ranges);
  // Each was added before. Returns those that are in no set any more.
  [[nodiscard]] std::vector<TagRange> remove(std::span<const TagRange> ranges);
  // The number of ranges that are told apart.
  [[nodiscard]] std::size_t ranges() const noexcept { return counts_.size(); }

 private:
  using Counts = std::map<std::uint64_t, std::uint64_t>;
  // A range begins at `tag`, with the count that the tag had.
  Counts::iterator split(std::uint64_t tag);
  void join(Counts::iterator range) noexcept;
  template <typename Change>
  void change(TagRange range, Change&& change);

  // The count of the tags from the key on, up to the next key. Below the first key it is 0.
  Counts counts_;
};

}  // namespace netio::detail
