// Tags that were published or resolved, each with its audience: a hash table of rows that never
// move. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <netio/publish.hpp>

#include "base/tag_set.hpp"

namespace netio::detail {

class TagTable {
 public:
  TagTable() : slots_(slots_min) {}

  // Null if it is not there.
  [[nodiscard]] TagRow* find(std::uint64_t tag) const noexcept {
    std::size_t at = home(tag);
    while (slots_[at].row != nullptr) {
      if (slots_[at].tag == tag) return slots_[at].row;
      at = (at + 1) & (slots_.size() - 1);
    }
    return nullptr;
  }
  // It is not there yet. A resolved one stays; the others are forgotten when they become too many.
  // Throws std::bad_alloc, and has changed nothing.
  TagRow& add(std::uint64_t tag, Audience* audience, bool resolved);
  void resolve(TagRow& row) noexcept;

  // Messages that nobody wanted, of all tags.
  [[nodiscard]] std::uint64_t unwanted() const noexcept;

  // Calls for every row whose tag is in the set: whichever of the two is shorter is walked.
  template <typename Call>
  void for_each_in(const TagSet& set, Call&& call) {
    if (set.tags_up_to(used_) < used_) {
      for (const TagRange& range : set.ranges()) {
        for (std::uint64_t tag = range.first;; ++tag) {
          if (TagRow* const row = find(tag); row != nullptr) call(*row);
          if (tag == range.last) break;
        }
      }
    } else {
      for_each([&](TagRow& row) {
        if (set.contains(row.tag)) call(row);
      });
    }
  }
  // How many rows there are.
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  template <typename Call>
  void for_each(Call&& call) {
    for (const Slot& slot : slots_) {
      if (slot.row != nullptr) call(*slot.row);
    }
  }

 private:
  struct Row : TagRow {
    bool resolved = false;
    bool in_use = false;
  };
  struct Slot {
    std::uint64_t tag = 0;
    Row* row = nullptr;
  };
  static constexpr std::size_t slots_min = 1024;  // a power of two, as every size

  // Tags that count up, or differ in their upper bits alone, are spread alike (Fibonacci hashing).
  [[nodiscard]] std::size_t home(std::uint64_t tag) const noexcept {
    return static_cast<std::size_t>((tag * 0x9e3779b97f4a7c15U) >> shift_);
  }
  void put(Row& row) noexcept;
  void grow();
  void forget_unresolved() noexcept;

  std::vector<Slot> slots_;
  unsigned shift_ = 54;  // 64 less the bits of slots_.size()
  std::size_t used_ = 0;
  std::size_t unresolved_ = 0;
  std::uint64_t unwanted_before_ = 0;  // of tags that were forgotten
  std::deque<Row> rows_;
  std::vector<Row*> free_;
};

}  // namespace netio::detail
